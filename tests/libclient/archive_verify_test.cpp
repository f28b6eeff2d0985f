#include "libclient/formats/archive_verify.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/libclient/sample_archive.hpp"
#include "tests/support/watchdog.hpp"

namespace trama {
namespace {

using test::kArchiveName;
using test::sample_archive;
using test::SampleArchive;
using test::ScratchFolder;
using test::write_file;

VerifyReport verify(const std::vector<uint8_t>& tar, const std::string* manifest) {
  const ScratchFolder folder;
  write_file(folder / kArchiveName, tar);
  if (manifest != nullptr) write_file(folder / (std::string(kArchiveName) + ".json"), *manifest);
  return verify_archive(folder / kArchiveName);
}

VerifyReport verify(const std::vector<uint8_t>& tar, const Manifest& manifest) {
  const std::string text = to_json(manifest);
  return verify(tar, &text);
}

bool says(const std::vector<std::string>& texts, const std::string& part) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const auto& text) { return text.find(part) != std::string::npos; });
}

TEST(Verify, WholeArchive) {
  const SampleArchive sample = sample_archive(5);
  const VerifyReport report = verify(sample.finished(), sample.manifest);
  EXPECT_TRUE(report.ok()) << report.problems[0];
  EXPECT_TRUE(report.notes.empty());
  EXPECT_EQ(report.windows, 5U);
  EXPECT_EQ(report.packets, 4 * 500U + 321U);
  uint64_t links = 0;
  for (const Matrix& matrix : sample.matrices) links += matrix.links();
  EXPECT_EQ(report.links, links);
}

// The layout of the CAIDA/ILANDS tools: neither manifest nor end blocks.
TEST(Verify, WithoutManifest) {
  const SampleArchive sample = sample_archive(3);
  const VerifyReport report = verify(sample.tar, nullptr);
  EXPECT_TRUE(report.ok());
  EXPECT_FALSE(report.has_manifest);
  EXPECT_TRUE(says(report.notes, "no manifest"));
  EXPECT_TRUE(says(report.notes, "end blocks"));
  EXPECT_EQ(report.windows, 3U);
}

TEST(Verify, ArchivesThatAreWrong) {
  const SampleArchive sample = sample_archive(3);
  const auto good = sample.finished();
  const auto with = [&](auto change) {
    auto tar = good;
    change(tar);
    return tar;
  };
  const struct {
    std::vector<uint8_t> tar;
    const char* said;
  } cases[] = {
      {sample.tar, "end blocks are missing"},
      {with([](auto& tar) { tar.resize(tar.size() - 512); }), "end blocks are cut"},
      {with([](auto& tar) { tar.back() = 1; }), "follows the end blocks"},
      {with([&](auto& tar) { tar.resize(sample.content_end[1] - 9); }), "1.grb"},
      {with([&](auto& tar) { tar[sample.content_end[1] - 1] ^= 1; }), "1.grb: its checksum"},
      {with([&](auto& tar) { tar[sample.content_end[0]] = 1; }), "padding of member 0.grb"},
      {with([](auto& tar) { tar[0] = '7'; }), "plain ustar header at byte 0"},
      {with([](auto& tar) { tar[263] = ' '; }), "plain ustar header at byte 0"},
      {{}, "is empty"},
  };
  for (const auto& wrong : cases) {
    SCOPED_TRACE(wrong.said);
    const VerifyReport report = verify(wrong.tar, sample.manifest);
    EXPECT_FALSE(report.ok());
    EXPECT_TRUE(says(report.problems, wrong.said)) << (report.problems.empty() ? "nothing" : report.problems[0]);
  }
  // Goes on after a window that doesn't open.
  const auto damaged = with([&](auto& tar) { tar[600] ^= 0xff; });
  EXPECT_EQ(verify(damaged, sample.manifest).windows, 2U);
}

TEST(Verify, ManifestsThatDisagree) {
  const SampleArchive sample = sample_archive(3);
  const auto with = [&](auto change) {
    Manifest manifest = sample.manifest;
    change(manifest);
    return manifest;
  };
  const struct {
    Manifest manifest;
    const char* said;
  } cases[] = {
      {with([](auto& m) { m.windows.pop_back(); }), "3 members, its manifest 2"},
      {with([](auto& m) { m.windows.push_back(m.windows[0]); }), "3 members, its manifest 4"},
      {with([](auto& m) { ++m.windows[1].bytes; }), "1.grb: its length"},
      {with([](auto& m) { m.windows[1].xxh3_128.back() ^= 1; }), "1.grb: its checksum"},
      {with([](auto& m) { ++m.windows[2].packets, ++m.windows[2].verdicts.counted; }), "2.grb: its packets"},
      {with([](auto& m) { ++m.windows[2].links; }), "2.grb: its links"},
      {with([](auto& m) { ++m.windows[2].verdicts.counted; }), "2.grb: the manifest counts"},
      {with([](auto& m) { m.windows[2].closed_by = ClosedBy::full; }), "2.grb: a full window"},
      {with([](auto& m) { std::swap(m.windows[0], m.windows[1]); }), "member order"},
      {with([](auto& m) { m.windows[1].seq = 0; }), "1.grb: window numbers"},
  };
  for (const auto& wrong : cases) {
    SCOPED_TRACE(wrong.said);
    const VerifyReport report = verify(sample.finished(), wrong.manifest);
    EXPECT_TRUE(says(report.problems, wrong.said)) << (report.problems.empty() ? "nothing" : report.problems[0]);
  }
  const std::string text = "{";
  EXPECT_TRUE(says(verify(sample.finished(), &text).problems, "not JSON"));

  const VerifyReport gap = verify(sample.finished(), with([](auto& m) { m.windows[2].seq = 5; }));
  EXPECT_TRUE(gap.ok());
  EXPECT_TRUE(says(gap.notes, "windows 2 to 4 were not written"));
}

TEST(Verify, SingleBlobAndNothing) {
  const ScratchFolder folder;
  const SampleArchive sample = sample_archive(1);
  write_file(folder / "0.grb", std::span(sample.tar).subspan(512, sample.content_end[0] - 512));
  const VerifyReport report = verify_archive(folder / "0.grb");
  EXPECT_TRUE(report.ok()) << report.problems[0];
  EXPECT_EQ(report.packets, 321U);
  EXPECT_TRUE(says(report.notes, "single blob"));
  EXPECT_FALSE(verify_archive(folder / "absent.tar").ok());
}

TEST(Verify, FifosInFoldersAreNotWaitedFor) {
  const Watchdog watchdog;
  const ScratchFolder folder;
  ASSERT_EQ(mkfifo((folder / "a.tar").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo((folder / "a.tar.json").c_str(), 0600), 0);
  const VerifyReport report = verify_archive(folder / "a.tar", SpecialFiles::refused);
  EXPECT_TRUE(says(report.problems, "a.tar: is not a file"));
  EXPECT_TRUE(says(report.problems, "a.tar.json: is not a file"));
}

}  // namespace
}  // namespace trama
