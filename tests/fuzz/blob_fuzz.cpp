// libFuzzer target: the blob reader, on bytes whose stated length is put right so that more of it is reached.
#include <cstdint>
#include <cstring>
#include <vector>

#include "libclient/formats/blob.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kMaxLinks = 1 << 20;
  std::vector<uint8_t> blob(data, data + size);
  if (size >= sizeof(uint64_t)) {
    const uint64_t stated = size;
    std::memcpy(blob.data(), &stated, sizeof stated);
  }
  if (const auto matrix = trama::read_blob(blob, kMaxLinks)) {
    // What is read must be worth writing: sums and quantities rely on these.
    if (matrix->start.size() != matrix->rows() + 1 || matrix->start.back() != matrix->links()) __builtin_trap();
  }
  return 0;
}
