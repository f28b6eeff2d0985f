// What became of one input: how much was read from it, and how it ended.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace trama {

enum class InputStatus : uint8_t {
  ok,
  truncated,    // the input ends inside something: its writer was killed, or a copy was cut
  corrupt,      // an impossible value: what follows can't be read
  unsupported,  // a format that is not read, named in the detail
  unreadable,   // the operating system refused to read on
  interrupted,  // the run was stopped before the end; the reader itself never says so
};

constexpr std::string_view to_string(InputStatus status) {
  switch (status) {
    case InputStatus::ok: return "ok";
    case InputStatus::truncated: return "truncated";
    case InputStatus::corrupt: return "corrupt";
    case InputStatus::unsupported: return "unsupported";
    case InputStatus::unreadable: return "unreadable";
    case InputStatus::interrupted: return "interrupted";
  }
  return "";
}

// Why an input ended early, and where. `text` is a sentence without a full stop and without the input's name.
struct InputFailure {
  InputStatus status = InputStatus::corrupt;
  std::string text;
};

struct InputReport {
  std::string name;      // as the user wrote it; "-" is standard input
  uint64_t packets = 0;  // handed out so far
  uint64_t bytes = 0;    // read from the file so far, as they stand there (compressed)
  InputStatus status = InputStatus::ok;
  std::string detail;  // empty when all is well
  // False while no whole valid file header was seen, and when the input ended early before its first packet. An input
  // that isn't `ok` has failed as a whole when this is false, and has lost its end when this is true.
  bool readable = false;
};

}  // namespace trama
