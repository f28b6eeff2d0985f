// What the interpreter can be told to do: one action for each way in which an instruction can be written, so that
// nothing is left to be decided when it runs. The lists are macros because enumeration, unpacking and the interpreter's
// labels are made of the same ones, in the same order.
#pragma once
#include <cstdint>

namespace trama::ebpf {

// BPF_ADD and so on. Each has four forms: 64 or 32 bits, with a register or a number.
#define TRAMA_ARITHMETIC(DO) \
  DO(ADD) DO(SUB) DO(MUL) DO(DIV) DO(OR) DO(AND) DO(LSH) DO(RSH) DO(NEG) DO(MOD) DO(XOR) DO(MOV) DO(ARSH)
#define TRAMA_CONDITIONS(DO) \
  DO(JEQ) DO(JGT) DO(JGE) DO(JSET) DO(JNE) DO(JSGT) DO(JSGE) DO(JLT) DO(JLE) DO(JSLT) DO(JSLE)
// BPF_B and so on, and how many bytes. Loads, and stores of a register or a number; by r10, or by another register.
#define TRAMA_SIZES(DO) DO(B, 1) DO(H, 2) DO(W, 4) DO(DW, 8)
// Some are two instructions in one, the second of which stands behind them as well, should somebody jump there.
#define TRAMA_STEPS(DO) DO(swap) DO(atomic_W) DO(atomic_DW) DO(load_number) DO(load_value) DO(jump) DO(leave) DO(sum)
#define TRAMA_CALLS(DO) \
  DO(call_function) DO(call_helper) DO(call_lookup) DO(call_lookup_in) DO(call_lookup_test) DO(call_tail)
#define TRAMA_OTHER_ACTIONS(DO) TRAMA_STEPS(DO) TRAMA_CALLS(DO)

#define TRAMA_FORMS(DO, operation) \
  DO(operation##_64_register) DO(operation##_64_number) DO(operation##_32_register) DO(operation##_32_number)
#define TRAMA_ACCESSES(DO, size) \
  DO(load_##size) DO(load_frame_##size) DO(store_##size) DO(store_frame_##size) DO(set_##size) DO(set_frame_##size)

enum class Action : uint8_t {
#define TRAMA_NAME(action) action,
#define TRAMA_NAMES(operation) TRAMA_FORMS(TRAMA_NAME, operation)
#define TRAMA_ACCESS_NAMES(size, bytes) TRAMA_ACCESSES(TRAMA_NAME, size)
  nonsense,
  TRAMA_ARITHMETIC(TRAMA_NAMES) TRAMA_CONDITIONS(TRAMA_NAMES) TRAMA_SIZES(TRAMA_ACCESS_NAMES)
      TRAMA_OTHER_ACTIONS(TRAMA_NAME)
#undef TRAMA_ACCESS_NAMES
#undef TRAMA_NAMES
#undef TRAMA_NAME
};

}  // namespace trama::ebpf
