#include "libclient/formats/archive_recover.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "libclient/formats/archive_finish.hpp"
#include "libclient/formats/archive_verify.hpp"
#include "libclient/formats/file_bytes.hpp"
#include "tests/libclient/sample_archive.hpp"
#include "tests/support/watchdog.hpp"

namespace trama {
namespace {

using test::kArchiveName;
using test::read_text;
using test::sample_archive;
using test::SampleArchive;
using test::ScratchFolder;
using test::write_file;

const std::string kName = kArchiveName;
const std::string kClashName = "20231114-221320-000000-1.8388608.tar";

void leave_behind(const ScratchFolder& folder, std::span<const uint8_t> tar, const std::string& journal) {
  write_file(folder / (kName + ".part"), tar);
  write_file(folder / (kName + ".part.log"), journal);
}

std::vector<std::string> archive_names(const std::string& name) { return {name, name + ".json"}; }

void expect_archive(const std::filesystem::path& archive, const SampleArchive& sample, size_t windows) {
  const VerifyReport report = verify_archive(archive);
  EXPECT_TRUE(report.ok()) << report.problems[0];
  EXPECT_TRUE(report.has_manifest);
  EXPECT_EQ(report.windows, windows);
  const auto manifest = parse_manifest(read_text(archive.string() + ".json"));
  ASSERT_TRUE(manifest);
  EXPECT_TRUE(std::equal(manifest->windows.begin(), manifest->windows.end(), sample.manifest.windows.begin()));
}

// Killed at any byte: what is whole and in the journal is an archive afterwards.
TEST(Recover, CutAnywhere) {
  const SampleArchive sample = sample_archive(3);
  const std::string journal = sample.journal();
  const auto tar = sample.finished();
  for (size_t length = 1; length <= tar.size(); length += (length % 3 == 0 ? 461 : 283)) {
    SCOPED_TRACE(length);
    const ScratchFolder folder;
    leave_behind(folder, std::span(tar).first(length), journal);
    const auto whole = static_cast<size_t>(
        std::count_if(sample.content_end.begin(), sample.content_end.end(), [&](size_t end) { return end <= length; }));
    const auto recovered = recover_part(folder / (kName + ".part"));
    ASSERT_EQ(recovered.has_value(), whole > 0);
    if (whole == 0) {
      EXPECT_EQ(folder.names().size(), 2U);
      continue;
    }
    EXPECT_EQ(recovered->windows, whole);
    EXPECT_EQ(recovered->archive, folder / kName);
    EXPECT_EQ(folder.names(), archive_names(kName));
    expect_archive(recovered->archive, sample, whole);
  }
}

TEST(Recover, TheJournalDecides) {
  const SampleArchive sample = sample_archive(3);
  const std::string journal = sample.journal();
  const size_t third = journal.rfind("{\"seq\"");
  for (const size_t length : {third, third + 40, journal.size() - 1}) {
    SCOPED_TRACE(length);
    const ScratchFolder folder;
    leave_behind(folder, sample.tar, journal.substr(0, length));
    const auto recovered = recover_part(folder / (kName + ".part"));
    ASSERT_TRUE(recovered) << recovered.error().text;
    EXPECT_EQ(recovered->windows, 2U);
    EXPECT_EQ(recovered->packets, 1000U);
    EXPECT_GT(recovered->cut_bytes, 512U);
    expect_archive(recovered->archive, sample, 2);
    EXPECT_NE(read_text(folder / (kName + ".json")).find("\"recovered\": true"), std::string::npos);
  }
}

TEST(Recover, DamagedWindowEndsIt) {
  SampleArchive sample = sample_archive(3);
  sample.tar[sample.content_end[1] - 5] ^= 1;
  const ScratchFolder folder;
  leave_behind(folder, sample.tar, sample.journal());
  const auto recovered = recover_part(folder / (kName + ".part"));
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->windows, 1U);
}

TEST(Recover, NothingToRecover) {
  const SampleArchive sample = sample_archive(2), one = sample_archive(1);
  const std::string header = to_journal_header(sample.manifest.header);
  struct Case {
    const char* name;
    std::span<const uint8_t> tar;
    std::string journal;
    bool removed;
  };
  const Case cases[] = {{"empty", {}, header, true},
                        {"empty journal too", {}, "", true},
                        {"killed in the first window", std::span(sample.tar).first(700), header, true},
                        {"killed before the first line of the journal", one.tar, header, true},
                        {"windows that the journal doesn't know", sample.tar, header, false},
                        {"journal empty", sample.tar, "", false},
                        {"journal of another", std::span(sample.tar).subspan(512), sample.journal(), false}};
  for (const Case& left : cases) {
    SCOPED_TRACE(left.name);
    const ScratchFolder folder;
    leave_behind(folder, left.tar, left.journal);
    const auto recovered = recover_part(folder / (kName + ".part"));
    ASSERT_EQ(recovered.has_value(), left.removed);
    EXPECT_EQ(folder.names().size(), left.removed ? 0U : 2U);
    if (left.removed) {
      EXPECT_TRUE(recovered->archive.empty());
    } else {
      EXPECT_EQ(test::read_file(folder / (kName + ".part")).size(), left.tar.size());
    }
  }
  const ScratchFolder folder;
  write_file(folder / (kName + ".part"), sample.tar);
  EXPECT_FALSE(recover_part(folder / (kName + ".part")));
  EXPECT_FALSE(recover_part(folder / "absent.tar.part"));
  write_file(folder / kName, sample.tar);
  EXPECT_FALSE(recover_part(folder / kName));
  EXPECT_EQ(folder.names().size(), 2U);
}

TEST(Recover, PartsOfOthersStay) {
  EXPECT_TRUE(is_part_name(kName + ".part"));
  EXPECT_TRUE(is_part_name(kClashName + ".part"));
  for (const char* name :
       {"movie.part", "x.tar.part", "20231114-221320-000000.8388608.part", "20231114-221320-000000.tar.part",
        "20231114-221320-000000-.1.tar.part", "20231114-221320-00000.1.tar.part", "2023111-221320-000000.1.tar.part",
        "a20231114-221320-000000.1.tar.part", "20231114-221320-000000.1.tar.part.log",
        "20231114-221320-000000.1x.tar.part", "20231114 221320-000000.1.tar.part", ""}) {
    SCOPED_TRACE(name);
    EXPECT_FALSE(is_part_name(name));
  }
  for (const char* name : {"movie.part", "x.tar.part"}) {
    const ScratchFolder folder;
    write_file(folder / name, std::string());
    write_file(folder / (std::string(name) + ".log"), std::string());
    EXPECT_FALSE(recover_part(folder / name));
    EXPECT_EQ(folder.names().size(), 2U);
  }
}

// A writer makes the part, locks it, and then makes the journal.
TEST(Recover, AnEmptyPartMayBeAboutToBeLocked) {
  const std::string header = to_journal_header(sample_archive(1).manifest.header);
  for (const bool young : {false, true}) {
    for (const bool journal : {false, true}) {
      SCOPED_TRACE(testing::Message() << "young " << young << ", journal " << journal);
      const ScratchFolder folder;
      const auto part = folder / (kName + ".part");
      write_file(part, std::string());
      if (journal) write_file(part.string() + ".log", header);
      const auto now = std::filesystem::file_time_type::clock::now();
      std::filesystem::last_write_time(part, young ? now + std::chrono::hours(1) : now - std::chrono::hours(1));
      const auto recovered = recover_part(part);
      ASSERT_TRUE(recovered) << recovered.error().text;
      EXPECT_EQ(recovered->left_alone, young && !journal);
      EXPECT_EQ(folder.names().size(), young && !journal ? 1U : 0U);
    }
  }
}

TEST(Recover, WhatIsNoJournalStays) {
  const ScratchFolder folder;
  leave_behind(folder, {}, "notes of somebody\n");
  const auto recovered = recover_part(folder / (kName + ".part"));
  ASSERT_TRUE(recovered);
  EXPECT_EQ(folder.names(), std::vector{kName + ".part.log"});
}

TEST(Recover, AFifoIsNotWaitedFor) {
  const Watchdog watchdog;
  const ScratchFolder folder;
  const auto part = folder / (kName + ".part");
  write_file(part, sample_archive(1).tar);
  ASSERT_EQ(mkfifo((part.string() + ".log").c_str(), 0600), 0);
  EXPECT_FALSE(recover_part(part));
  std::filesystem::remove(part);
  ASSERT_EQ(mkfifo(part.c_str(), 0600), 0);
  EXPECT_FALSE(recover_part(part));
  EXPECT_EQ(folder.names().size(), 2U);
}

TEST(Recover, LeavesARunningWriterAlone) {
  const SampleArchive sample = sample_archive(2);
  const ScratchFolder folder;
  leave_behind(folder, sample.tar, sample.journal());
  const auto part = folder / (kName + ".part");
  {
    const FileDescriptor writer(open(part.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(flock(writer.get(), LOCK_EX | LOCK_NB), 0);
    const auto recovered = recover_part(part);
    ASSERT_FALSE(recovered);
    EXPECT_NE(recovered.error().text.find("being written"), std::string::npos);
    EXPECT_TRUE(test::read_file(part) == sample.tar);
  }
  EXPECT_TRUE(recover_part(part));
}

TEST(Recover, TakenNames) {
  const SampleArchive sample = sample_archive(2);
  const ScratchFolder folder;
  write_file(folder / kName, std::string("another archive"));
  write_file(folder / (kClashName + ".json"), std::string("another manifest"));
  leave_behind(folder, sample.tar, sample.journal());
  const auto recovered = recover_part(folder / (kName + ".part"));
  ASSERT_TRUE(recovered) << recovered.error().text;
  EXPECT_EQ(recovered->archive.filename(), "20231114-221320-000000-2.8388608.tar");
  EXPECT_EQ(read_text(folder / kName), "another archive");
  EXPECT_EQ(read_text(folder / (kClashName + ".json")), "another manifest");
  EXPECT_EQ(folder.names().size(), 4U);
}

// Killed between the two renames: the manifest that stands there already is the better one, it has the tail.
TEST(Recover, KilledWhileFinishing) {
  const SampleArchive sample = sample_archive(2);
  const ScratchFolder folder;
  const std::string manifest = to_json(sample.manifest);
  write_file(folder / (kName + ".json"), manifest);
  leave_behind(folder, sample.finished(), sample.journal());
  const auto recovered = recover_part(folder / (kName + ".part"));
  ASSERT_TRUE(recovered) << recovered.error().text;
  EXPECT_EQ(recovered->cut_bytes, 0U);
  EXPECT_EQ(folder.names(), archive_names(kName));
  EXPECT_EQ(read_text(folder / (kName + ".json")), manifest);
}

TEST(Finish, NamesOfArchives) {
  EXPECT_EQ(archive_file_name(1'700'000'000'000'000'000, 8388608), kName);
  EXPECT_EQ(archive_file_name(1'700'000'000'000'000'999, 8388608, 1), kClashName);
  EXPECT_EQ(archive_file_name(1'700'000'000'123'456'789, 1), "20231114-221320-123456.1.tar");
  EXPECT_EQ(archive_file_name(0, 1), "19700101-000000-000000.1.tar");
  EXPECT_EQ(archive_file_name(-1, 1), "19691231-235959-999999.1.tar");
  EXPECT_EQ(next_archive_name(kName), kClashName);
  EXPECT_EQ(next_archive_name(kClashName), "20231114-221320-000000-2.8388608.tar");
  EXPECT_EQ(next_archive_name("a-1.tar"), "a-1-1.tar");
}

TEST(Finish, RenamesOnlyToFreeNames) {
  const ScratchFolder folder;
  write_file(folder / "a", std::string("a"));
  write_file(folder / "b", std::string("b"));
  EXPECT_FALSE(rename_without_replacing(folder / "a", folder / "b"));
  EXPECT_EQ(errno, EEXIST);
  EXPECT_EQ(read_text(folder / "b"), "b");
  EXPECT_TRUE(rename_without_replacing(folder / "a", folder / "c"));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"b", "c"}));
}

}  // namespace
}  // namespace trama
