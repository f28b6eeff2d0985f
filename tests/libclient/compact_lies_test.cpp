// Compact encodings whose header or parts state what can't be, one lie at a time.
#include <gtest/gtest.h>

#include "tests/libclient/compact_cases.hpp"
#include "tests/support/highway_targets.hpp"

namespace trama {
namespace {

using namespace test;

TEST(HostileCompact, HeadersThatLie) {
  const CompactBytes good = compact_example().bytes();
  ASSERT_FALSE(is_refused(good));
  const auto u32 = [](uint64_t value) { return static_cast<uint32_t>(value); };
  const struct {
    const char* what;
    CompactBytes bytes;
  } cases[] = {
      {"magic", patched(good, kMagicAt, uint8_t{0xD5})},
      {"version 0", patched(good, kVersionAt, uint16_t{0})},
      {"version 2", patched(good, kVersionAt, uint16_t{2})},
      {"unknown flag", patched(good, kFlagsAt, uint16_t{4})},
      {"high flag", patched(good, kFlagsAt, uint16_t{0x8000})},
      {"all ones", patched(good, kFlagsAt, uint16_t{2})},
      {"shorter", patched(good, kBytesAt, uint64_t{good.size() - 1})},
      {"longer", patched(good, kBytesAt, uint64_t{good.size() + 1})},
      {"very long", patched(good, kBytesAt, ~uint64_t{0})},
      {"fewer packets", patched(good, kPacketsAt, uint64_t{4})},
      {"more packets", patched(good, kPacketsAt, uint64_t{6})},
      {"no packets", patched(good, kPacketsAt, uint64_t{0})},
      {"packets + 2^32", patched(good, kPacketsAt, uint64_t{5} + (uint64_t{1} << 32))},
      {"no rows", patched(good, kRowsAt, u32(0))},
      {"one row", patched(good, kRowsAt, u32(1))},
      {"three rows", patched(good, kRowsAt, u32(3))},
      {"more rows than links", patched(good, kRowsAt, u32(4))},
      {"very many rows", patched(good, kRowsAt, UINT32_MAX)},
      {"no links", patched(good, kLinksAt, u32(0))},
      {"two links", patched(good, kLinksAt, u32(2))},
      {"four links", patched(good, kLinksAt, u32(4))},
      {"2^30 links", patched(good, kLinksAt, u32(1) << 30)},
      {"very many links", patched(good, kLinksAt, UINT32_MAX)},
      {"base", patched(good, kBaseAt, UINT32_MAX)},
      {"row data", patched(good, kRowDataAt, u32(5))},
      {"column data", patched(good, kColumnDataAt, UINT32_MAX)},
      {"count data", patched(good, kCountDataAt, u32(0))},
      {"data shifted", patched(patched(good, kRowDataAt, u32(3)), kColumnDataAt, u32(5))},
      {"data shifted back", patched(patched(good, kColumnDataAt, u32(3)), kCountDataAt, u32(2))},
      {"lengths that wrap",
       patched(patched(good, kRowDataAt, u32(4) + 0x80000000U), kColumnDataAt, u32(4) + 0x80000000U)},
  };
  for (const auto& lie : cases) {
    SCOPED_TRACE(lie.what);
    EXPECT_TRUE(is_refused(lie.bytes));
  }
  CompactBytes longer = good;
  longer.push_back(0);
  EXPECT_TRUE(is_refused(patched(longer, kBytesAt, uint64_t{longer.size()})));  // a byte behind the last part
}

TEST(HostileCompact, PartsThatLie) {
  const struct {
    const char* what;
    void (*change)(CompactParts&);
  } cases[] = {
      {"the first link begins no row", [](CompactParts& p) { p.starts = {0x06}; }},
      {"the first link begins no row, and columns begin at 0",
       [](CompactParts& p) {
         p.starts = {0x06};
         p.base = 0;
       }},
      {"a start too few", [](CompactParts& p) { p.starts = {0x01}; }},
      {"a start too many", [](CompactParts& p) { p.starts = {0x07}; }},
      {"a start behind the last link", [](CompactParts& p) { p.starts = {0x0D}; }},
      {"a start behind the last link instead", [](CompactParts& p) { p.starts = {0x09}; }},
      {"a row code behind the last", [](CompactParts& p) { p.row_codes = {0x18}; }},
      {"a column code behind the last", [](CompactParts& p) { p.column_codes = {0x44}; }},
      {"a count code behind the last", [](CompactParts& p) { p.count_codes = {0x44}; }},
      {"a row code behind the last, with data",
       [](CompactParts& p) {
         p.row_codes = {0x18};
         p.row_data.push_back(0);
       }},
      {"a column code behind the last, with data",
       [](CompactParts& p) {
         p.column_codes = {0x44};
         p.column_data.push_back(0);
       }},
      {"a count code behind the last, with data",
       [](CompactParts& p) {
         p.count_codes = {0x44};
         p.count_data.push_back(0);
       }},
      {"a row code too long", [](CompactParts& p) { p.row_codes = {0x0C}; }},
      {"a row code too short", [](CompactParts& p) { p.row_codes = {0x04}; }},
      {"column codes too long", [](CompactParts& p) { p.column_codes = {0x3F}; }},
      {"column codes too short", [](CompactParts& p) { p.column_codes = {0x00}; }},
      {"count codes too long", [](CompactParts& p) { p.count_codes = {0x0C}; }},
      {"count codes too short", [](CompactParts& p) { p.count_codes = {0x00}; }},
      {"data behind the last row", [](CompactParts& p) { p.row_data.push_back(0); }},
      {"data behind the last column", [](CompactParts& p) { p.column_data.push_back(0); }},
      {"data behind the last count", [](CompactParts& p) { p.count_data.push_back(0); }},
      {"no data", [](CompactParts& p) { p.row_data = p.column_data = p.count_data = {}; }},
      {"a row of 2^32",
       [](CompactParts& p) {
         p.row_codes = {0x0C};
         p.row_data = {0, 0xFF, 0xFF, 0xFF, 0xFF};  // 0, then 2^32 more
       }},
      {"a row of 2^32 + 1",
       [](CompactParts& p) {
         p.row_codes = {0x0C};
         p.row_data = {1, 0xFF, 0xFF, 0xFF, 0xFF};
       }},
      {"a first column of 2^32",
       [](CompactParts& p) {
         p.column_codes = {0x07};
         p.column_data = {0xF6, 0xFF, 0xFF, 0xFF, 0, 0, 0};  // above 10
       }},
      {"a second column of 2^32",
       [](CompactParts& p) {
         p.column_codes = {0x0C};
         p.column_data = {0, 0xF5, 0xFF, 0xFF, 0xFF, 0};
       }},
      {"a second column 2^32 above the first",
       [](CompactParts& p) {
         p.column_codes = {0x0C};
         p.column_data = {0, 0xFF, 0xFF, 0xFF, 0xFF, 0};
       }},
      {"a count of 2^32",
       [](CompactParts& p) {
         p.count_codes = {0x0C};
         p.count_data = {0xFF, 0xFF, 0xFF, 0xFF};
         p.packets = 2 + (uint64_t{1} << 32);
       }},
      {"the same, summed up as 0",
       [](CompactParts& p) {
         p.count_codes = {0x3C};
         p.count_data = {0xFF, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0};
         p.packets = 3;
       }},
      {"other counts", [](CompactParts& p) { p.count_data = {3}; }},
      {"counts, where all are 1",
       [](CompactParts& p) {
         p.flags = kCompactAllOnes;
         p.packets = 3;
       }},
      {"count data, where all are 1",
       [](CompactParts& p) {
         p.flags = kCompactAllOnes;
         p.packets = 3;
         p.count_codes = {};
       }},
      {"more packets, where all counts are 1",
       [](CompactParts& p) {
         p.flags = kCompactAllOnes;
         p.count_codes = p.count_data = {};
       }},
      {"a least column of nothing",
       [](CompactParts& p) {
         p = {};
         p.base = 1;
       }},
      {"packets of nothing",
       [](CompactParts& p) {
         p = {};
         p.packets = 1;
       }},
  };
  for (const auto& lie : cases) {
    SCOPED_TRACE(lie.what);
    CompactParts parts = compact_example();
    lie.change(parts);
    EXPECT_TRUE(is_refused(parts.bytes()));
  }
  CompactParts parts = compact_example();  // and what is longer than need be is none
  parts.count_codes = {0x3C};
  parts.count_data = {2, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_FALSE(is_refused(parts.bytes()));
}

// Sums that overflow, at every place of a piece and on every target: the lanes before and after it are right.
TEST(HostileCompact, OverflowAnywhere) {
  for (const int64_t target : highway_targets()) {
    const ForcedTarget forced(target);
    for (uint32_t place = 1; place < 150; ++place) {
      SCOPED_TRACE(testing::Message() << hwy::TargetName(target) << ", link " << place);
      CompactParts parts;
      parts.flags = kCompactAllOnes;
      parts.packets = parts.links = 150;
      parts.rows = 1;
      parts.starts.assign(19, 0);
      parts.starts[0] = 1;
      parts.row_codes = {0};
      parts.row_data = {0};
      parts.column_codes.assign(38, 0);
      parts.column_data.assign(150, 0);
      parts.column_codes[place / 4] = static_cast<uint8_t>(3 << 2 * (place % 4));
      // Columns 0, 1, ... place - 1, and then 2^32 - 1 - `more` above that.
      const uint32_t after = 149 - place;
      for (const uint32_t more : {0U, 1U}) {
        CompactParts changed = parts;
        const uint32_t gap = UINT32_MAX - after - place + more;
        const auto* bytes = reinterpret_cast<const uint8_t*>(&gap);
        changed.column_data[place] = bytes[0];
        changed.column_data.insert(changed.column_data.begin() + place + 1, bytes + 1, bytes + 4);
        EXPECT_EQ(is_refused(changed.bytes()), more > 0);
        // The same as rows of one link each.
        changed.rows = 150;
        changed.row_codes = changed.column_codes;
        changed.row_data = changed.column_data;
        changed.starts.assign(19, 0xFF);
        changed.starts[18] = 0x3F;
        changed.column_codes.assign(38, 0);
        changed.column_data.assign(150, 0);
        EXPECT_EQ(is_refused(changed.bytes()), more > 0);
      }
    }
  }
}

// A link in front of its row is as far above the least column as is stored; here all of them are.
TEST(HostileCompact, AColumnTooFarAnywhere) {
  for (const int64_t target : highway_targets()) {
    const ForcedTarget forced(target);
    for (uint32_t place = 0; place < 150; ++place) {
      SCOPED_TRACE(testing::Message() << hwy::TargetName(target) << ", link " << place);
      CompactParts parts;
      parts.flags = kCompactAllOnes;
      parts.packets = parts.links = parts.rows = 150;
      parts.base = 10;
      parts.starts.assign(19, 0xFF);
      parts.starts[18] = 0x3F;
      parts.row_codes.assign(38, 0);
      parts.row_data.assign(150, 0);
      parts.column_codes.assign(38, 0);
      parts.column_codes[place / 4] = static_cast<uint8_t>(3 << 2 * (place % 4));
      for (const uint32_t more : {0U, 1U}) {
        const uint32_t above = UINT32_MAX - parts.base + more;
        const auto* bytes = reinterpret_cast<const uint8_t*>(&above);
        parts.column_data.assign(149, 0);
        parts.column_data.insert(parts.column_data.begin() + place, bytes, bytes + 4);
        EXPECT_EQ(is_refused(parts.bytes()), more > 0);
      }
    }
  }
}

// A count of 2^32 is 0 in 32 bits; the sum is stated as if it were.
TEST(HostileCompact, ZeroCountsAnywhere) {
  for (const int64_t target : highway_targets()) {
    const ForcedTarget forced(target);
    for (uint32_t place = 0; place < 149; ++place) {
      SCOPED_TRACE(testing::Message() << hwy::TargetName(target) << ", link " << place);
      CompactParts parts;
      parts.links = 150;
      parts.rows = 1;
      parts.starts.assign(19, 0);
      parts.starts[0] = 1;
      parts.row_codes = parts.row_data = {0};
      parts.column_codes.assign(38, 0);
      parts.column_data.assign(150, 0);
      parts.count_codes.assign(38, 0);
      parts.count_codes[place / 4] = static_cast<uint8_t>(3 << 2 * (place % 4));
      parts.count_codes[149 / 4] |= static_cast<uint8_t>(1 << 2 * (149 % 4));  // 2 packets, so that there are enough
      parts.count_data = {0xFF, 0xFF, 0xFF, 0xFF, 1};
      parts.packets = 150;
      EXPECT_TRUE(is_refused(parts.bytes()));
      parts.count_data[0] = 0xFE;
      parts.packets = 150 + uint64_t{UINT32_MAX};
      EXPECT_FALSE(is_refused(parts.bytes()));
    }
  }
}

}  // namespace
}  // namespace trama
