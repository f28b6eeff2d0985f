// What choices stand for, by the guess of what registers and the function's own frame hold.
#include <algorithm>

#include "tests/fuzz/filter_input.hpp"
#include "tests/fuzz/filter_maps.hpp"

namespace trama::ebpf {

int FilterInput::holding(std::initializer_list<Kind> kinds, uint8_t choice, int otherwise) const {
  std::array<int, kRegisters> fitting{};
  size_t count = 0;
  for (int one = 0; one < kRegisters; ++one)
    if (std::find(kinds.begin(), kinds.end(), registers_[static_cast<size_t>(one)].kind) != kinds.end())
      fitting[count++] = one;
  return count == 0 ? otherwise : fitting[choice % count];
}

int FilterInput::number(uint8_t choice) const { return holding({Kind::number}, choice, 0); }

int FilterInput::any_set(uint8_t choice) const {
  return holding({Kind::number, Kind::number, Kind::packet, Kind::packet_end, Kind::stack, Kind::outer, Kind::value,
                  Kind::event, Kind::unknown},
                 choice, kFrame);
}

// Not the context, and seldom a pointer.
int FilterInput::target(uint8_t choice) const {
  if (choice % 8 != 0) return holding({Kind::number, Kind::unset}, choice / 8, 0);
  const int any = choice / 8 % (kRegisters - 2);
  return any < kKeptContext ? any : any + 1;
}

int32_t FilterInput::constant() const {
  const auto number = static_cast<int16_t>(record_[3] | record_[4] << 8);
  return static_cast<int32_t>(static_cast<uint32_t>(int32_t{number}) << record_[5] % 17);
}

// Where a frame keeps a pointer or the context, which is worth a load or being overwritten: the function's own frame,
// which lies behind its caller's, or that. 0: nowhere.
int FilterInput::kept_place(const Guess& base) const {
  const uint8_t choice = record_[2];
  const bool outer = base.kind == Kind::outer, own = base.kind == Kind::stack || choice % 2 == 0;
  if (!outer && base.kind != Kind::stack) return 0;
  const Frame& frame = own ? slots_ : functions_[function_].outer;
  std::array<int, std::tuple_size_v<Frame>> places{};
  size_t count = 0;
  for (size_t slot = 0; slot < frame.size(); ++slot)
    if (frame[slot].kind != Kind::unset && frame[slot].kind != Kind::number)
      places[count++] = 8 * static_cast<int>(slot) - static_cast<int>(kFrameBytes);
  if (count == 0) return 0;
  return places[choice / 2 % count] + (outer && own ? static_cast<int>(kFrameBytes) : 0) - base.offset;
}

// Where in what it points into, by the choices 2 and 5; frames mostly at their ends, for two of them to meet there.
int FilterInput::place(const Guess& base, int bytes) const {
  const uint8_t choice = record_[2], kind = record_[5];
  if (kind % 16 == 15) return static_cast<int8_t>(choice);
  if (const int kept = bytes == 8 && kind % 4 == 0 ? kept_place(base) : 0; kept != 0) return kept;
  constexpr int kWords = kFrameBytes / 8, kNear = 8;
  const int shift = kind % 8 == 7 ? choice % 8 : 0;
  int at = 0;
  switch (base.kind) {
    case Kind::stack: at = std::min(-8 * (1 + choice % (choice < 192 ? kNear : kWords)) + shift, -bytes); break;
    case Kind::outer: {
      const int word = -(1 + choice / 2 % (choice < 192 ? kNear : kWords));
      at = 8 * (choice % 2 == 0 ? word : word + kWords) + shift;
      break;
    }
    case Kind::value: at = choice % std::max(1, kValueBytes[base.map] - bytes + 1); break;
    case Kind::event: at = choice % 16; break;
    case Kind::packet: at = choice % 64; break;
    case Kind::context: at = choice % 5 * 4; break;
    default: at = choice % 8 * 4;
  }
  return at - base.offset;
}

// --- the own frame

int FilterInput::slot_of(int base, int offset, int bytes) const {
  const Guess& guess = registers_[static_cast<size_t>(base)];
  const int first = guess.offset + offset + static_cast<int>(kFrameBytes);
  if (guess.kind != Kind::stack || first < 0 || first + bytes > static_cast<int>(kFrameBytes)) return -1;
  return first / 8;
}

FilterInput::Guess FilterInput::loaded(int base, int offset, int bytes) const {
  const Guess& guess = registers_[static_cast<size_t>(base)];
  const int slot = slot_of(base, offset, bytes);
  if (bytes == 8 && slot >= 0 && (guess.offset + offset) % 8 == 0 &&
      slots_[static_cast<size_t>(slot)].kind != Kind::unset)
    return slots_[static_cast<size_t>(slot)];
  if (bytes == 8 && (guess.kind == Kind::outer || guess.kind == Kind::unknown)) return {Kind::unknown, 0, 0};
  if (guess.kind == Kind::context && offset == offsetof(xdp_md, data)) return {Kind::packet, 0, 0};
  if (guess.kind == Kind::context && offset == offsetof(xdp_md, data_end)) return {Kind::packet_end, 0, 0};
  return {Kind::number, 0, 0};
}

void FilterInput::stored(int base, int offset, int bytes, int value) {
  const int slot = slot_of(base, offset, bytes);
  if (slot < 0) return;
  const bool whole = bytes == 8 && (registers_[static_cast<size_t>(base)].offset + offset) % 8 == 0;
  slots_[static_cast<size_t>(slot)] = whole ? registers_[static_cast<size_t>(value)] : Guess{Kind::number, 0, 0};
}

}  // namespace trama::ebpf
