#include "modules/support/network_losses.hpp"

#include <gtest/gtest.h>

#include <map>

#include "modules/support/network_interface.hpp"

namespace trama {
namespace {

// Counters that a test sets; asked by the thread of NetworkLosses, too.
struct Counters {
  std::optional<InterfaceCounters> ask(int index) {
    const std::lock_guard lock(mutex);
    ++asked;
    const auto found = of.find(index);
    return found == of.end() ? std::nullopt : std::optional(found->second);
  }
  void set(int index, InterfaceCounters counters) {
    const std::lock_guard lock(mutex);
    of[index] = counters;
  }
  std::mutex mutex;
  std::map<int, InterfaceCounters> of;
  int asked = 0;
};

TEST(NetworkLosses, CountsWhatWasMissedSinceTheBeginning) {
  Counters counters;
  counters.set(1, {100, 7});
  counters.set(2, {UINT32_MAX - 1, 0});  // a driver with 32-bit counters
  NetworkLosses losses({1, 2, 3}, [&](int index) { return counters.ask(index); });
  EXPECT_EQ(losses.take(), 0u);
  counters.set(1, {105, 9});
  counters.set(2, {3, 0});
  counters.set(3, {50, 50});  // wasn't there before
  losses.finish();
  EXPECT_EQ(losses.take(), 5u + 5u);
  EXPECT_EQ(losses.take(), 0u) << "said once";
  EXPECT_EQ(losses.dropped(), 2u);
  const int asked = counters.asked;
  losses.finish();
  EXPECT_EQ(counters.asked, asked);
}

TEST(NetworkLosses, AnInterfaceThatHasGoneHasLostNothingMore) {
  Counters counters;
  counters.set(1, {100, 0});
  NetworkLosses losses({1}, [&](int index) { return counters.ask(index); });
  counters.of.clear();
  losses.finish();
  EXPECT_EQ(losses.take(), 0u);
}

TEST(NetworkLosses, TheKernelAnswers) {
  const auto ask = netlink_counters();
  const auto indices = interface_indices();
  if (indices.empty()) GTEST_SKIP() << "there is no interface here";
  EXPECT_TRUE(ask(indices.front()).has_value());
  EXPECT_FALSE(ask(1'999'999'999).has_value());
}

TEST(NetworkInterface, ThoseThatAreThereAreFoundAndOthersAreNot) {
  const auto names = interface_names();
  for (const std::string& name : names) {
    const auto found = find_interface(name);
    ASSERT_TRUE(found.has_value()) << name;
    EXPECT_EQ(found->device, name);
    EXPECT_GT(found->index, 0);
    EXPECT_EQ(found->loopback, name == "lo");
    merging_offloads(*found);  // can always be asked
  }
  EXPECT_EQ(find_interface("any")->index, 0);
  const auto missing = find_interface("no-such-one");
  ASSERT_FALSE(missing.has_value());
  for (const std::string& name : names) EXPECT_NE(missing.error().hint.find(name), std::string::npos);
  EXPECT_FALSE(find_interface("").has_value());
  EXPECT_FALSE(find_interface(std::string(100, 'x')).has_value());
}

}  // namespace
}  // namespace trama
