#include "ebpf/program_shape.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "ebpf/execution.hpp"
#include "ebpf/instruction.hpp"
#include "ebpf/instruction_check.hpp"
#include "ebpf/verifier.hpp"

namespace trama::ebpf {

tl::unexpected<Refusal> refuse_at(uint32_t instruction, std::string text, std::string hint) {
  Refusal refusal{std::move(text), std::move(hint)};
  refusal.instruction = instruction;
  return tl::unexpected(std::move(refusal));
}

namespace {

int64_t target_of(const bpf_insn& instruction, uint32_t at) {
  return int64_t{at} + 1 + (is_function_call(instruction) ? instruction.imm : int32_t{instruction.off});
}

// Instructions where a function begins, ascending: 0 and what is called. Calls that lead nowhere are left out.
std::vector<uint32_t> entries_of(const std::vector<bpf_insn>& code) {
  std::vector<uint32_t> entries{0};
  for (uint32_t at = 0; at < code.size(); ++at) {
    if (code[at].code == kWideLoad) {
      ++at;
    } else if (is_function_call(code[at])) {
      const int64_t target = target_of(code[at], at);
      if (target >= 0 && target < static_cast<int64_t>(code.size())) entries.push_back(static_cast<uint32_t>(target));
    }
  }
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  return entries;
}

class Shaper {
 public:
  Shaper(const Object& object, const Program& program) : object_(object), code_(program.code) {}

  Expected<ProgramShape> shape() {
    if (code_.empty()) return refuse("the program is empty");
    if (code_.size() > kMaxInstructions)
      return refuse("the program has more than " + std::to_string(kMaxInstructions) + " instructions");
    shape_.leader.resize(code_.size());
    shape_.jump_target.resize(code_.size());
    shape_.edges_in.resize(code_.size());
    if (auto good = check_instructions(); !good) return tl::unexpected(good.error());
    find_functions();
    if (auto good = check_targets(); !good) return tl::unexpected(good.error());
    if (auto good = check_ends(); !good) return tl::unexpected(good.error());
    if (auto good = check_depth(); !good) return tl::unexpected(good.error());
    return std::move(shape_);
  }

 private:
  uint32_t size() const { return static_cast<uint32_t>(code_.size()); }

  Expected<void> check_instructions() {
    second_half_.resize(code_.size());
    for (uint32_t at = 0; at < size(); ++at) {
      const bpf_insn* const second = at + 1 < size() ? &code_[at + 1] : nullptr;
      const std::string wrong = instruction_fault(object_, code_[at], second);
      if (!wrong.empty()) return refuse_at(at, wrong);
      if (code_[at].code == kWideLoad) second_half_[++at] = true;
    }
    return {};
  }

  void find_functions() {
    const std::vector<uint32_t> entries = entries_of(code_);
    shape_.function_of.resize(code_.size());
    for (size_t function = 0; function < entries.size(); ++function) {
      const uint32_t end = function + 1 < entries.size() ? entries[function + 1] : size();
      shape_.functions.push_back({entries[function], end, {}, {}, false});
      std::fill(shape_.function_of.begin() + entries[function], shape_.function_of.begin() + end,
                static_cast<uint32_t>(function));
    }
  }

  void edge_to(uint32_t target) {
    shape_.leader[target] = true;
    ++shape_.edges_in[target];
  }

  Expected<void> check_targets() {
    edge_to(0);
    for (uint32_t at = 0; at < size(); ++at) {
      const bpf_insn& instruction = code_[at];
      if (second_half_[at]) continue;
      FunctionShape& function = shape_.functions[shape_.function_of[at]];
      if (is_helper_call(instruction) && instruction.imm == BPF_FUNC_tail_call) function.tail_calls = true;
      const bool call = is_function_call(instruction);
      if (!call && !is_jump(instruction)) {
        if (is_exit(instruction) && at + 1 < size()) shape_.leader[at + 1] = true;
        continue;
      }
      const int64_t target = target_of(instruction, at);
      if (target < 0 || target >= size())
        return refuse_at(at, call ? "it calls a function outside the program" : "it jumps outside the program");
      const auto to = static_cast<uint32_t>(target);
      if (second_half_[to]) return refuse_at(at, "it jumps into the middle of a wide load");
      if (call) {
        function.calls.push_back(at);
        function.callees.push_back(shape_.function_of[to]);
      } else if (to < function.entry || to >= function.end) {
        return refuse_at(at, "it jumps into another function");
      } else {
        shape_.jump_target[to] = true;
      }
      edge_to(to);
      // What follows a call is a block of its own: what is known there may change when more is known of the function.
      if (at + 1 < size() && !is_plain_jump(instruction)) edge_to(at + 1);
      if (at + 1 < size()) shape_.leader[at + 1] = true;
    }
    // A block that is also fallen into.
    for (uint32_t at = 1; at < size(); ++at) {
      const bool own_edge = is_jump_class(code_[at - 1]) && !is_helper_call(code_[at - 1]) && !second_half_[at - 1];
      if (shape_.leader[at] && !own_edge) ++shape_.edges_in[at];
    }
    return {};
  }

  Expected<void> check_ends() {
    for (const FunctionShape& function : shape_.functions) {
      const bpf_insn& last = code_[function.end - 1];
      if (second_half_[function.end - 1] || !(is_exit(last) || is_plain_jump(last)))
        return refuse_at(function.end - 1,
                         function.end == size() ? "the program runs off its end" : "a function runs off its end");
    }
    return {};
  }

  // How many frames each function needs with those it calls. Callees first; without recursion there is such an order.
  Expected<void> check_depth() {
    enum class Visit : uint8_t { not_yet, under_way, done };
    std::vector<Visit> visits(shape_.functions.size());
    std::vector<uint32_t> frames(shape_.functions.size(), 1);
    struct Step {
      uint32_t function;
      size_t next_call;
    };
    std::vector<Step> way{{0, 0}};
    visits[0] = Visit::under_way;
    while (!way.empty()) {
      Step& step = way.back();
      const FunctionShape& function = shape_.functions[step.function];
      if (step.next_call == function.callees.size()) {
        visits[step.function] = Visit::done;
        const uint32_t needed = frames[step.function] + 1;
        way.pop_back();
        if (!way.empty()) frames[way.back().function] = std::max(frames[way.back().function], needed);
        continue;
      }
      const uint32_t callee = function.callees[step.next_call];
      const uint32_t call = function.calls[step.next_call++];
      if (visits[callee] == Visit::under_way) return refuse_at(call, "functions may not call themselves");
      if (visits[callee] == Visit::done) {
        frames[step.function] = std::max(frames[step.function], frames[callee] + 1);
      } else {
        visits[callee] = Visit::under_way;
        way.push_back({callee, 0});
      }
      if (way.size() > kMaxFrames) return refuse_at(call, "more than 8 functions deep");
    }
    if (frames[0] > kMaxFrames) return refuse_at(0, "calls go more than 8 functions deep");
    return {};
  }

  const Object& object_;
  const std::vector<bpf_insn>& code_;
  ProgramShape shape_;
  std::vector<bool> second_half_;
};

}  // namespace

Expected<ProgramShape> shape_of(const Object& object, const Program& program) {
  return Shaper(object, program).shape();
}

std::vector<uint32_t> step_costs(const std::vector<bpf_insn>& code) {
  std::vector<uint32_t> costs(code.size());
  if (code.empty()) return costs;
  const std::vector<uint32_t> entries = entries_of(code);
  const auto length_of = [&](uint32_t entry) {
    const auto next = std::upper_bound(entries.begin(), entries.end(), entry);
    return (next == entries.end() ? static_cast<uint32_t>(code.size()) : *next) - entry;
  };
  for (uint32_t at = 0; at < code.size(); ++at) {
    // Second halves of wide loads too: if nobody has looked, they may be anything.
    if (is_jump(code[at]) && code[at].off < 0) {
      costs[at] = static_cast<uint32_t>(-int32_t{code[at].off});
    } else if (is_function_call(code[at])) {
      const int64_t target = target_of(code[at], at);
      if (target >= 0 && target < static_cast<int64_t>(code.size()))
        costs[at] = length_of(static_cast<uint32_t>(target));
    }
  }
  return costs;
}

}  // namespace trama::ebpf
