// Source lines of linked instructions, from the sections .BTF and .BTF.ext (Documentation/bpf/btf.rst). They are
// recorded by section and offset; linking moves functions. A function in the linked code is found again by its body.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ebpf/elf_object.hpp"
#include "ebpf/object.hpp"

namespace trama::ebpf {

class SourceLines {
 public:
  // Damaged debug information gives fewer lines, not an error.
  explicit SourceLines(const ElfObject& object);

  bool has_core_relocations() const { return has_core_relocations_; }
  std::vector<SourceLine> of(const std::vector<bpf_insn>& linked) const;

 private:
  struct Record {
    uint32_t instruction = 0;  // in its function
    uint32_t line = 0;
    std::string file, text;
  };
  struct Function {
    std::vector<bpf_insn> body;  // before linking
    std::vector<Record> records;
  };
  void read_section(const ElfSection& section, std::vector<uint32_t> starts, const std::vector<Record>& records);

  bool has_core_relocations_ = false;
  std::vector<Function> functions_;
};

}  // namespace trama::ebpf
