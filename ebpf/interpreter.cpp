#include "ebpf/interpreter.hpp"

#include <iterator>

#include "ebpf/interpreter_actions.hpp"
#include "ebpf/interpreter_run.hpp"

namespace trama::ebpf {

// Of a list of actions the addresses of their labels.
#define TRAMA_LABEL(action) &&action,
#define TRAMA_LABELS(operation) TRAMA_FORMS(TRAMA_LABEL, operation)
#define TRAMA_ACCESS_LABELS(size, bytes) TRAMA_ACCESSES(TRAMA_LABEL, size)

// From one operation to the next: to another, which may be none; behind a change of registers; or as a condition says.
#define TRAMA_GO() goto* kActions[static_cast<size_t>(at->action)]
#define TRAMA_THEN(next)                     \
  {                                          \
    const Operation* const following = next; \
    if (!following) goto ended;              \
    at = following;                          \
    TRAMA_GO();                              \
  }
#define TRAMA_NEXT(change) \
  {                        \
    change;                \
    ++at;                  \
    TRAMA_GO();            \
  }
#define TRAMA_JUMP_IF(taken)  \
  {                           \
    if (!pay(at)) goto ended; \
    if (taken) {              \
      at = at->target;        \
      TRAMA_GO();             \
    }                         \
    ++at;                     \
    TRAMA_GO();               \
  }
#define TRAMA_DO(action, what) \
  action:                      \
  what
#define TRAMA_COMPUTE(operation)                                                                      \
  TRAMA_DO(operation##_64_register, TRAMA_NEXT(compute(BPF_##operation, r[at->to], r[at->from])));    \
  TRAMA_DO(operation##_64_number, TRAMA_NEXT(compute(BPF_##operation, r[at->to], at->immediate)));    \
  TRAMA_DO(operation##_32_register, TRAMA_NEXT(compute_32(BPF_##operation, r[at->to], r[at->from]))); \
  TRAMA_DO(operation##_32_number, TRAMA_NEXT(compute_32(BPF_##operation, r[at->to], at->immediate)));
#define TRAMA_JUMP(condition)                                                                                 \
  TRAMA_DO(condition##_64_register, TRAMA_JUMP_IF(holds<uint64_t>(BPF_##condition, r[at->to], r[at->from]))); \
  TRAMA_DO(condition##_64_number, TRAMA_JUMP_IF(holds<uint64_t>(BPF_##condition, r[at->to], at->immediate))); \
  TRAMA_DO(condition##_32_register, TRAMA_JUMP_IF(holds<uint32_t>(BPF_##condition, r[at->to], r[at->from]))); \
  TRAMA_DO(condition##_32_number, TRAMA_JUMP_IF(holds<uint32_t>(BPF_##condition, r[at->to], at->immediate)));
#define TRAMA_ACCESS(size, bytes)                                                  \
  TRAMA_DO(load_##size, TRAMA_THEN((load<bytes, false>(at))));                     \
  TRAMA_DO(load_frame_##size, TRAMA_THEN((load<bytes, true>(at))));                \
  TRAMA_DO(store_##size, TRAMA_THEN((store<bytes, false>(at, r[at->from]))));      \
  TRAMA_DO(store_frame_##size, TRAMA_THEN((store<bytes, true>(at, r[at->from])))); \
  TRAMA_DO(set_##size, TRAMA_THEN((store<bytes, false>(at, at->immediate))));      \
  TRAMA_DO(set_frame_##size, TRAMA_THEN((store<bytes, true>(at, at->immediate))));

// Each action jumps to the next one by itself (labels as values, which GCC and clang have): so the processor foresees
// each of these jumps apart.
uint64_t Interpreter::Run::run(uint32_t program) {
  static const void* const kActions[] = {&&nonsense,
                                         TRAMA_ARITHMETIC(TRAMA_LABELS) TRAMA_CONDITIONS(TRAMA_LABELS)
                                             TRAMA_SIZES(TRAMA_ACCESS_LABELS) TRAMA_OTHER_ACTIONS(TRAMA_LABEL)};
  static_assert(std::size(kActions) == static_cast<size_t>(Action::call_tail) + 1);
  uint64_t* const r = registers_.data();
  const Operation* at = enter(program, programs_[program].data());
  r[1] = kContextTag;

  TRAMA_GO();
  TRAMA_ARITHMETIC(TRAMA_COMPUTE)
  TRAMA_CONDITIONS(TRAMA_JUMP)
  TRAMA_SIZES(TRAMA_ACCESS)
swap:
  TRAMA_THEN(swap(at))
atomic_W:
  TRAMA_THEN(store_atomic<uint32_t>(at))
atomic_DW:
  TRAMA_THEN(store_atomic<uint64_t>(at))
load_number:
  r[at->to] = at->immediate;
  at += 2;
  TRAMA_GO();
load_value:
  TRAMA_THEN(load_value(at))
jump:
  TRAMA_JUMP_IF(true)
leave:
  TRAMA_THEN(leave())
sum:
  r[at->to] = r[at->from] + at->immediate;
  at += 2;
  TRAMA_GO();
call_function:
  TRAMA_THEN(call_function(at))
call_helper:
  TRAMA_THEN(call_helper(at))
call_lookup:
  TRAMA_THEN(call_lookup(at))
call_lookup_in:
  TRAMA_THEN(call_lookup_in(at))
call_lookup_test:
  TRAMA_THEN(call_lookup_test(at))
call_tail:
  TRAMA_THEN(call_tail(at))
nonsense:
  stop(Fault::bad_instruction);
ended:
  return done_ ? r[0] : fault(at);
}

#undef TRAMA_LABEL
#undef TRAMA_LABELS
#undef TRAMA_ACCESS_LABELS
#undef TRAMA_GO
#undef TRAMA_THEN
#undef TRAMA_NEXT
#undef TRAMA_JUMP_IF
#undef TRAMA_DO
#undef TRAMA_COMPUTE
#undef TRAMA_JUMP
#undef TRAMA_ACCESS

uint64_t Interpreter::run(uint32_t program, Execution& execution) const noexcept {
  return Run(programs_, execution).run(program);
}

}  // namespace trama::ebpf
