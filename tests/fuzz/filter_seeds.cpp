// Writes the inputs that mutation of filters begins with: filter_seeds SEEDS FILTERS makes SEEDS/filter_object/NUMBER
// from the compiled modules in the folder FILTERS, as object files and as what the child process makes of them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "ebpf/loader.hpp"
#include "ebpf/object_codec.hpp"

namespace {

bool write(const std::filesystem::path& path, const std::vector<uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return static_cast<bool>(file.flush());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: filter_seeds SEEDS FILTERS\n";
    return 2;
  }
  const std::filesystem::path folder = std::filesystem::path(argv[1]) / "filter_object";
  std::filesystem::create_directories(folder);
  bool good = true;
  int number = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[2])) {
    if (entry.path().extension() != ".o") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
    good &= write(folder / std::to_string(number++), bytes);
    const auto object = trama::ebpf::load_object(bytes, "seed");
    good &= object.has_value() && write(folder / std::to_string(number++), trama::ebpf::encode(object));
  }
  if (!good || number == 0) std::cerr << "filter_seeds: can't make seeds of " << argv[2] << "\n";
  return good && number > 0 ? 0 : 1;
}
