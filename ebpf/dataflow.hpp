// The verifier's dataflow over one program. See verifier.hpp for what it refuses and proves.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ebpf/helpers.hpp"
#include "ebpf/program_shape.hpp"
#include "ebpf/register_state.hpp"
#include "ebpf/verifier.hpp"

namespace trama::ebpf {

class Dataflow {
 public:
  Dataflow(const Object& object, const Program& program, const ProgramShape& shape);

  // Fills `facts` but for step_costs.
  Expected<void> run(Facts& facts);

 private:
  // What calling a function does to its caller. Grows while the flow runs.
  struct Effect {
    bool returns = false;
    Register result;  // r0, joined over all ways out; base unset: not written on one of them
    bool moves_packet = false;
    bool clobbers = false;  // may write into frames of callers
    bool operator==(const Effect&) const = default;
  };
  // What a load, store or helper touches: `bytes` bytes at `base`, from `low` on, up to `spread` further.
  struct Access {
    Register base;
    int64_t low;
    uint64_t spread;
    uint64_t bytes;
  };
  enum class Next : uint8_t { following, elsewhere };

  bool solve();               // until nothing changes; false: it takes too long
  void walk(uint32_t block);  // one block, from what is known at its beginning
  void push(uint32_t block, const State& state);
  Next step(uint32_t at, State& state);

  void step_alu(uint32_t at, State& state);
  bool add_to_pointer(uint32_t at, State& state);
  void new_packet_pointer(uint32_t at, State& state);
  void step_wide_load(uint32_t at, State& state);
  void step_load(uint32_t at, State& state);
  void load_context(uint32_t at, State& state);
  Register loaded(const bpf_insn& instruction, const State& state, const Access& access);
  Register loaded_from_stack(const State& state, const Access& access);
  void step_store(uint32_t at, State& state);
  void step_atomic(uint32_t at, State& state);
  void stored(State& state, const Access& access, const Register& value);
  void stored_on_stack(State& state, const Access& access, const Register& value);
  void step_branch(uint32_t at, State& state);
  void learn(const bpf_insn& instruction, bool holds, State& state) const;
  static void learn_packet_range(State& state, const Register& pointer, bool strictly);
  static void learn_null_test(State& state, uint32_t number, bool null);
  void step_exit(uint32_t at, State& state);
  void returns(Register result);
  void step_function_call(uint32_t at, State& state);
  void step_helper_call(uint32_t at, State& state);
  void check_argument(uint32_t at, const HelperInfo& helper, uint32_t number, State& state);
  void check_pointed(uint32_t at, Argument kind, uint32_t number, uint64_t bytes, State& state);
  static int64_t number_on_stack(const State& state, const Access& access);
  void check_map(uint32_t at, const HelperInfo& helper, const Register& map);
  Register result_of(uint32_t at, const HelperInfo& helper, State& state);
  void note_helper(const HelperInfo& helper, const State& state);

  // --- knowledge about accesses
  Access access_of(const bpf_insn& instruction, const Register& base) const;
  bool proven(const Access& access) const;
  void check_access_kind(uint32_t at, const Access& access, bool writes);
  void note_access(uint32_t at, const Access& access);
  void note_stack_use(const Access& access);
  void note_stack_read(const State& state, const Access& access);
  void note_read(const Access& access);
  void note_write(const Access& access, const Register& value, bool atomic_add);

  // --- what is found out
  void decide(const Register& one) { properties().deciding_maps |= one.origins; }
  void refuse(uint32_t at, std::string text, std::string hint = "");
  bool read(uint32_t at, State& state, uint32_t number);  // refuses a register that may be unset
  Properties& properties() { return facts_ ? facts_->properties : ignored_; }
  Effect& effect() { return effects_[function_]; }

  const Object& object_;
  const std::vector<bpf_insn>& code_;
  const ProgramShape& shape_;
  uint64_t own_maps_ = 0, shared_maps_ = 0;  // with values: one copy per CPU, one for all

  std::vector<std::unique_ptr<State>> states_;  // at the beginning of blocks; null: not reached
  std::vector<uint32_t> visits_;
  std::set<uint32_t> work_;
  std::vector<Effect> effects_;                  // by function
  std::vector<std::set<uint32_t>> call_blocks_;  // blocks that call it
  uint64_t steps_ = 0;
  uint32_t function_ = 0, block_ = 0;  // under way

  // Set for the last pass, when nothing changes any more.
  Facts* facts_ = nullptr;
  Properties ignored_;
  std::optional<Refusal> refusal_;
  bool loose_reads_ = false;  // a load that may read any frame
};

}  // namespace trama::ebpf
