// libFuzzer target: what comes through the control socket. Any line is refused with a text, or understood; what is
// understood can be said again and means the same; and the answer to either is one line of ASCII that is read back.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "control/control_protocol.hpp"

namespace {

void expect(bool right) {
  if (!right) __builtin_trap();
}

std::string_view without_end(const std::string& line) {
  expect(!line.empty() && line.find('\n') == line.size() - 1);
  expect(std::all_of(line.begin(), line.end() - 1, [](unsigned char c) { return c >= 0x20 && c < 0x7f; }));
  return std::string_view(line).substr(0, line.size() - 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A block that ends where the line does.
  const auto block = std::make_unique<char[]>(size);
  if (size > 0) std::memcpy(block.get(), data, size);
  const std::string_view line(block.get(), size);

  const trama::DecodedRequest decoded = trama::decode_request(line);
  if (decoded.request) {
    const std::string again = trama::encode_request(*decoded.request, decoded.id);
    const trama::DecodedRequest second = trama::decode_request(without_end(again));
    expect(second.request && *second.request == *decoded.request && second.id == decoded.id);
    const std::string result = trama::encode_result(decoded.id, {{"range", decoded.request->range}});
    expect(trama::decode_answer(without_end(result)).has_value());
  } else {
    expect(!decoded.request.error().text.empty());
    const std::string refusal = trama::encode_failure(decoded.id, decoded.request.error());
    const auto read = trama::decode_answer(without_end(refusal));
    expect(!read && read.error().text == decoded.request.error().text);
  }
  // The other side reads just as carefully.
  (void)trama::decode_answer(line);
  return 0;
}
