// Memory for secrets: what the kernel is told about it, and who owns it.
#include "modules/support/secret_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

namespace trama {
namespace {

static_assert(!std::is_copy_constructible_v<SecretMemory> && !std::is_copy_assignable_v<SecretMemory>);
static_assert(std::is_nothrow_move_constructible_v<SecretMemory> && std::is_nothrow_move_assignable_v<SecretMemory>);

// The VmFlags line of /proc/self/smaps (proc(5)) for the mapping that holds `address`; empty if nothing is mapped
// there.
std::string mapping_flags(const uint8_t* address) {
  std::ifstream smaps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (std::istringstream(line) >> std::hex >> begin >> dash >> end && dash == '-')
      inside = begin <= wanted && wanted < end;
    if (inside && line.rfind("VmFlags:", 0) == 0) return line + " ";
  }
  return "";
}

TEST(SecretMemory, IsZeroAndLeftOutOfCoreDumps) {
  for (const size_t size : {size_t{1}, size_t{32}, size_t{4096}, size_t{100000}}) {
    const SecretMemory memory(size);
    ASSERT_GE(memory.size(), size);
    EXPECT_TRUE(std::all_of(memory.data(), memory.data() + memory.size(), [](uint8_t byte) { return byte == 0; }));
    EXPECT_NE(mapping_flags(memory.data()).find(" dd "), std::string::npos) << mapping_flags(memory.data());
  }
}

TEST(SecretMemory, BeginsAtAHugePageIfAsked) {
  for (int i = 0; i < 8; ++i) {
    const SecretMemory memory(3 * SecretMemory::kHugePage / 2, true);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % SecretMemory::kHugePage, 0u);
    EXPECT_NE(mapping_flags(memory.data()).find(" dd "), std::string::npos);
  }
}

TEST(SecretMemory, GoesBackToTheKernel) {
  const uint8_t* pages = nullptr;
  {
    const SecretMemory memory(size_t{64} << 20);
    pages = memory.data();
    EXPECT_NE(mapping_flags(pages), "");
  }
  EXPECT_EQ(mapping_flags(pages), "");
}

TEST(SecretMemory, MovesWithoutCopying) {
  SecretMemory first(32);
  first.data()[31] = 7;
  const uint8_t* pages = first.data();
  SecretMemory second(std::move(first));
  EXPECT_EQ(second.data(), pages);
  SecretMemory third;
  third = std::move(second);
  EXPECT_EQ(third.data(), pages);
  EXPECT_EQ(third.data()[31], 7);
}

}  // namespace
}  // namespace trama
