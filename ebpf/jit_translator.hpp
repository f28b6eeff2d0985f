// Programs of an object, translated instruction by instruction for a target: everything that doesn't depend on the
// processor.
//
// What seldom happens (faults, slow checks) is put behind the code of its program.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "ebpf/jit_target.hpp"
#include "ebpf/liveness.hpp"
#include "ebpf/map.hpp"
#include "ebpf/object.hpp"
#include "ebpf/verifier.hpp"

namespace trama::ebpf {

class JitTranslator {
 public:
  using Label = JitTarget::Label;

  JitTranslator(const Object& object, const Analysis& analysis, const Maps& maps, JitTarget& target);
  void translate();

  const std::vector<Label>& programs() const { return programs_; }  // uint64_t (*)(Execution*) each

 private:
  void translate_program(uint32_t program);
  void make_labels();
  void make_frame();
  void start_program();
  void start_function(uint32_t at);
  void exit(uint32_t at);
  uint32_t translate(uint32_t at);  // how many instructions
  void translate_one(uint32_t at);
  void end_program();

  bool jumped_to(uint32_t at) const { return facts_->instructions[at].jump_target; }
  bool is_sum(uint32_t at) const;
  void alu(const bpf_insn& instruction);
  void branch(uint32_t at);
  bool jumps_over_jump(uint32_t at) const;
  void wide_load(uint32_t at);

  void load(uint32_t at);
  void load_context(uint32_t at);
  void load_unproven(uint32_t at);
  void store(uint32_t at);
  void atomic(uint32_t at);
  JitPlace checked_place(uint32_t at, bool atomic);

  void call(uint32_t at);
  void call_function(uint32_t at);
  void call_helper(uint32_t at);
  void tail_call(uint32_t at);
  const Map* map_for_lookup(uint32_t at) const;
  bool only_names_map_for_lookup(uint32_t at) const;

  // A lookup in a map that is known, with what stands around it and becomes part of it.
  struct Lookup {
    const Map* map;
    JitKey key;
    uint32_t next;  // the first instruction that is not part of it
    Label null;     // invalid: nothing tests the result; else where it goes on without one
  };
  std::optional<Lookup> lookup_at(uint32_t at) const;
  std::optional<uint8_t> stored_before(uint32_t at, int32_t offset) const;
  void lookup(const Lookup& lookup);
  void look_up_by_call(const Lookup& lookup);
  bool look_up_prefix(const Lookup& lookup, const Label& null);

  // A label where the program stops at this instruction; Fault::none: the reason is known already.
  Label stop(uint32_t at, Fault fault);

  const Object& object_;
  const Analysis& analysis_;
  const Maps& maps_;
  JitTarget& target_;
  bool clear_all_frames_;

  Label tail_table_;
  std::vector<Label> programs_, tails_;  // entry of each from C, and by a tail call

  // The program under way.
  uint32_t program_ = 0;
  const std::vector<bpf_insn>* code_ = nullptr;
  const Facts* facts_ = nullptr;
  Liveness liveness_;
  JitFrame frame_;
  std::vector<Label> labels_, functions_;  // by instruction; invalid where nothing leads to
  Label stop_;
  std::vector<std::function<void()>> seldom_;
};

}  // namespace trama::ebpf
