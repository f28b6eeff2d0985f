// What the files of the C API (trama.h) share: the handles, and how errors are kept. Not meant for others.
#pragma once
#include <memory>
#include <optional>
#include <string_view>

#include "libclient/subscriber.hpp"
#include "libclient/trama.h"

struct trama_options {
  trama::SubscribeOptions options;
};

struct trama_window {
  std::optional<trama::StreamWindow> window;  // there in every one that a caller has
};

struct trama_subscriber {
  trama::Subscriber subscriber;
  uint64_t missed_at_end = 0;
  std::unique_ptr<trama_window> next_window;  // made before the window comes, which could not be lost any more
};

namespace trama::c_api {

// Keeps the text for trama_error_text(), and gives `result` back.
int fail(int result, std::string_view text, std::string_view hint = {}) noexcept;
int fail(const FormatError& error) noexcept;
void fail_null(const char* function, const char* argument) noexcept;
void fail_constant(const char* function, const char* constants) noexcept;
void fail_memory() noexcept;

// Of anything that can be told apart by a verdict's number; an unknown one is an error.
uint64_t verdict_of(const VerdictCounts& verdicts, int verdict, const char* function) noexcept;

// What `get` says of a handle; `otherwise`, and an error, when there is none.
template <class Handle, class Value, class Get>
Value ask(const Handle* handle, const char* function, const char* argument, Value otherwise, Get get) noexcept {
  if (handle != nullptr) return get(*handle);
  fail_null(function, argument);
  return otherwise;
}

}  // namespace trama::c_api
