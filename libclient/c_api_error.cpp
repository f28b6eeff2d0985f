// Errors of the C API: one for each thread, in memory of its own, so that telling one can't fail.
#include <algorithm>
#include <string>

#include "libclient/c_api.hpp"

namespace trama::c_api {
namespace {

constexpr size_t kTextBytes = 1024, kHintBytes = 512;
thread_local char error_text[kTextBytes], error_hint[kHintBytes];

// What is too long is cut, never within a character of UTF-8.
template <size_t Bytes>
void keep(char (&to)[Bytes], std::string_view from) noexcept {
  size_t length = std::min(from.size(), Bytes - 1);
  if (length < from.size())
    while (length > 0 && (static_cast<unsigned char>(from[length]) & 0xC0) == 0x80) --length;
  std::copy_n(from.data(), length, to);
  to[length] = 0;
}

// "FUNCTION: WHAT WORDS" in a text of its own.
void keep_in_pieces(std::string_view function, std::string_view text, std::string_view more) noexcept {
  char whole[kTextBytes];
  size_t length = 0;
  for (const std::string_view piece : {function, std::string_view(": "), text, more}) {
    const size_t bytes = std::min(piece.size(), kTextBytes - length);
    std::copy_n(piece.data(), bytes, whole + length);
    length += bytes;
  }
  keep(error_text, {whole, length});
}

}  // namespace

int fail(int result, std::string_view text, std::string_view hint) noexcept {
  keep(error_text, text);
  keep(error_hint, hint);
  return result;
}

int fail(const FormatError& error) noexcept { return fail(TRAMA_E_STREAM, error.text, error.hint); }
void fail_null(const char* function, const char* argument) noexcept {
  keep_in_pieces(function, "NULL was given as ", argument);
  keep(error_hint, {});
}
void fail_constant(const char* function, const char* constants) noexcept {
  keep_in_pieces(function, "is none of ", constants);
  keep(error_hint, {});
}
void fail_memory() noexcept { fail(TRAMA_E_MEMORY, "not enough memory"); }

}  // namespace trama::c_api

extern "C" {

const char* trama_version(void) { return TRAMA_VERSION; }
const char* trama_error_text(void) { return trama::c_api::error_text; }
const char* trama_error_hint(void) { return trama::c_api::error_hint; }
}
