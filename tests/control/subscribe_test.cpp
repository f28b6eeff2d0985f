#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "control/verbs.hpp"
#include "libclient/formats/archive_reader.hpp"
#include "libclient/formats/archive_verify.hpp"
#include "libclient/formats/paths.hpp"
#include "libclient/formats/quantities.hpp"
#include "tests/control/said.hpp"
#include "tests/libclient/stream_feeds.hpp"

namespace trama {
namespace {

using test::Said;
using testing::HasSubstr;

Said subscribe(const Arguments& arguments) {
  return test::listen([&] { return subscribe_verb(arguments); });
}

class Subscribe : public ::testing::Test {
 protected:
  void fill(std::initializer_list<uint64_t> numbers) {
    std::filesystem::create_directories(folder_ / "in");
    for (const uint64_t seq : numbers) feed_.publish(seq);
  }
  const test::ScratchFolder folder_;
  test::FolderFeed feed_{folder_ / "in"};
  const std::string url_ = "file://" + (folder_ / "in").string();
};

TEST_F(Subscribe, ALineForEachWindow) {
  fill({0, 1, 2});
  const Said said = subscribe({url_, "--number", "0", "--no-follow"});
  EXPECT_EQ(said.status, kDone) << said.err;
  ASSERT_EQ(said.lines().size(), 4u) << said.out;
  EXPECT_THAT(said.lines()[0], HasSubstr("n_links"));
  EXPECT_THAT(said.lines()[1], HasSubstr("0 2023-11-14T22:13:20"));
  EXPECT_EQ(said.err, "");
}

TEST_F(Subscribe, JsonHasTheQuantitiesOfInspect) {
  fill({0, 1});
  const Said said = subscribe({"--json", url_, "--last", "1", "--no-follow"});
  EXPECT_EQ(said.status, kDone) << said.err;
  ASSERT_EQ(said.lines().size(), 1u);
  const auto line = nlohmann::json::parse(said.lines()[0]);
  const auto sample = test::sample_window(1);
  const Quantities right = quantities(sample->arrays.matrix());
  EXPECT_EQ(line["seq"], 1);
  EXPECT_EQ(line["n_packets"], right.n_packets);
  EXPECT_EQ(line["n_links"], right.n_links);
  EXPECT_EQ(line["max_fan_in"], right.max_fan_in);
  EXPECT_EQ(line["sensor"], "roof");
  EXPECT_EQ(line["verdicts"]["ipv6"], 2);
  EXPECT_EQ(line["closed_by"], "full");
  EXPECT_EQ(line["missed"], 0);
}

TEST_F(Subscribe, MissedWindowsAreSaidAndGiveStatus3) {
  fill({0, 1, 4});
  const Said said = subscribe({"--json", url_, "--number", "0", "--no-follow"});
  EXPECT_EQ(said.status, kLossy);
  EXPECT_EQ(nlohmann::json::parse(said.lines().back())["missed"], 2);
  EXPECT_THAT(said.err, HasSubstr("3 windows came, 2 were missed"));
}

TEST_F(Subscribe, CountAndTimeoutEndIt) {
  fill({0, 1, 2});
  const Said counted = subscribe({url_, "--number", "0", "--count", "2"});
  EXPECT_EQ(counted.status, kDone);
  EXPECT_EQ(counted.lines().size(), 3u);
  EXPECT_EQ(subscribe({url_, "--number", "0", "--timeout", "0.05"}).lines().size(), 4u);
  const Said nothing = subscribe({url_, "--timeout", "0.05"});
  EXPECT_EQ(nothing.status, kFailed);
  EXPECT_THAT(nothing.err, HasSubstr("no window came"));
}

TEST_F(Subscribe, ArchivesAreWrittenAgain) {
  fill({0, 1, 2});
  const std::string out = (folder_ / "out").string();
  const Said said = subscribe({url_, "-w", out, "--windows-per-archive", "2", "--number", "0", "--no-follow"});
  EXPECT_EQ(said.status, kDone) << said.err;
  EXPECT_EQ(said.out, "");
  const auto archives = expand_archives(out);
  ASSERT_TRUE(archives);
  ASSERT_EQ(archives->size(), 2u);
  uint64_t seq = 0;
  for (const auto& path : *archives) {
    EXPECT_TRUE(verify_archive(path).ok());
    const auto manifest = load_manifest_of(path);
    auto reader = ArchiveReader::open(path);
    ASSERT_TRUE(manifest && *manifest && reader);
    EXPECT_EQ((*manifest)->header.sensor, "roof");
    for (const ManifestWindow& window : (*manifest)->windows) {
      Member member;
      ASSERT_TRUE(reader->next(member).value_or(false));
      EXPECT_EQ(window.seq, seq);
      EXPECT_EQ(member.bytes, test::sample_window(seq++)->bytes);
    }
  }
  EXPECT_EQ(seq, 3u);
}

TEST_F(Subscribe, CompactWindowsOfAPublisherBecomeBlobs) {
  const auto url = parse_stream_url("trama+ipc://" + (folder_ / "socket").string()).value();
  test::PublisherThread publisher(StreamConfig{}, url);
  for (uint64_t seq = 0; seq < 3; ++seq)
    EXPECT_TRUE(publisher.publish(test::sample_window(seq, 80, EnvelopeEncoding::compact)->envelope));
  const std::string out = (folder_ / "out").string();
  const Said said = subscribe({publisher.url().text(), "-w", out, "--last", "3", "--count", "3", "-q"});
  EXPECT_EQ(said.status, kDone) << said.err;
  EXPECT_EQ(said.err, "");
  const auto archives = expand_archives(out);
  ASSERT_TRUE(archives);
  const VerifyReport report = verify_archive(archives->front());
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.windows, 3u);
  EXPECT_EQ(report.packets, 240u);
}

TEST_F(Subscribe, DamagedArchivesAreALoss) {
  fill({0});
  feed_.write(1, [](std::vector<uint8_t>& tar, Manifest&) { tar[700] ^= 1; });
  feed_.publish(2);
  const Said said = subscribe({url_, "--json", "--number", "0", "--no-follow"});
  EXPECT_EQ(said.status, kLossy);
  ASSERT_EQ(said.lines().size(), 2u);
  EXPECT_EQ(nlohmann::json::parse(said.lines()[1])["missed"], 1);
  EXPECT_THAT(said.err, HasSubstr("1 could not be read"));
  EXPECT_THAT(said.err, HasSubstr("trama verify"));
}

TEST_F(Subscribe, AFileThatIsNoArchiveIsAFailureWithItsReason) {
  test::write_file(folder_ / "text", std::string("no archive\n"));
  const std::string text = (folder_ / "text").string();
  Said said = subscribe({"file://" + text, "--no-follow"});
  EXPECT_EQ(said.status, kFailed);
  EXPECT_THAT(said.err, HasSubstr("error: " + text + ": it has no manifest"));
  EXPECT_THAT(said.err, HasSubstr("trama verify"));
  fill({0});
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "in"))
    if (entry.path().extension() == ".tar") test::write_file(entry.path(), std::string("no archive\n"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "in"))
    if (entry.path().extension() == ".tar") said = subscribe({"file://" + entry.path().string(), "--no-follow"});
  EXPECT_EQ(said.status, kFailed);
  EXPECT_EQ(said.out, "");
  EXPECT_THAT(said.err, HasSubstr("error: "));
}

TEST_F(Subscribe, WhatCanNotBeIsRefused) {
  fill({});
  const std::pair<Arguments, const char*> cases[] = {
      {{}, "URL"},
      {{"http://127.0.0.1"}, "not the URL"},
      {{"file:///nonexistent/folder"}, "neither a folder nor a file"},
      {{url_, "--last", "1", "--number", "1"}, "exclude each other"},
      {{url_, "--stream-key", "/nonexistent"}, "go together"},
      {{url_, "--stream-key", "/nonexistent"}, "the one is the publisher's public key"},
      {{url_, "-w", "/dev/null/x"}, "not a folder"},
  };
  for (const auto& [arguments, what] : cases) {
    const Said said = subscribe(arguments);
    EXPECT_EQ(said.status, kMisused) << what;
    EXPECT_THAT(said.err, HasSubstr(what));
  }
}

}  // namespace
}  // namespace trama
