#include "libclient/formats/manifest.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/libclient/sample_archive.hpp"

namespace trama {
namespace {

using test::sample_archive;
using test::ScratchFolder;
using test::write_file;

TEST(Manifest, ReadsBackWhatItWrites) {
  for (const size_t windows : {size_t{0}, size_t{1}, size_t{3}}) {
    SCOPED_TRACE(windows);
    Manifest manifest = sample_archive(windows).manifest;
    for (const bool recovered : {false, true}) {
      manifest.recovered = recovered;
      const auto read = parse_manifest(to_json(manifest));
      ASSERT_TRUE(read) << read.error().text;
      EXPECT_EQ(*read, manifest);
    }
  }
}

// The text itself is a format: people diff it and tools grep it.
TEST(Manifest, IsThisText) {
  Manifest manifest;
  manifest.header = {"roof \"A\"", "ab", 131072, "numeric", "lz4", "none"};
  ManifestWindow window;
  window.member = "0.grb";
  window.xxh3_128 = std::string(32, '0');
  window.first_ns = -5;
  window.closed_by = ClosedBy::exclusions;
  manifest.windows = {window, window};
  manifest.tail.cut = 7;
  const std::string line =
      R"({"seq":0,"member":"0.grb","bytes":0,"xxh3_128":"00000000000000000000000000000000","packets":0,"links":0,)"
      R"("first_ns":-5,"last_ns":0,"closed_by":"exclusions","key":"","exclusions":"",)"
      R"("verdicts":{"counted":0,"excluded":0,"filtered":0,"ipv6":0,"not_ip":0,"malformed":0,"cut":0,"unknown_link":0},)"
      R"("dropped":{"kernel":0,"nic":0,"ring":0}})";
  EXPECT_EQ(to_json(manifest),
            "{\n"
            "  \"format\": \"trama-manifest/1\",\n"
            "  \"sensor\": \"roof \\\"A\\\"\",\n"
            "  \"graph\": \"ab\",\n"
            "  \"window_packets\": 131072,\n"
            "  \"index_order\": \"numeric\",\n"
            "  \"compression\": \"lz4\",\n"
            "  \"anonymization\": \"none\",\n"
            "  \"windows\": [\n    " +
                line + ",\n    " + line +
                "\n  ],\n"
                "  \"tail\": {\"verdicts\": {\"counted\":0,\"excluded\":0,\"filtered\":0,\"ipv6\":0,\"not_ip\":0,"
                "\"malformed\":0,\"cut\":7,\"unknown_link\":0}}\n"
                "}\n");
}

TEST(Manifest, LargeCountsStay) {
  Manifest manifest = sample_archive(1).manifest;
  manifest.windows[0].packets = std::numeric_limits<uint64_t>::max();
  manifest.windows[0].first_ns = std::numeric_limits<int64_t>::min();
  manifest.windows[0].last_ns = std::numeric_limits<int64_t>::max();
  const auto read = parse_manifest(to_json(manifest));
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(*read, manifest);
}

TEST(Manifest, NotUtf8) {
  Manifest manifest = sample_archive(1).manifest;
  manifest.header.sensor = "caf\xe9";
  const auto read = parse_manifest(to_json(manifest));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->header.sensor, "caf\xef\xbf\xbd");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Manifest, ErrorsNameTheKey) {
  const std::string good = to_json(sample_archive(2).manifest);
  const struct {
    std::string from, to, named;
  } cases[] = {
      {"trama-manifest/1", "trama-manifest/2", "trama-manifest/1"},
      {"\"sensor\": \"roof\"", "\"sensor\": 7", "manifest.sensor"},
      {"\"window_packets\": 500", "\"window_packets\": -500", "window_packets"},
      {"\"window_packets\": 500", "\"window_packets\": 500.5", "window_packets"},
      {"\"seq\":1,", "", "windows[1].seq is missing"},
      {"\"member\":\"1.grb\"", "\"member\":null", "windows[1].member"},
      {"\"closed_by\":\"end\"", "\"closed_by\":\"whim\"", "closed_by"},
      {"\"ipv6\":1", "\"ipv6\":\"1\"", "windows[1].verdicts.ipv6"},
      {"\"first_ns\":1700000000000000000", "\"first_ns\":18446744073709551615", "windows[0].first_ns"},
      {"\"ring\":0", "\"rung\":0", "windows[0].dropped.ring is missing"},
      {"\"xxh3_128\":\"", "\"xxh3_128\":\"X", "xxh3_128"},
      {"\"tail\"", "\"head\"", "tail is missing"},
      {"\"windows\": [", "\"windows\": 5, \"others\": [", "windows is not a list"},
      {"{", "[", "JSON"},
      {"}\n}", "}", "JSON"},
  };
  for (const auto& wrong : cases) {
    SCOPED_TRACE(wrong.named);
    const auto read = parse_manifest(replaced(good, wrong.from, wrong.to));
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().text.find(wrong.named), std::string::npos) << read.error().text;
  }
  EXPECT_FALSE(parse_manifest(""));
  EXPECT_FALSE(parse_manifest("[]"));
  EXPECT_FALSE(parse_manifest(std::string(1'000'000, '[')));
  EXPECT_TRUE(parse_manifest(replaced(good, "\"sensor\"", "\"later\": {}, \"sensor\"")));
}

TEST(Journal, EveryCutKeepsTheWholeLines) {
  const auto sample = sample_archive(4);
  const std::string journal = sample.journal();
  for (size_t length = 0; length <= journal.size(); length += 3) {
    const std::string cut = journal.substr(0, length);
    const auto lines = static_cast<size_t>(std::count(cut.begin(), cut.end(), '\n'));
    const auto read = parse_journal(cut);
    ASSERT_EQ(read.has_value(), lines > 0) << length;
    if (lines == 0) continue;
    ASSERT_EQ(read->windows.size(), lines - 1) << length;
    EXPECT_EQ(read->header, sample.manifest.header);
    EXPECT_TRUE(std::equal(read->windows.begin(), read->windows.end(), sample.manifest.windows.begin()));
  }
}

TEST(Journal, StopsAtTheFirstBadLine) {
  const auto sample = sample_archive(3);
  std::string journal = to_journal_header(sample.manifest.header) + to_journal_line(sample.manifest.windows[0]);
  journal += std::string(300, '\0') + "\n" + to_journal_line(sample.manifest.windows[1]);
  const auto read = parse_journal(journal);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->windows.size(), 1U);
  EXPECT_FALSE(parse_journal(to_journal_line(sample.manifest.windows[0])));
}

TEST(Manifest, HostileTextNeverBreaksIt) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto sample = sample_archive(2);
  const std::string texts[] = {to_json(sample.manifest), sample.journal()};
  for (size_t i = 0; i < 1500; ++i) {
    std::string text = texts[i % 2];
    for (size_t change = random() % 4; change-- > 0;) text[random() % text.size()] = static_cast<char>(random());
    if (random() % 4 == 0) text.resize(random() % text.size());
    parse_manifest(text);
    parse_journal(text);
  }
}

// The first is the published value for no bytes, in the order in which xxh128sum prints it.
TEST(Checksum, IsXxh128sums) {
  EXPECT_EQ(xxh3_128_hex({}), "99aa06d3014798d86001c324468d497f");
  const std::string text = "trama";
  EXPECT_EQ(xxh3_128_hex({reinterpret_cast<const uint8_t*>(text.data()), text.size()}),
            "99a67982e854960dbc52972f95f40701");
}

// Brackets cost the parser more memory than they take themselves.
TEST(Manifest, NoDeeperThanItsWindows) {
  const std::string good = to_json(sample_archive(2).manifest);
  const auto nested = [&](size_t levels) {
    return replaced(good, "\"sensor\"",
                    "\"later\": " + std::string(levels, '[') + std::string(levels, ']') + ", \"sensor\"");
  };
  EXPECT_TRUE(parse_manifest(nested(4)));
  const auto read = parse_manifest(nested(5));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().text.find("nested too deeply"), std::string::npos) << read.error().text;
  EXPECT_FALSE(parse_journal(std::string(6, '[') + std::string(6, ']') + "\n"));
}

TEST(Manifest, NoLongerThanItsArchiveAllows) {
  const auto sample = sample_archive(3);
  EXPECT_LT(to_json(sample.manifest).size(), max_manifest_bytes(sample.tar.size()));
  const ScratchFolder folder;
  write_file(folder / "a.tar", sample.tar);
  EXPECT_FALSE(load_manifest_of(folder / "a.tar")->has_value());
  const std::string text = to_json(sample.manifest);
  write_file(folder / "a.tar.json", text);
  const auto loaded = load_manifest_of(folder / "a.tar");
  ASSERT_TRUE(loaded && loaded->has_value());
  EXPECT_EQ(**loaded, sample.manifest);
  write_file(folder / "a.tar.json", text + std::string(max_manifest_bytes(sample.tar.size()), ' '));
  const auto padded = load_manifest_of(folder / "a.tar");
  ASSERT_FALSE(padded);
  EXPECT_NE(padded.error().text.find("a.tar.json: is too long"), std::string::npos) << padded.error().text;
}

// Windows of one link in an archive that is compressed: the most manifest for the least archive.
TEST(Manifest, TheCapLeavesRoom) {
  const size_t window_bytes = to_json(sample_archive(2).manifest).size() - to_json(sample_archive(1).manifest).size();
  for (const uint64_t windows : {uint64_t{1}, uint64_t{64}, uint64_t{100'000}})
    EXPECT_GT(max_manifest_bytes(windows * 2 * 512 / 4), windows * window_bytes) << windows;
}

}  // namespace
}  // namespace trama
