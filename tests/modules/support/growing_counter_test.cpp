#include "modules/support/growing_counter.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace trama {
namespace {

struct Growth {
  const char* words;
  uint64_t begin;
  std::vector<uint64_t> readings, grown;
};

TEST(GrowingCounter, GrowsWrapsAndIsSetBack) {
  constexpr uint64_t kWrap = uint64_t{1} << 32;
  const std::vector<Growth> cases = {
      {"grows", 0, {0, 5, 5, 12}, {0, 5, 0, 7}},
      {"what was there before doesn't count", 1000, {1000, 1003}, {0, 3}},
      {"64 bits", kWrap - 1, {kWrap, 3 * kWrap}, {1, 2 * kWrap}},
      {"32 bits wrap", kWrap - 10, {kWrap - 4, 2, 7}, {6, 6, 5}},
      {"set back to zero", 500, {600, 0, 4}, {100, 0, 4}},
      {"set back, and more since", 500, {600, 30}, {100, 30}},
      {"set back from far beyond 32 bits", 5 * kWrap, {6 * kWrap, 9}, {kWrap, 9}},
      {"set back from the middle of 32 bits", kWrap / 2, {kWrap / 2 + 1, 9}, {1, 9}},
  };
  for (const Growth& one : cases) {
    SCOPED_TRACE(one.words);
    GrowingCounter counter(one.begin);
    for (size_t i = 0; i < one.readings.size(); ++i) EXPECT_EQ(counter.grown_to(one.readings[i]), one.grown[i]) << i;
  }
}

}  // namespace
}  // namespace trama
