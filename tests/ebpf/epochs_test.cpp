// When what was taken out of use may be freed.
#include "ebpf/epochs.hpp"

#include <gtest/gtest.h>

namespace trama::ebpf {
namespace {

TEST(Epochs, ABatchThatBeganBeforeHoldsUp) {
  Epochs epochs;
  Epochs::Reader first = epochs.add_reader(), second = epochs.add_reader();
  first.enter();
  const uint64_t retired = epochs.retire();
  EXPECT_FALSE(epochs.passed(retired));
  second.enter();
  EXPECT_FALSE(epochs.passed(retired));
  first.leave();
  EXPECT_TRUE(epochs.passed(retired)) << "the second began afterwards";
  const uint64_t later = epochs.retire();
  EXPECT_FALSE(epochs.passed(later));
  second.leave();
  EXPECT_TRUE(epochs.passed(later));
}

TEST(Epochs, WhoIsInNoBatchHoldsUpNobody) {
  Epochs epochs;
  Epochs::Reader reader = epochs.add_reader();
  EXPECT_TRUE(epochs.passed(epochs.retire()));
  reader.enter();
  reader.leave();
  EXPECT_TRUE(epochs.passed(epochs.retire()));
}

}  // namespace
}  // namespace trama::ebpf
