// The parts of an ELF object file that libbpf doesn't give access to. Every offset is checked: the file may be hostile.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ebpf/error.hpp"

namespace trama::ebpf {

struct ElfSection {
  std::string name;
  uint32_t type = 0;           // SHT_*
  uint32_t info = 0;           // of relocations: the section they are for
  uint64_t header_offset = 0;  // in the file
  std::span<const uint8_t> bytes;
};

struct ElfSymbol {
  std::string name;
  uint8_t type = 0;  // STT_*
  bool undefined = false;
};

struct ElfRelocation {
  uint64_t offset = 0;  // in the section it is for
  uint32_t symbol = 0;
};

class ElfObject {
 public:
  // The bytes must outlive it.
  static Expected<ElfObject> parse(std::span<const uint8_t> bytes);

  const std::vector<ElfSection>& sections() const { return sections_; }
  const std::vector<ElfSymbol>& symbols() const { return symbols_; }
  const ElfSection* find(const std::string& name) const;  // null: there is none
  static std::vector<ElfRelocation> relocations(const ElfSection& section);

 private:
  std::vector<ElfSection> sections_;
  std::vector<ElfSymbol> symbols_;
};

// Is it an ELF file for BPF at all? Looks at the first bytes only.
Expected<void> check_elf_header(std::span<const uint8_t> bytes);

}  // namespace trama::ebpf
