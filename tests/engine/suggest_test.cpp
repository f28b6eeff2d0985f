#include "engine/suggest.hpp"

#include <gtest/gtest.h>

#include <random>

namespace trama {
namespace {

using Names = std::vector<std::string>;

TEST(Suggest, Table) {
  struct Case {
    const char* wrong;
    Names names;
    const char* nearest;  // null: none is near
  };
  const Case cases[] = {
      {"anonymise", {"analyze", "anonymize"}, "anonymize"},
      {"replica", {"kind", "replicas", "cores"}, "replicas"},
      {"fiels", {"field_of_view", "files"}, "files"},  // two neighbours swapped
      {"biuld", {"build", "bind"}, "build"},
      {"Window-Packets", {"window_packets"}, "window_packets"},
      {"ab", {"ba"}, "ba"},
      {"kin", {"kind"}, "kind"},
      {"cores", {"cure"}, nullptr},
      {"pcap", {"dpdk", "null"}, nullptr},
      {"x", {"y"}, nullptr},  // a letter for a letter is no likeness
      {"", {"a", "ab", ""}, nullptr},
      {"files", {}, nullptr},
      {"stamp", {"stomp", "stump"}, "stomp"},  // the first of equals
      {"stump", {"stamps", "stump"}, "stump"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.wrong);
    const auto found = nearest(c.wrong, c.names);
    EXPECT_EQ(found.has_value(), c.nearest != nullptr);
    if (found && c.nearest) {
      EXPECT_EQ(*found, c.nearest);
    }
  }
}

TEST(Suggest, AMillionLettersTakeNoTime) { EXPECT_FALSE(nearest(std::string(1000000, 'a'), {"archive"})); }

TEST(Suggest, OneMistakeInALongNameIsAlwaysForgiven) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  const auto letter = [&] { return static_cast<char>('a' + below(26)); };
  for (int round = 0; round < 500; ++round) {
    std::string name;
    for (size_t n = 4 + below(12); n > 0; --n) name += letter();
    std::string wrong = name;
    const size_t at = below(name.size() - 1);
    switch (below(4)) {
      case 0: wrong.erase(at, 1); break;
      case 1: wrong.insert(at, 1, letter()); break;
      case 2: wrong[at] = letter(); break;
      default: std::swap(wrong[at], wrong[at + 1]);
    }
    EXPECT_EQ(nearest(wrong, {name}), name) << wrong;
  }
}

TEST(Suggest, Hints) {
  EXPECT_EQ(suggestion("kin", "it takes", {"kind", "cores"}), "did you mean `kind`? it takes: kind, cores");
  EXPECT_EQ(suggestion("zzz", "it takes", {"kind", "cores"}), "it takes: kind, cores");
}

}  // namespace
}  // namespace trama
