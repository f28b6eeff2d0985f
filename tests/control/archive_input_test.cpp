#include "control/archive_input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/libclient/sample_archive.hpp"
#include "tests/support/watchdog.hpp"

namespace trama {
namespace {

using test::ScratchFolder;
using test::write_file;

struct Read {
  std::vector<uint64_t> seqs;
  std::vector<std::string> members;
  std::vector<Matrix> matrices;
  int status = 0;
  bool mixed_orders = false, mixed_keys = false;
  std::optional<std::string> index_order;
};

Read read_all(const std::vector<std::string>& paths, size_t most = SIZE_MAX) {
  testing::internal::CaptureStderr();
  Read read;
  ArchiveInput input(paths);
  input.each([&](ArchivedWindow& window) {
    read.seqs.push_back(window.seq);
    read.members.push_back(window.member);
    read.matrices.push_back(std::move(window.matrix));
    return read.seqs.size() < most;
  });
  read.status = input.status();
  read.mixed_orders = input.has_mixed_index_orders();
  read.mixed_keys = input.has_mixed_keys();
  read.index_order = input.index_order();
  testing::internal::GetCapturedStderr();
  return read;
}

class ArchiveInputTest : public testing::Test {
 protected:
  // An archive whose window numbers begin at `first_seq`.
  void write_archive(const std::string& name, uint64_t first_seq, bool with_manifest = true) {
    for (ManifestWindow& window : sample_.manifest.windows) window.seq = first_seq++;
    write_file(folder_ / name, sample_.finished());
    if (with_manifest) write_file(folder_ / (name + ".json"), to_json(sample_.manifest));
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  const ScratchFolder folder_;
  test::SampleArchive sample_ = test::sample_archive(3);
};

TEST_F(ArchiveInputTest, ReadsAFolderInOrderWithTheNumbersOfTheManifests) {
  write_archive("a.tar", 7);
  write_archive("b.tar", 10);
  const Read read = read_all({folder_.path().string()});
  EXPECT_THAT(read.seqs, testing::ElementsAre(7, 8, 9, 10, 11, 12));
  EXPECT_THAT(read.members, testing::ElementsAre("0.grb", "1.grb", "2.grb", "0.grb", "1.grb", "2.grb"));
  ASSERT_EQ(read.matrices.size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(read.matrices[i], sample_.matrices[i % 3]);
  EXPECT_EQ(read.status, 0);
  EXPECT_EQ(read.index_order, "numeric");
  EXPECT_FALSE(read.mixed_orders || read.mixed_keys);
}

TEST_F(ArchiveInputTest, CountsWindowsWhereThereIsNoManifest) {
  write_archive("a.tar", 0, false);
  write_archive("b.tar", 0, false);
  const Read read = read_all({at("a.tar"), at("b.tar")});
  EXPECT_THAT(read.seqs, testing::ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(read.index_order, std::nullopt);
  EXPECT_EQ(read.status, 0);
}

TEST_F(ArchiveInputTest, GoesOnBehindWhatCantBeRead) {
  write_archive("a.tar", 0);
  write_file(folder_ / "bad.tar", std::string(2000, 'x'));
  const Read some = read_all({at("bad.tar"), at("missing.tar"), at("a.tar")});
  EXPECT_EQ(some.seqs.size(), 3u);
  EXPECT_EQ(some.status, 3);
  const Read none = read_all({at("bad.tar"), at("missing.tar")});
  EXPECT_EQ(none.seqs.size(), 0u);
  EXPECT_EQ(none.status, 1);
}

TEST_F(ArchiveInputTest, ADamagedWindowCostsThatWindow) {
  sample_.tar[512] ^= 1;  // in the length that the first blob states
  write_archive("a.tar", 0);
  const Read read = read_all({at("a.tar")});
  EXPECT_THAT(read.seqs, testing::ElementsAre(1, 2));
  EXPECT_EQ(read.status, 3);
}

TEST_F(ArchiveInputTest, StopsWhenTold) {
  write_archive("a.tar", 0);
  EXPECT_EQ(read_all({at("a.tar"), at("a.tar")}, 2).seqs.size(), 2u);
}

TEST_F(ArchiveInputTest, NoticesWhatCantBeSummed) {
  write_archive("a.tar", 0);
  sample_.manifest.windows[1].key = "fedcba9876543210";
  write_archive("b.tar", 3);
  EXPECT_TRUE(read_all({at("b.tar")}).mixed_keys);
  EXPECT_FALSE(read_all({at("b.tar")}).mixed_orders);
  sample_.manifest.header.index_order = "raw";
  write_archive("c.tar", 3);
  EXPECT_TRUE(read_all({at("a.tar"), at("c.tar")}).mixed_orders);
}

TEST_F(ArchiveInputTest, AFifoInPlaceOfAnArchiveIsNotWaitedFor) {
  const Watchdog watchdog;
  write_archive("a.tar", 0);
  write_archive("b.tar", 3);
  testing::internal::CaptureStderr();
  ArchiveInput input({folder_.path().string()});
  std::filesystem::remove(at("a.tar"));
  ASSERT_EQ(mkfifo(at("a.tar").c_str(), 0600), 0);
  std::vector<uint64_t> seqs;
  input.each([&](ArchivedWindow& window) { return seqs.push_back(window.seq), true; });
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("a.tar: is not a file"));
  EXPECT_THAT(seqs, testing::ElementsAre(3, 4, 5));
  EXPECT_EQ(input.status(), 3);
}

}  // namespace
}  // namespace trama
