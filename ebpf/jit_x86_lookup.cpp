// Lookups without a call.
#include <bit>

#include "ebpf/jit_x86.hpp"
#include "ebpf/lpm_root.hpp"

namespace trama::ebpf {

using namespace asmjit::x86;

namespace {

constexpr uint32_t kLengthBytes = sizeof(uint32_t);  // of a prefix, in front of its bits

template <class Element>
size_t field_of_map(size_t array, const Map& map) {
  return array + map.index() * sizeof(Element);
}

}  // namespace

X86Target::Mem X86Target::key_part(JitKey key, uint32_t at, uint32_t bytes) {
  return key.in_frame ? ptr(rbp, key.offset + static_cast<int32_t>(at), bytes)
                      : ptr(rsi, static_cast<int32_t>(at), bytes);
}

X86Target::Mem X86Target::own_values(const Map& map) {
  return field(field_of_map<uint8_t*>(offsetof(Execution, own_values), map), 8);
}

void X86Target::multiply(const Gp& to, uint64_t factor) {
  if (std::has_single_bit(factor))
    a_.shl(to, std::countr_zero(factor));
  else
    a_.imul(to, to, static_cast<int32_t>(factor));
}

void X86Target::lookup_array(const Map& map, JitKey key, const Label& null) {
  a_.mov(edx, key_part(key, 0, 4));
  a_.xor_(eax, eax);
  a_.cmp(edx, static_cast<int32_t>(map.layout().max_entries));
  a_.jae(null);
  multiply(rdx, map.layout().stride);
  a_.mov(rax, own_values(map));
  a_.add(rax, rdx);
}

void X86Target::array_value(const Map& map, uint32_t index) {
  const uint64_t offset = uint64_t{index} * map.layout().stride;
  a_.mov(rax, own_values(map));
  if (offset <= INT32_MAX) {
    a_.add(rax, static_cast<int32_t>(offset));
  } else {
    a_.mov(rdx, asmjit::imm(offset));
    a_.add(rax, rdx);
  }
}

// LpmRoot::find(). The entry is in eax then.
bool X86Target::lookup_prefix(const PrefixLookup& lookup) {
  const MapLayout& layout = lookup.map->layout();
  const uint32_t all_bits = (layout.key_size - kLengthBytes) * 8;
  if (lookup.key.number != all_bits) {
    a_.cmp(key_part(lookup.key, 0, 4), all_bits);
    a_.jne(lookup.slowly);
  }
  if (lookup.key.next_number)
    a_.movzx(ecx, register_of(*lookup.key.next_number).r16());
  else
    a_.movzx(ecx, key_part(lookup.key, kLengthBytes, 2));
  a_.rol(cx, 8);
  a_.mov(edx, ecx);
  a_.shr(edx, 6);
  a_.mov(rax, field(field_of_map<LpmRoot>(offsetof(Execution, roots), *lookup.map), 8));
  a_.mov(r11, ptr(rax, rdx, 3));
  a_.shr(r11, cl);  // by the lowest six bits
  a_.popcnt(r11, r11);
  a_.add(r11d, ptr(rax, rdx, 2, LpmRoot::kCounts));
  a_.mov(eax, ptr(rax, r11, 2, LpmRoot::kRuns));
  a_.test(eax, eax);
  a_.js(lookup.below);
  a_.bind(lookup.decided);
  a_.jz(lookup.null);
  if (layout.stride == 8) {
    a_.mov(rdx, own_values(*lookup.map));
    a_.lea(rax, ptr(rdx, rax, 3, -8));
  } else {
    multiply(rax, layout.stride);
    a_.add(rax, own_values(*lookup.map));
    a_.sub(rax, layout.stride);
  }
  return true;
}

// LpmShortTail::find(), where keys are IPv4 addresses; with the processor's flags as of a test of eax.
void X86Target::lookup_below(const PrefixLookup& lookup) {
  constexpr uint32_t kShortKey = kLengthBytes + 4;
  if (lookup.map->layout().key_size != kShortKey) return;
  static_assert(sizeof(LpmShortTail) == 16 && offsetof(LpmShortTail, value) == 8);
  a_.cmp(eax, static_cast<int32_t>(LpmRoot::kTail));
  a_.jb(lookup.slowly);
  a_.and_(eax, static_cast<int32_t>(LpmRoot::kIndex));
  a_.shl(rax, 4);
  a_.add(rax, field(field_of_map<const LpmShortTail*>(offsetof(Execution, tails), *lookup.map), 8));
  a_.mov(ecx, key_part(lookup.key, kLengthBytes, 4));
  a_.xor_(ecx, ptr(rax, offsetof(LpmShortTail, key)));
  a_.xor_(edx, edx);
  a_.test(ptr(rax, offsetof(LpmShortTail, mask)), ecx);
  a_.setne(dl);
  a_.mov(eax, ptr(rax, rdx, 2, offsetof(LpmShortTail, value)));
  a_.test(eax, eax);
  a_.jmp(lookup.decided);
}

}  // namespace trama::ebpf
