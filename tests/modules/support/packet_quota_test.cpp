#include "modules/support/packet_quota.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace trama {
namespace {

constexpr uint64_t kQuotaSeed = 20250301;

TEST(PacketQuota, WhatIsReservedAndDoesNotComeIsThereForOthers) {
  PacketQuota quota(10);
  EXPECT_EQ(quota.reserve(8), 8u);
  EXPECT_EQ(quota.reserve(8), 2u);
  EXPECT_EQ(quota.reserve(8), 0u);
  EXPECT_FALSE(quota.used_up()) << "nothing has come yet";
  quota.settle(8, 3);
  quota.settle(2, 2);
  EXPECT_FALSE(quota.used_up());
  EXPECT_EQ(quota.reserve(8), 5u);
  quota.settle(5, 5);
  EXPECT_TRUE(quota.used_up());
  EXPECT_EQ(quota.reserve(1), 0u);
}

TEST(PacketQuota, NoneIsNoLimit) {
  PacketQuota quota(0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(quota.reserve(UINT64_MAX >> 1), UINT64_MAX >> 1);
    quota.settle(UINT64_MAX >> 1, UINT64_MAX >> 1);
  }
  EXPECT_FALSE(quota.used_up());
}

TEST(PacketQuota, TogetherExactlyAsManyAsWanted) {
  constexpr uint64_t kWanted = 100'000;
  PacketQuota quota(kWanted);
  std::atomic<uint64_t> come{0};
  std::vector<std::thread> replicas;
  for (uint64_t replica = 0; replica < 4; ++replica)
    replicas.emplace_back([&, replica] {
      std::mt19937_64 random(kQuotaSeed + replica);
      while (!quota.used_up()) {
        const uint64_t reserved = quota.reserve(1 + random() % 64);
        const uint64_t used = random() % (reserved + 1);
        quota.settle(reserved, used);
        come += used;
      }
    });
  for (std::thread& replica : replicas) replica.join();
  EXPECT_EQ(come, kWanted) << "seed " << kQuotaSeed;
}

}  // namespace
}  // namespace trama
