// Privacy ranges: how they are written, which packets they take, and what their list is called.
#include "modules/support/privacy_ranges.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/scratch_folder.hpp"

namespace trama {
namespace {

constexpr uint64_t kRangesSeed = 20240613;

uint32_t address(const std::string& dotted) {
  in_addr parsed{};
  EXPECT_EQ(inet_pton(AF_INET, dotted.c_str(), &parsed), 1) << dotted;
  return ntohl(parsed.s_addr);
}

std::string dotted(uint32_t value) {
  return std::to_string(value >> 24) + "." + std::to_string(value >> 16 & 255) + "." +
         std::to_string(value >> 8 & 255) + "." + std::to_string(value & 255);
}

tl::expected<PrivacyRanges, Diagnostics> parse(const std::vector<std::string>& texts) {
  std::vector<PrivacyRanges::Entry> entries;
  for (const std::string& text : texts) entries.push_back({text, Place{"list", static_cast<int>(entries.size()) + 1}});
  return PrivacyRanges::parse(entries);
}

PrivacyRanges ranges(const std::vector<std::string>& texts) {
  auto parsed = parse(texts);
  if (!parsed) ADD_FAILURE() << parsed.error()[0].text;
  return parsed ? std::move(*parsed) : PrivacyRanges();
}

TEST(PrivacyRangeText, IsUnderstood) {
  const std::string cases[][2] = {
      {"10.0.0.0/8", "10.0.0.0/8:either\n"},
      {" 10.0.0.0/8\t\r", "10.0.0.0/8:either\n"},
      {"10.0.0.0/8:either", "10.0.0.0/8:either\n"},
      {"10.0.0.0/8:both", "10.0.0.0/8:both\n"},
      {"10.0.0.0/8:source", "10.0.0.0/8:source\n"},
      {"10.0.0.0/8:destination", "10.0.0.0/8:destination\n"},
      {"192.0.2.7", "192.0.2.7/32:either\n"},
      {"192.0.2.7:source", "192.0.2.7/32:source\n"},
      {"192.0.2.6/31", "192.0.2.6/31:either\n"},
      {"0.0.0.0/0", "0.0.0.0/0:either\n"},
      {"255.255.255.255", "255.255.255.255/32:either\n"},
      {"2001:DB8::/32", "2001:db8::/32:either\n"},
      {"2001:db8::/32:both", "2001:db8::/32:both\n"},
      {"2001:db8::1", "2001:db8::1/128:either\n"},
      {"2001:db8::1:source", "2001:db8::1/128:source\n"},
      {"2001:db8:::both", "2001:db8::/128:both\n"},
      {"::1", "::1/128:either\n"},
      {"::", "::/128:either\n"},
      {"::/0:destination", "::/0:destination\n"},
      {"::bed", "::bed/128:either\n"},
      {"64:ff9b::192.0.2.1", "64:ff9b::c000:201/128:either\n"},
  };
  for (const auto& [text, canonical] : cases) {
    const auto parsed = parse({text});
    ASSERT_TRUE(parsed.has_value()) << parsed.error()[0].text;
    EXPECT_EQ(parsed->canonical(), canonical) << text;
  }
}

TEST(PrivacyRangeText, IsRefusedWithAHint) {
  const std::string cases[][3] = {
      {"", "is empty", "10.0.0.0/8"},
      {"10.1.2.3/8", "bits set behind its first 8",
       "write 10.0.0.0/8 for the network, or 10.1.2.3 for the one address"},
      {"10.0.0.1/31", "bits set behind its first 31", "10.0.0.0/31"},
      {"1.0.0.0/0", "bits set behind its first 0", "0.0.0.0/0"},
      {"2001:db8::1/32:both", "bits set behind its first 32", "2001:db8::/32"},
      {"2001:db8::1/127", "bits set behind its first 127", "2001:db8::/127"},
      {"10/8", "does not begin with an address", "all of the address"},
      {"10.0.0/24", "does not begin with an address", "all of the address"},
      {"10.0.0.256", "does not begin with an address", ""},
      {"010.0.0.0/8", "does not begin with an address", ""},
      {"example.org", "does not begin with an address", ""},
      {"/8", "does not begin with an address", ""},
      {"fe80::1%eth0", "does not begin with an address", ""},
      {"10.0.0.0/33", "no prefix length from 0 to 32", ""},
      {"10.0.0.0/", "no prefix length", ""},
      {"10.0.0.0/-1", "no prefix length", ""},
      {"10.0.0.0/-0", "no prefix length", ""},
      {"10.0.0.0/+8", "no prefix length", ""},
      {"10.0.0.0/08", "no prefix length", ""},
      {"10.0.0.0/8/8", "no prefix length", ""},
      {"10.0.0.0/99999999999999999999", "no prefix length", ""},
      {"10.0.0.0/255.0.0.0", "no prefix length", "no mask"},
      {"2001:db8::/129", "no prefix length from 0 to 128", ""},
      {"10.0.0.0/8:", "unknown side", ":source"},
      {"10.0.0.0/8:src", "unknown side", ":source"},
      {"10.0.0.0/8:Both", "unknown side", ""},
      {"10.0.0.1:dst", "unknown side", ""},
      {"2001:db8::1:src", "unknown side", ""},
      {"10.0.0.0/8:both:source", "unknown side", ""},
      {"10.0.0.0/8 10.1.0.0/16", "has blanks in it", "line of its own"},
      {std::string("10.0.0.0\0/8", 11), "has characters that no range has", ""},
      {"10.0.0.0/8\x1b[2J", "has characters that no range has", ""},
      {"::ffff:10.0.0.0/104", "is IPv4 written as IPv6", "write 10.0.0.0/8"},
      {"::ffff:0:0/96", "is IPv4 written as IPv6", "write 0.0.0.0/0"},
  };
  for (const auto& [text, reason, hint] : cases) {
    const auto parsed = parse({text});
    ASSERT_FALSE(parsed.has_value()) << text;
    const Diagnostic& error = parsed.error()[0];
    EXPECT_NE(error.text.find(reason), std::string::npos) << text << ": " << error.text;
    EXPECT_NE(error.hint.find(hint), std::string::npos) << text << ": " << error.hint;
    EXPECT_TRUE(std::all_of(error.text.begin(), error.text.end(), [](char c) { return c >= ' ' && c <= '~'; })) << text;
    EXPECT_EQ(error.place, (Place{"list", 1}));
  }
}

TEST(PrivacyRangeText, IsRefusedWithAllThatIsWrong) {
  const auto parsed = parse({"10.0.0.0/8", "10/8", "192.0.2.0/24", "10.0.0.0/40", "x"});
  ASSERT_FALSE(parsed.has_value());
  ASSERT_EQ(parsed.error().size(), 3u);
  EXPECT_EQ(parsed.error()[0].place.line, 2);
  EXPECT_EQ(parsed.error()[1].place.line, 4);
  EXPECT_EQ(parsed.error()[2].place.line, 5);
}

// A key file may be given for a list, and what a list holds is private.
TEST(PrivacyRangeText, OfAFileIsNeverRepeated) {
  const std::string key = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  const test::ScratchFolder folder;
  const std::string path = folder / "privacy.txt";
  for (const std::string& text :
       {key, std::string("10.9.8.7/8"), std::string("10.9.8.7/33"), std::string("::ffff:10.9.8.0/120"),
        std::string("10.9.8.7:src"), std::string("2001:db8:9::7/64"), std::string("10.9.8.7 10.9.8.6"),
        std::string("10.9.8.7\x01")}) {
    test::write_file(path, text + "\n");
    const auto parsed = PrivacyRanges::parse(PrivacyRanges::read_file(path).value());
    ASSERT_FALSE(parsed.has_value());
    const Diagnostic& error = parsed.error()[0];
    EXPECT_EQ(error.place, (Place{path, 1}));
    for (const char* part : {"0123", "9.8", "10.9", "db8:9"})
      EXPECT_EQ((error.text + error.hint).find(part), std::string::npos) << error.text << "; " << error.hint;
  }
  const auto typed = parse({"x" + key.substr(0, 32) + "g"});
  EXPECT_EQ(typed.error()[0].text, "privacy range does not begin with an address");
  EXPECT_NE(parse({key.substr(0, 31)}).error()[0].text.find(key.substr(0, 31)), std::string::npos);
}

TEST(PrivacyRangeFile, HasARangeALine) {
  const test::ScratchFolder folder;
  const std::string path = folder / "privacy.txt";
  test::write_file(path, std::string("# site\n\n10.0.0.0/8 # inside\r\n  192.0.2.0/24:source  \n#10.1.0.0/16\n\t\nx"));
  const auto entries = PrivacyRanges::read_file(path);
  ASSERT_TRUE(entries.has_value()) << entries.error().text;
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].text, "10.0.0.0/8");
  EXPECT_EQ((*entries)[0].place, (Place{path, 3}));
  EXPECT_EQ((*entries)[1].text, "192.0.2.0/24:source");
  EXPECT_EQ((*entries)[1].place, (Place{path, 4}));
  EXPECT_EQ((*entries)[2].text, "x");
  EXPECT_EQ((*entries)[2].place, (Place{path, 7}));
  EXPECT_EQ(PrivacyRanges::parse(*entries).error()[0].place, (Place{path, 7}));
}

// Without a word for it, an empty file is a mistake: one that is being written, or the wrong one.
TEST(PrivacyRangeFile, WithoutRangesSaysNone) {
  const test::ScratchFolder folder;
  const std::string path = folder / "privacy.txt";
  for (const auto reading : {Reading::first, Reading::again}) {
    for (const char* text : {"", "\n", "# 10.0.0.0/8\n", "#none\n"}) {
      test::write_file(path, std::string(text));
      const auto entries = PrivacyRanges::read_file(path, reading);
      ASSERT_FALSE(entries.has_value()) << text;
      EXPECT_NE(entries.error().hint.find("none"), std::string::npos);
      EXPECT_EQ(entries.error().place, (Place{path, 0}));
    }
    test::write_file(path, std::string("# nothing is private here\n none # yet\n"));
    EXPECT_TRUE(PrivacyRanges::read_file(path, reading).value().empty());
    test::write_file(path, std::string("10.0.0.0/8\nnone\n"));
    EXPECT_FALSE(PrivacyRanges::read_file(path, reading).has_value());
  }
}

TEST(PrivacyRangeFile, IsReadAgainOnlyIfItIsWhole) {
  const test::ScratchFolder folder;
  const std::string path = folder / "privacy.txt";
  const auto again = [](const std::string& name) { return PrivacyRanges::read_file(name, Reading::again); };
  test::write_file(path, std::string("10.0.0.0/8\n192.0.2.0/2"));
  EXPECT_EQ(PrivacyRanges::read_file(path).value().size(), 2u);
  ASSERT_FALSE(again(path));
  EXPECT_NE(again(path).error().text.find("ends inside a line"), std::string::npos);
  test::write_file(path, std::string("10.0.0.0/8\n192.0.2.0/24\n"));
  EXPECT_EQ(again(path).value().size(), 2u);

  // Nobody writes to it: what waits for a writer would hang here.
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& name : {pipe, std::string("/dev/null"), folder.path().string()}) {
    ASSERT_FALSE(again(name)) << name;
    EXPECT_NE(again(name).error().text.find("no regular file"), std::string::npos) << again(name).error().text;
  }
  // Of this file the system says that it has 0 bytes, and then hands out some, as of one that grows.
  ASSERT_FALSE(again("/proc/self/status"));
  EXPECT_NE(again("/proc/self/status").error().text.find("changed while it was read"), std::string::npos);
}

// None of these may pass for an empty list, which would let every packet through.
TEST(PrivacyRangeFile, ThatCantBeReadIsAnError) {
  const test::ScratchFolder folder;
  for (const std::string& path : {(folder / "missing").string(), folder.path().string(), std::string("/dev/zero")}) {
    const auto entries = PrivacyRanges::read_file(path);
    ASSERT_FALSE(entries.has_value()) << path;
    EXPECT_EQ(entries.error().place, (Place{path, 0}));
  }
}

TEST(PrivacyRangeList, IsSortedAndSaysEachRangeOnce) {
  const std::string expected =
      "10.0.0.0/8:either\n10.0.0.0/9:either\n10.0.0.0/9:both\n10.0.0.0/9:source\n10.0.0.0/9:destination\n"
      "10.128.0.0/9:either\n192.0.2.0/24:both\n::1/128:either\n2001:db8::/32:either\n";
  std::vector<std::string> texts = {
      "2001:db8::/32", "10.128.0.0/9",       "10.0.0.0/9",        "::1",
      "10.0.0.0/8",    "10.0.0.0/9:source",  "192.0.2.0/24:both", "10.0.0.0/9:both",
      "10.0.0.0/8",    "10.0.0.0/8:either ", "2001:DB8:0::/32",   "10.0.0.0/9:destination"};
  SCOPED_TRACE(kRangesSeed);
  std::mt19937_64 random(kRangesSeed);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(texts.begin(), texts.end(), random);
    const PrivacyRanges list = ranges(texts);
    ASSERT_EQ(list.canonical(), expected);
    ASSERT_EQ(list.size(), 9u);
  }
  EXPECT_EQ(PrivacyRanges().canonical(), "");
  EXPECT_TRUE(PrivacyRanges().empty());
}

struct Lookup {
  std::vector<std::string> ranges;
  const char *source, *destination;
  bool excluded;
};

const Lookup kLookups[] = {
    {{}, "10.0.0.1", "10.0.0.2", false},
    // The order of the bytes: 10.0.0.0/8 is not 0.0.0.10.
    {{"10.0.0.0/8"}, "10.1.2.3", "198.51.100.1", true},
    {{"10.0.0.0/8"}, "198.51.100.1", "10.1.2.3", true},
    {{"10.0.0.0/8"}, "3.2.1.10", "198.51.100.1", false},
    {{"10.0.0.0/8"}, "9.255.255.255", "11.0.0.0", false},
    {{"10.0.0.0/8"}, "10.255.255.255", "11.0.0.0", true},
    // The longest and the shortest.
    {{"0.0.0.0/0"}, "0.0.0.0", "255.255.255.255", true},
    {{"0.0.0.0/0:both"}, "1.2.3.4", "255.255.255.255", true},
    {{"192.0.2.6/31"}, "192.0.2.6", "1.1.1.1", true},
    {{"192.0.2.6/31"}, "192.0.2.7", "1.1.1.1", true},
    {{"192.0.2.6/31"}, "192.0.2.5", "192.0.2.8", false},
    {{"192.0.2.7"}, "192.0.2.7", "1.1.1.1", true},
    {{"192.0.2.7"}, "192.0.2.6", "192.0.2.8", false},
    {{"0.0.0.0"}, "0.0.0.0", "1.1.1.1", true},
    {{"0.0.0.0"}, "0.0.0.1", "255.255.255.255", false},
    {{"255.255.255.255"}, "1.1.1.1", "255.255.255.255", true},
    {{"255.255.255.255"}, "1.1.1.1", "255.255.255.254", false},
    // Sides.
    {{"10.0.0.0/8:source"}, "10.0.0.1", "1.1.1.1", true},
    {{"10.0.0.0/8:source"}, "1.1.1.1", "10.0.0.1", false},
    {{"10.0.0.0/8:destination"}, "10.0.0.1", "1.1.1.1", false},
    {{"10.0.0.0/8:destination"}, "1.1.1.1", "10.0.0.1", true},
    {{"10.0.0.0/8:both"}, "10.0.0.1", "1.1.1.1", false},
    {{"10.0.0.0/8:both"}, "1.1.1.1", "10.0.0.1", false},
    {{"10.0.0.0/8:both"}, "10.0.0.1", "10.255.0.1", true},
    {{"10.0.0.0/8:both", "192.0.2.0/24:both"}, "10.0.0.1", "192.0.2.1", true},
    {{"10.0.0.0/8:both", "192.0.2.0/24:source"}, "10.0.0.1", "192.0.2.1", false},
    {{"10.0.0.0/8:source", "192.0.2.0/24:destination"}, "192.0.2.1", "10.0.0.1", false},
    // Nested ranges take what any of them takes.
    {{"10.0.0.0/8:source", "10.1.0.0/16"}, "1.1.1.1", "10.1.0.1", true},
    {{"10.0.0.0/8:source", "10.1.0.0/16"}, "1.1.1.1", "10.2.0.1", false},
    {{"10.0.0.0/8:source", "10.1.0.0/16"}, "10.1.0.1", "1.1.1.1", true},
    {{"10.0.0.0/8", "10.1.0.0/16:both"}, "10.1.0.1", "1.1.1.1", true},
    {{"10.0.0.0/8:both", "10.1.2.0/24", "10.1.2.3:source"}, "10.1.3.3", "1.1.1.1", false},
    {{"10.0.0.0/8:both", "10.1.2.0/24", "10.1.2.3:source"}, "10.1.2.4", "1.1.1.1", true},
    // IPv6 ranges match no IPv4 packet.
    {{"::/0", "2001:db8::/32"}, "1.1.1.1", "32.1.13.184", false},
};

TEST(PrivacyRangeLookup, TakesTheRightPackets) {
  for (const Lookup& one : kLookups) {
    const PrivacyRanges list = ranges(one.ranges);
    EXPECT_EQ(list.excludes(address(one.source), address(one.destination)), one.excluded)
        << list.canonical() << one.source << " -> " << one.destination;
  }
}

// The rules as the header states them, range by range.
struct PlainRange {
  uint32_t first, last;
  std::string side;
  bool has(uint32_t value) const { return first <= value && value <= last; }
};

bool plainly_excluded(const std::vector<PlainRange>& list, uint32_t source, uint32_t destination) {
  bool excluded = false, source_in_both = false, destination_in_both = false;
  for (const PlainRange& range : list) {
    const bool either = range.side == "either";
    excluded |= (either || range.side == "source") && range.has(source);
    excluded |= (either || range.side == "destination") && range.has(destination);
    source_in_both |= range.side == "both" && range.has(source);
    destination_in_both |= range.side == "both" && range.has(destination);
  }
  return excluded || (source_in_both && destination_in_both);
}

// Addresses at and around the ends of ranges, where mistakes show, and anywhere.
uint32_t interesting_address(const std::vector<PlainRange>& list, std::mt19937_64& random) {
  if (list.empty() || random() % 4 == 0) return static_cast<uint32_t>(random());
  const PlainRange& range = list[random() % list.size()];
  const uint32_t end = random() % 2 != 0 ? range.first : range.last;
  return end + static_cast<uint32_t>(random() % 5) - 2;
}

TEST(PrivacyRangeLookup, IsThatOfThePlainRules) {
  constexpr const char* kSides[] = {"either", "both", "source", "destination"};
  for (uint64_t seed = kRangesSeed; seed < kRangesSeed + 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const size_t count = random() % 3 == 0 ? random() % 4 : random() % 300;
    // Few different upper halves, so that ranges nest and crowd in some /16s and /24s.
    const uint32_t spread = random() % 2 != 0 ? 0xFFFFFFFFu : 0xC00003FFu;
    std::vector<PlainRange> plain;
    std::vector<std::string> texts;
    for (size_t i = 0; i < count; ++i) {
      const auto length = static_cast<uint32_t>(random() % 8 == 0 ? random() % 33 : 12 + random() % 21);
      const uint32_t others = length == 0 ? 0xFFFFFFFFu : (uint32_t{1} << (32 - length)) - 1;
      const uint32_t first = static_cast<uint32_t>(random()) & spread & ~others;
      plain.push_back({first, first | others, kSides[random() % 4]});
      texts.push_back(dotted(first) + "/" + std::to_string(length) + ":" + plain.back().side);
    }
    const PrivacyRanges list = ranges(texts);
    for (int packet = 0; packet < 2000; ++packet) {
      const uint32_t source = interesting_address(plain, random), destination = interesting_address(plain, random);
      ASSERT_EQ(list.excludes(source, destination), plainly_excluded(plain, source, destination))
          << dotted(source) << " -> " << dotted(destination) << " in\n"
          << list.canonical();
    }
  }
}

TEST(PrivacyRangeLookup, MarksArraysOfAnyLength) {
  const PrivacyRanges list = ranges({"128.0.0.0/1:source", "64.0.0.0/2:both"});
  SCOPED_TRACE(kRangesSeed);
  std::mt19937_64 random(kRangesSeed);
  for (size_t n = 0; n <= 70; ++n) {
    const std::unique_ptr<uint32_t[]> source(new uint32_t[n]), destination(new uint32_t[n]);
    const std::unique_ptr<uint8_t[]> excluded(new uint8_t[n]);
    size_t expected = 0;
    for (size_t i = 0; i < n; ++i) {
      source[i] = static_cast<uint32_t>(random());
      destination[i] = static_cast<uint32_t>(random());
      excluded[i] = 7;
      expected += list.excludes(source[i], destination[i]);
    }
    ASSERT_EQ(list.mark(source.get(), destination.get(), n, excluded.get()), expected);
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(excluded[i], uint8_t{list.excludes(source[i], destination[i])});
  }
}

// Every address of a /16 in which each second address, /24 and so on is a range of its own: all runs of all nodes.
TEST(PrivacyRangeLookup, TakesCrowdedNetworks) {
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < 256; i += 2) texts.push_back("10.1.7." + std::to_string(i));
  for (uint32_t i = 1; i < 256; i += 2) texts.push_back("10.1." + std::to_string(i) + ".0/25");
  const PrivacyRanges list = ranges(texts);
  for (uint32_t host = 0; host < 65536; ++host) {
    const uint32_t third = host >> 8, fourth = host & 255;
    const bool expected = (third == 7 && fourth % 2 == 0) || (third % 2 == 1 && fourth < 128);
    ASSERT_EQ(list.excludes(0x0A010000 | host, 0), expected) << dotted(host);
  }
}

}  // namespace
}  // namespace trama
