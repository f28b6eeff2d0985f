// What programs do to memory: the stack, the packet, maps.
#include "ebpf/atomic_operation.hpp"
#include "tests/ebpf/random_code.hpp"

namespace trama::ebpf {
namespace {

int bytes_of_size(int size) { return size == BPF_B ? 1 : size == BPF_H ? 2 : size == BPF_W ? 4 : 8; }

}  // namespace

void RandomCode::use_stack() {
  const int size = kSizes[below(4)], bytes = bytes_of_size(size);
  const int offset = number_slot() + bytes * below(8 / bytes);
  switch (below(3)) {
    case 0: code_.load(size, number(), 10, offset); break;
    case 1: code_.store(size, 10, offset, number()); break;
    default: code_.store_imm(size, 10, offset, short_number());
  }
}

// In the frame of a caller, while the own one keeps a pointer. Careless: where the own frame is, too, which lies behind
// the caller's; whole slots only, so that nothing is left of an address.
void RandomCode::use_caller_stack() {
  if (!has_caller_stack()) return use_stack();
  const auto [base, pointer, other] = different<3>();
  constexpr int kFrame = static_cast<int>(kFrameBytes);
  const int size = kSizes[below(4)], bytes = bytes_of_size(size);
  code_.map_value(pointer, kSingle, 0).store(BPF_DW, 10, kPointerSlot, pointer).load(BPF_DW, base, 10, kCallerSlot);
  if (careless())
    code_.store(BPF_DW, base, one_in(2) ? kFrame + kPointerSlot : 8 * below(2 * kFrame / 8) - kFrame, other);
  else if (one_in(3))
    code_.load(size, other, base, number_slot() + bytes * below(8 / bytes));
  else
    code_.store(size, base, number_slot() + bytes * below(8 / bytes), other);
  code_.load(BPF_DW, pointer, 10, kPointerSlot);
  fill(base);
  use_memory(pointer, 0, 32);
  fill(pointer);
}

// Careless: half an address that was read from the context of a caller, through a pointer that could be anything, is a
// distance. It is made so large that nothing lies there.
void RandomCode::use_caller_context() {
  if (!has_caller_stack() || !careless()) return use_caller_stack();
  const auto [base, distance, pointer] = different<3>();
  code_.load(BPF_DW, base, 10, kCallerSlot).load(BPF_DW, base, base, kContextSlot);
  code_.load(BPF_W, distance, base, one_in(2) ? offsetof(xdp_md, data) : offsetof(xdp_md, data_end));
  code_.alu_imm(BPF_RSH, distance, 32).alu_imm(BPF_LSH, distance, 24);
  code_.map_value(pointer, kSingle, 0).alu(BPF_ADD, pointer, distance);
  fill(base);
  use_memory(pointer, 0, 32);
  for (const int used : {base, distance, pointer}) fill(used);
}

// The base is kept.
void RandomCode::use_atomic(int base, int offset) {
  const bool wide = one_in(2);
  int operation = kAtomicOperations[below(std::size(kAtomicOperations))], from = number();
  if (base == 0 && operation == BPF_CMPXCHG) operation = BPF_XCHG;
  while (from == base) from = number();
  code_.atomic(wide ? BPF_DW : BPF_W, operation, base, offset + (wide ? 0 : 4 * below(2)), from);
}

// One access to some of `room` bytes behind base + first, at any alignment.
void RandomCode::use_memory(int base, int first, int room) {
  int size = kSizes[below(4)];
  while (bytes_of_size(size) > room) size = BPF_B;
  const int offset = first + below(room - bytes_of_size(size) + 1);
  int other = number();
  while (other == base) other = number();
  switch (below(3)) {
    case 0: code_.load(size, other, base, offset); break;
    case 1: code_.store(size, base, offset, other); break;
    default: code_.store_imm(size, base, offset, short_number());
  }
}

void RandomCode::use_packet() {
  const auto [at, limit, end] = different<3>();
  const std::string out = new_label();
  const int room = 1 + below(24), start = below(one_in(3) ? 60 : 14);
  context_to(end);
  code_.load(BPF_W, at, end, offsetof(xdp_md, data)).load(BPF_W, end, end, offsetof(xdp_md, data_end));
  if (one_in(3)) {  // at a distance that isn't known
    code_.load(BPF_DW, limit, 10, number_slot()).alu_imm(BPF_AND, limit, 31).alu(BPF_ADD, at, limit);
  }
  code_.mov(limit, at).add_imm(limit, start + room);
  if (!careless()) one_in(2) ? code_.jump(BPF_JGT, limit, end, out) : code_.jump(BPF_JLT, end, limit, out);
  for (const int used : {limit, end}) fill(used);  // no address may be stored
  for (int i = 0, count = 1 + below(3); i < count; ++i) use_memory(at, start, room);
  code_.label(out);
  for (const int used : {at, limit, end}) fill(used);
}

void RandomCode::use_map() {
  const int map = below(4);  // one with values
  key_for(map);
  const std::string out = new_label();
  if (one_in(4))
    code_.map(1, map).mov(2, 10).add_imm(2, kKeySlot).call(BPF_FUNC_map_lookup_elem);
  else
    code_.lookup(map, kKeySlot);
  if (!careless()) code_.jump_imm(BPF_JEQ, 0, 0, out);
  fill_from(1, 5);
  const int room = map == kArray ? 24 : map == kLpm ? 8 : 16;
  for (int i = 0, count = 1 + below(3); i < count; ++i) {
    if (one_in(3))
      use_atomic(0, 0);
    else
      use_memory(0, 0, room);
  }
  code_.label(out);
  fill_from(0, 5);
}

// Keys that are there, mostly.
void RandomCode::key_for(int map) {
  switch (map) {
    case kArray:
    case kOwnArray: code_.store_imm(BPF_W, 10, kKeySlot, below(6)); break;
    case kHash:
      code_.store_imm(BPF_W, 10, kKeySlot, below(4)).store_imm(BPF_W, 10, kKeySlot + 4, one_in(8) ? below(3) : 0);
      break;
    default:
      code_.store_imm(BPF_W, 10, kKeySlot, one_in(4) ? below(33) : 32);
      if (one_in(2))
        code_.store(BPF_W, 10, kKeySlot + 4, number());
      else
        code_.store_imm(BPF_W, 10, kKeySlot + 4, 0x0a + (below(4) << 8) + (below(128) << 24));
  }
}

void RandomCode::use_single_value() {
  const int base = number();
  code_.map_value(base, kSingle, 8);
  if (one_in(2))
    use_atomic(base, 8 * below(2));
  else
    use_memory(base, 0, 24);
  fill(base);
}

void RandomCode::change_map() {
  const int map = one_in(2) ? kHash : below(2);
  key_for(map);
  code_.map(1, map).mov(2, 10).add_imm(2, kKeySlot);
  if (map == kHash && one_in(3)) {
    code_.call(BPF_FUNC_map_delete_elem);
  } else {
    const int value_slot = kFirstNumberSlot + 8 * below(kNumberSlots - 2);
    code_.mov(3, 10).add_imm(3, value_slot).mov_imm(4, below(4)).call(BPF_FUNC_map_update_elem);
  }
  fill_from(1, 5);
}

// What it writes to the frame could be, for our verifier, over the context that is kept there.
void RandomCode::load_bytes() {
  context_to(1);
  if (!keeps_context_in_register() || one_in(3)) {
    code_.call(BPF_FUNC_xdp_get_buff_len);
  } else {
    const int slot = kFirstNumberSlot + 8 * below(kNumberSlots - 2);
    code_.mov_imm(2, below(100)).mov(3, 10).add_imm(3, slot).mov_imm(4, 1 + below(16));
    code_.call(BPF_FUNC_xdp_load_bytes);
  }
  fill_from(1, 5);
}

void RandomCode::move_head() {
  if (one_in(2)) return use_packet();
  context_to(1);
  code_.mov_imm(2, below(60) - 40).call(BPF_FUNC_xdp_adjust_head);
  fill_from(1, 5);
}

}  // namespace trama::ebpf
