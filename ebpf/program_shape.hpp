// What can be said of a program without following its data: whether every instruction is one we know, where functions
// and blocks begin, and who calls whom.
#pragma once
#include <cstdint>
#include <vector>

#include "ebpf/error.hpp"
#include "ebpf/object.hpp"

namespace trama::ebpf {

struct FunctionShape {
  uint32_t entry = 0, end = 0;    // instructions
  std::vector<uint32_t> calls;    // instructions that call functions
  std::vector<uint32_t> callees;  // functions, as many as calls
  bool tail_calls = false;
};

struct ProgramShape {
  std::vector<FunctionShape> functions;  // ascending
  std::vector<uint32_t> function_of;     // by instruction
  std::vector<bool> leader;              // a block begins here
  std::vector<bool> jump_target;
  std::vector<uint32_t> edges_in;  // how many ways lead to a leader

  uint32_t function_at(uint32_t entry) const { return function_of[entry]; }
};

// Refuses unknown instructions and helpers, jumps that leave their function or end inside a wide load, functions that
// run off their end, recursion and more than kMaxFrames frames. The refusal has text, hint and instruction.
Expected<ProgramShape> shape_of(const Object& object, const Program& program);

// A refusal at an instruction.
tl::unexpected<Refusal> refuse_at(uint32_t instruction, std::string text, std::string hint = "");

}  // namespace trama::ebpf
