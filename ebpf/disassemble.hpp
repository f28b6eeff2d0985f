// Instructions as text, in the manner of llvm-objdump and bpftool: "r1 = *(u32 *)(r6 + 4)", "if r2 > 14 goto +3".
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ebpf/object.hpp"

namespace trama::ebpf {

// One instruction of a linked program. Names of maps and helpers instead of numbers; jump targets relative ("goto +3").
// The second half of a wide load gives an empty text, an unknown instruction its bytes.
std::string disassemble(const Object& object, const Program& program, uint32_t instruction);

// The whole program: a line an instruction, with its number, source lines in between as comments ("; text"), and the
// names of functions where they begin.
std::string disassemble(const Object& object, const Program& program);

// What an instruction is, without an object: for messages.
std::string disassemble(const bpf_insn& instruction);

}  // namespace trama::ebpf
