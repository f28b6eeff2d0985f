// trama filter new: a folder with a module to begin with. Nothing that is there is overwritten.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "control/filter.hpp"
#include "control/terminal.hpp"
#include "filter_texts.hpp"

namespace trama {
namespace {

bool is_identifier(const std::string& name) {
  constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  return !name.empty() && name.size() <= 64 && name.find_first_of(kLetters) == 0 &&
         name.find_first_not_of(std::string(kLetters) + "0123456789") == std::string::npos;
}

std::string makefile(const std::string& name) {
  return "# Needs clang and libbpf-dev.\n"
         "CLANG ?= clang\n"
         "BPF_FLAGS = -O2 -g -target bpf -mcpu=v2 -Wall -I/usr/include/$(shell uname -m)-linux-gnu\n\n" +
         name + ".bpf.o: " + name + ".bpf.c trama_filter.h trama_filter_bpf.h\n" +
         "\t$(CLANG) $(BPF_FLAGS) -c $< -o $@\n\n"
         "clean:\n\trm -f " +
         name + ".bpf.o\n\n.PHONY: clean\n";
}

// The program is called like the module.
std::string source(const std::string& name) {
  std::string text(kTemplateText);
  const std::string old = "int template(";
  text.replace(text.find(old), old.size(), "int " + name + "(");
  return text;
}

bool write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return true;
  print_error("can't write " + printable(path.string()) + ": " + std::strerror(errno));
  return false;
}

}  // namespace

int filter_new(const Arguments& arguments) {
  std::vector<std::string> words;
  CommandLine command("filter new NAME", "Makes the folder NAME with a module to begin with, and a Makefile.",
                      "  trama filter new mine && make -C mine\n");
  command.words(words, "NAME", 1, 1);
  if (const auto ended = command.ends(arguments)) return *ended;
  const std::string& name = words[0];
  if (!is_identifier(name)) {
    print_error("a module has a name as C has it: letters, digits and _, at most 64", "as in `trama filter new mine`");
    return kMisused;
  }
  std::error_code error;
  if (!std::filesystem::create_directory(name, error)) {
    print_error("can't make the folder " + name + ": " + (error ? error.message() : "it is there already"));
    return kMisused;
  }
  const std::filesystem::path folder(name);
  if (!write(folder / (name + ".bpf.c"), source(name)) || !write(folder / "Makefile", makefile(name)) ||
      !write(folder / "trama_filter.h", std::string(kFilterHeaderText)) ||
      !write(folder / "trama_filter_bpf.h", std::string(kFilterBpfHeaderText)))
    return kFailed;
  std::printf("%s/%s.bpf.c\n`make -C %s` compiles it, `trama filter check %s/%s.bpf.o` checks it\n", name.c_str(),
              name.c_str(), name.c_str(), name.c_str(), name.c_str());
  return kDone;
}

}  // namespace trama
