// Owners of what trama.h gives, for its tests.
#pragma once
#include <gmock/gmock.h>

#include <memory>
#include <string>

#include "libclient/trama.h"

namespace trama::test {

template <auto release>
struct Release {
  void operator()(auto* handle) const { release(handle); }
};
using Window = std::unique_ptr<trama_window, Release<trama_window_free>>;
using Stream = std::unique_ptr<trama_subscriber, Release<trama_close>>;

class Options {
 public:
  trama_options* get() const { return options_.get(); }

 private:
  std::unique_ptr<trama_options, Release<trama_options_free>> options_{trama_options_new()};
};

// The next window; nothing for every other outcome.
inline Window next_window(const Stream& stream, int64_t timeout_ms) {
  trama_window* window = nullptr;
  const int result = trama_next(stream.get(), timeout_ms, &window);
  EXPECT_EQ(result == TRAMA_WINDOW, window != nullptr);
  return Window(window);
}

// That the call gives what is promised for NULL, and that the error names the argument.
template <class Call>
void expect_null_named(const std::string& argument, Call gives_the_promised) {
  trama_next(nullptr, 0, nullptr);  // another text before
  ASSERT_THAT(trama_error_text(), testing::EndsWith("NULL was given as window"));
  if (argument == "window") trama_descriptor(nullptr);
  EXPECT_TRUE(gives_the_promised()) << argument;
  EXPECT_THAT(trama_error_text(), testing::EndsWith("NULL was given as " + argument));
}

}  // namespace trama::test
