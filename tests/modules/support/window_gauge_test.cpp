#include "modules/support/window_gauge.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace trama {
namespace {

constexpr int64_t kSecond = WindowGauge::kEveryNs;

class Gauge : public testing::Test {
 protected:
  bool measures(uint64_t seq, int64_t now_ns) {
    gauge_.look(seq, {row_, start_, column_, count_}, now_ns);
    log_->finished(seq, 1, false, 1);
    return log_->last(1).at(0).quantities.has_value();
  }
  const std::vector<uint32_t> row_{7}, start_{0, 1}, column_{9}, count_{1};
  const std::shared_ptr<WindowLog> log_ = std::make_shared<WindowLog>();
  WindowGauge gauge_{log_, 100};
};

TEST_F(Gauge, MeasuresTheFirstWindowOfEachSecond) {
  EXPECT_TRUE(measures(0, 5));
  EXPECT_FALSE(measures(1, 6));
  EXPECT_FALSE(measures(2, 5 + kSecond - 1));
  EXPECT_TRUE(measures(3, 5 + kSecond));
  EXPECT_FALSE(measures(4, 5 + kSecond + 1));
  EXPECT_TRUE(measures(5, 100 * kSecond));
}

TEST_F(Gauge, LeavesOutWindowsLargerThanItsMemory) {
  const std::vector<uint32_t> columns(WindowGauge::kMostLinks + 1);
  gauge_.look(0, {row_, start_, columns, columns}, 0);
  log_->finished(0, 1, false, 1);
  EXPECT_FALSE(log_->last(1).at(0).quantities);
  EXPECT_TRUE(measures(1, 0));
}

}  // namespace
}  // namespace trama
