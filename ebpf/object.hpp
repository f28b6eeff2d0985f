// What an XDP object file is once it is linked, before a map or any machine code is made of it: plain data.
#pragma once
#include <linux/bpf.h>

#include <cstdint>
#include <string>
#include <vector>

namespace trama::ebpf {

// Bounds of what an object may hold; the loader refuses more.
constexpr uint32_t kMaxMaps = 64;
constexpr uint32_t kMaxPrograms = 64;
constexpr uint32_t kMaxInstructions = 1u << 16;  // of one linked program

// Variables of a program live in maps that the compiler makes: `const` ones in .rodata, which programs can't write.
enum class Section : uint8_t { none, rodata, data, bss };

struct MapSpec {
  std::string name;          // as in the source; sections are called ".rodata", ".data", ".bss" (and ".data.NAME")
  uint32_t type = 0;         // BPF_MAP_TYPE_*
  uint32_t key_size = 0;     // bytes
  uint32_t value_size = 0;   // bytes
  uint32_t max_entries = 0;  // bytes of a ring buffer
  uint32_t flags = 0;        // BPF_F_*
  Section section = Section::none;
  std::vector<uint8_t> initial_value;  // of a section: value_size bytes; else empty
  std::vector<int32_t> program_slots;  // of a program array with `.values`: index of the program by slot; -1: empty
};

// From this instruction on, until the next one of the list.
struct SourceLine {
  uint32_t instruction = 0;
  uint32_t line = 0;
  std::string file;
  std::string text;
};

struct Program {
  std::string name;
  // Linked: instruction 0 is the entry, subprograms are appended, calls among them are relative. A map is named by a
  // wide load with src_reg BPF_PSEUDO_MAP_IDX (imm: index in Object::maps), the inside of a section's only value with
  // BPF_PSEUDO_MAP_IDX_VALUE (imm: index; imm of the second half: offset in bytes).
  std::vector<bpf_insn> code;
  std::vector<SourceLine> lines;  // ascending; empty without BTF

  // The line that holds an instruction, or null.
  const SourceLine* line_of(uint32_t instruction) const;
};

struct Object {
  std::string name;  // the file's name, for messages
  std::vector<MapSpec> maps;
  std::vector<Program> programs;            // SEC("xdp"), in the order of the symbol table
  std::vector<std::string> other_programs;  // of other types ("NAME (SEC)"): never loaded here

  const Program* find_program(const std::string& program) const;  // null: there is none
  int find_map(const std::string& map) const;                     // -1: there is none
};

}  // namespace trama::ebpf
