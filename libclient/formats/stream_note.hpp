// What publisher and subscriber tell each other beside windows: short messages of one layout (docs/formats.md).
//
//   subscriber                          publisher
//   subscribe(start, allowed)    -->
//                                <--    begin(run, number)       windows follow, from `number` on
//                                <--    envelopes                no more of them than `allowed`
//   allow(allowed)               -->                             again and again; also says that it is still there
//                                <--    heartbeat(run, number)   all windows below `number` were sent or lost
//                                <--    end(run, number)         the run is over, and all below `number` likewise
//   leave                        -->                             also the answer to `end`
//                                <--    refused(reason)
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "libclient/formats/error.hpp"

namespace trama {

inline constexpr std::array<uint8_t, 4> kNoteMagic = {0xD4, 'T', 'S', 'N'};
inline constexpr uint16_t kNoteVersion = 1;
inline constexpr size_t kMostNoteText = 255;
inline constexpr size_t kMostNoteBytes = 48 + kMostNoteText + 16;

enum class NoteKind : uint8_t {
  subscribe = 1,  // start, number, run, allowed; text: the stream's name, empty for whichever there is
  allow = 2,      // allowed
  leave = 3,      // nothing
  begin = 4,      // run, number
  heartbeat = 5,  // run, number
  end = 6,        // run, number
  refused = 7,    // refusal; text: for people
};

// Where a subscriber wants to begin.
enum class StartKind : uint8_t {
  live = 0,    // with the next window
  number = 1,  // with this window; `run` says of which run, 0: of the present one
  last = 2,    // with so many windows before the next one, or as many as are kept
  time = 3,    // with the first kept window that has packets at this time or later; ns since the epoch
};

enum class Refusal : uint8_t {
  none = 0,
  version = 1,  // speaks another version
  stream = 2,   // has no stream of that name
  full = 3,     // has as many subscribers as it takes
  unknown = 4,  // doesn't know the sender (any more): subscribe again
};

struct StreamNote {
  NoteKind kind = NoteKind::allow;
  StartKind start = StartKind::live;
  Refusal refusal = Refusal::none;
  uint64_t run = 0;
  uint64_t number = 0;
  uint64_t allowed = 0;  // windows that may be sent since `begin`, in total
  std::string_view text;
  bool operator==(const StreamNote&) const = default;
};

// Writes it and returns its length; 0 if the text is longer than kMostNoteText.
size_t write_note(const StreamNote& note, std::span<uint8_t, kMostNoteBytes> out) noexcept;

// Reads what may come from anywhere; the text points into `bytes`. Errors: not a note, of another version, damaged.
FormatExpected<StreamNote> read_note(std::span<const uint8_t> bytes);

// A window and not a note, by its first bytes.
bool looks_like_envelope(std::span<const uint8_t> bytes);

}  // namespace trama
