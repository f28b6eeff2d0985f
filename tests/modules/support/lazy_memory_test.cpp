#include "modules/support/lazy_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <utility>

namespace trama {
namespace {

template <class T>
class LazyMemoryTest : public testing::Test {};
using Elements = testing::Types<uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(LazyMemoryTest, Elements);

TYPED_TEST(LazyMemoryTest, ArraysAreZeroAndApart) {
  using T = TypeParam;
  static constexpr size_t kSizes[] = {0, 1, 31, 1000, size_t{3} << 20};
  for (const size_t n : kSizes) {
    LazyMemory memory(2 * LazyMemory::bytes_of<T>(n));
    T* const first = memory.take<T>(n);
    T* const second = memory.take<T>(n);
    const auto all = [n](const T* array, T value) {
      return std::all_of(array - kSlack, array + n + kSlack, [value](T element) { return element == value; });
    };
    EXPECT_TRUE(all(first, 0) && all(second, 0)) << n;
    std::fill(first - kSlack, first + n + kSlack, T{1});
    EXPECT_TRUE(all(first, 1) && all(second, 0)) << n;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first - kSlack) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(second - kSlack) % 64, 0u);
  }
}

TEST(LazyMemoryLimitsTest, RefusesMoreThanThereIs) {
  LazyMemory memory(LazyMemory::bytes_of<uint32_t>(100));
  EXPECT_THROW(memory.take<uint32_t>(200), std::bad_alloc);
  EXPECT_NE(memory.take<uint32_t>(100), nullptr);
  EXPECT_THROW(memory.take<uint32_t>(0), std::bad_alloc);
  EXPECT_THROW(LazyMemory(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(LazyMemory(SIZE_MAX / 4), std::bad_alloc);
}

TEST(LazyMemoryLimitsTest, MovesWithItsArrays) {
  LazyMemory memory(LazyMemory::bytes_of<uint32_t>(10));
  uint32_t* const array = memory.take<uint32_t>(10);
  array[9] = 5;
  LazyMemory moved = std::move(memory);
  EXPECT_EQ(array[9], 5u);
  memory = LazyMemory(LazyMemory::bytes_of<uint32_t>(1));
  memory.take<uint32_t>(1)[0] = 7;
  std::swap(memory, moved);
  EXPECT_EQ(array[9], 5u);
}

}  // namespace
}  // namespace trama
