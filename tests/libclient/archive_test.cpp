// Archives as we write them and as others do.
#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

#include "libclient/formats/archive_reader.hpp"
#include "libclient/formats/paths.hpp"
#include "libclient/formats/tar_writer.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/watchdog.hpp"

namespace trama {
namespace {

using Bytes = std::vector<uint8_t>;
using test::ScratchFolder;
using test::write_file;

Bytes content(size_t member, size_t bytes) {
  Bytes all(bytes);
  for (size_t i = 0; i < bytes; ++i) all[i] = static_cast<uint8_t>(member * 31 + i * 7 + i / 251);
  return all;
}

const std::vector<size_t> kSizes{188, 0, 512, 513, 70000};

Bytes archive_of(const std::vector<size_t>& sizes, bool end_blocks) {
  Bytes tar;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto header = make_tar_header(window_member_name(i), sizes[i], 1'700'000'000);
    EXPECT_TRUE(header);
    const Bytes body = content(i, sizes[i]);
    tar.insert(tar.end(), header->block.begin(), header->block.end());
    tar.insert(tar.end(), body.begin(), body.end());
    tar.insert(tar.end(), kTarEnd.begin(), kTarEnd.begin() + static_cast<ptrdiff_t>(header->padding_bytes));
  }
  if (end_blocks) tar.insert(tar.end(), kTarEnd.begin(), kTarEnd.end());
  return tar;
}

struct Reading {
  std::vector<Member> members;
  std::string error;
};

Reading read_all(const std::filesystem::path& path) {
  Reading reading;
  auto reader = ArchiveReader::open(path);
  if (!reader) return {{}, reader.error().text};
  for (;;) {
    Member member;
    const auto more = reader->next(member);
    if (!more) {
      reading.error = more.error().text;
      Member none;
      EXPECT_FALSE(reader->next(none).value_or(true));
      return reading;
    }
    if (!*more) return reading;
    reading.members.push_back(std::move(member));
  }
}

void expect_members(const Reading& reading, const std::vector<size_t>& sizes, size_t count) {
  ASSERT_EQ(reading.members.size(), count);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(reading.members[i].name, window_member_name(i % sizes.size()));
    EXPECT_TRUE(reading.members[i].bytes == content(i % sizes.size(), sizes[i % sizes.size()])) << i;
  }
}

TEST(Archive, OursAndWithoutEndBlocks) {
  const ScratchFolder folder;
  for (const bool end_blocks : {true, false}) {
    write_file(folder / "a.tar", archive_of(kSizes, end_blocks));
    const Reading reading = read_all(folder / "a.tar");
    EXPECT_EQ(reading.error, "");
    expect_members(reading, kSizes, kSizes.size());
    EXPECT_EQ(reading.members[1].offset, 1024U);
  }
}

TEST(Archive, ZerosAndArchivesBehindTheEnd) {
  const ScratchFolder folder;
  Bytes tar = archive_of(kSizes, true);
  tar.resize(tar.size() + 10240);
  write_file(folder / "a.tar", tar);
  Reading reading = read_all(folder / "a.tar");
  EXPECT_EQ(reading.error, "");
  expect_members(reading, kSizes, kSizes.size());

  const Bytes second = archive_of(kSizes, true);
  tar.insert(tar.end(), second.begin(), second.end());
  write_file(folder / "a.tar", tar);
  reading = read_all(folder / "a.tar");
  EXPECT_EQ(reading.error, "");
  expect_members(reading, kSizes, 2 * kSizes.size());
}

// Whole members are given, then an error that names the archive and, within a member, the member.
TEST(Archive, CutAnywhere) {
  const ScratchFolder folder;
  const std::vector<size_t> sizes{100, 600, 1500};
  const Bytes tar = archive_of(sizes, true);
  const size_t member_end[] = {512 + 100, 1024 + 512 + 600, 1024 + 512 + 1024 + 512 + 1500};
  for (size_t length = 1; length < tar.size() - 1024; length += 37) {
    SCOPED_TRACE(length);
    write_file(folder / "a.tar", Bytes(tar.begin(), tar.begin() + static_cast<ptrdiff_t>(length)));
    const Reading reading = read_all(folder / "a.tar");
    const auto whole = static_cast<size_t>(
        std::count_if(std::begin(member_end), std::end(member_end), [&](size_t end) { return end <= length; }));
    ASSERT_LE(reading.members.size(), whole);
    ASSERT_GE(reading.members.size() + 1, whole);  // a member whose padding is cut may be held back
    expect_members(reading, sizes, reading.members.size());
    EXPECT_NE(reading.error.find("a.tar"), std::string::npos) << reading.error;
  }
}

TEST(Archive, WrittenByOthers) {
  const ScratchFolder folder;
  struct Writer {
    const char* name;
    int (*format)(archive*);
    int (*filter)(archive*);
  };
  const Writer writers[] = {{"gnu", archive_write_set_format_gnutar, archive_write_add_filter_none},
                            {"pax", archive_write_set_format_pax, archive_write_add_filter_none},
                            {"v7", archive_write_set_format_v7tar, archive_write_add_filter_none},
                            {"ustar gz", archive_write_set_format_ustar, archive_write_add_filter_gzip},
                            {"pax zst", archive_write_set_format_pax, archive_write_add_filter_zstd},
                            {"gnu xz", archive_write_set_format_gnutar, archive_write_add_filter_xz}};
  const std::string long_name = "observatory/" + std::string(180, 'x') + ".grb";
  for (const Writer& writer : writers) {
    SCOPED_TRACE(writer.name);
    archive* out = archive_write_new();
    writer.format(out);
    writer.filter(out);
    ASSERT_EQ(archive_write_open_filename(out, (folder / "b.tar").c_str()), ARCHIVE_OK);
    const bool long_names = std::strncmp(writer.name, "v7", 2) != 0 && std::strncmp(writer.name, "ustar", 5) != 0;
    for (const std::string& name : {std::string("observatory"), std::string("0.grb"), long_name}) {
      archive_entry* entry = archive_entry_new();
      archive_entry_set_pathname(entry, name.size() > 100 && !long_names ? "1.grb" : name.c_str());
      archive_entry_set_filetype(entry, name == "observatory" ? AE_IFDIR : AE_IFREG);
      archive_entry_set_perm(entry, 0640);
      const Bytes body = content(1, name == "observatory" ? 0 : 3000);
      archive_entry_set_size(entry, static_cast<int64_t>(body.size()));
      archive_entry_set_mtime(entry, 1'700'000'000, 123456789);
      ASSERT_EQ(archive_write_header(out, entry), ARCHIVE_OK);
      ASSERT_EQ(archive_write_data(out, body.data(), body.size()), static_cast<la_ssize_t>(body.size()));
      archive_entry_free(entry);
    }
    archive_write_free(out);
    const Reading reading = read_all(folder / "b.tar");
    EXPECT_EQ(reading.error, "");
    ASSERT_EQ(reading.members.size(), 2U);
    EXPECT_EQ(reading.members[1].name, long_names ? long_name : "1.grb");
    EXPECT_TRUE(reading.members[1].bytes == content(1, 3000));
  }
}

TEST(Archive, WhatIsNoArchive) {
  const ScratchFolder folder;
  write_file(folder / "empty.tar", Bytes{});
  write_file(folder / "text.tar", std::string(2000, 'x'));
  write_file(folder / "short.tar", std::string("x"));
  for (const char* name : {"empty.tar", "text.tar", "short.tar", "absent.tar", "."}) {
    SCOPED_TRACE(name);
    const Reading reading = read_all(folder / name);
    EXPECT_TRUE(reading.members.empty());
    EXPECT_NE(reading.error, "");
  }
}

TEST(Archive, LinksAndLongMembers) {
  const ScratchFolder folder;
  Bytes tar = archive_of({300}, true);
  tar[156] = '2';  // a symbolic link
  uint32_t sum = 0;
  std::memset(tar.data() + 148, ' ', 8);
  for (size_t i = 0; i < 512; ++i) sum += tar[i];
  std::snprintf(reinterpret_cast<char*>(tar.data()) + 148, 8, "%06o", sum);
  write_file(folder / "a.tar", tar);
  EXPECT_NE(read_all(folder / "a.tar").error.find("0.grb"), std::string::npos);

  // It states 5 GiB and brings none of them.
  const auto header = make_tar_header("0.grb", uint64_t{5} << 30, 0);
  ASSERT_TRUE(header);
  write_file(folder / "a.tar", header->block);
  EXPECT_NE(read_all(folder / "a.tar").error.find("longer"), std::string::npos);
  auto reader = ArchiveReader::open(folder / "a.tar", uint64_t{6} << 30);
  ASSERT_TRUE(reader);
  Member member;
  EXPECT_FALSE(reader->next(member));
  EXPECT_LT(member.bytes.capacity(), size_t{4} << 20);
}

TEST(Archive, SingleBlob) {
  const ScratchFolder folder;
  Bytes blob = content(0, 1000);
  const uint64_t length = blob.size();
  std::memcpy(blob.data(), &length, sizeof length);
  write_file(folder / "17.grb", blob);
  const Reading reading = read_all(folder / "17.grb");
  EXPECT_EQ(reading.error, "");
  ASSERT_EQ(reading.members.size(), 1U);
  EXPECT_EQ(reading.members[0].name, "17.grb");
  EXPECT_TRUE(reading.members[0].bytes == blob);
}

TEST(Archive, FolderOfArchives) {
  const ScratchFolder folder;
  EXPECT_FALSE(expand_archives(folder.path()));
  EXPECT_FALSE(expand_archives(folder / "absent"));
  for (const char* name : {"b.8388608.tar", "a.8388608.tar", "a.8388608.tar.json", "c.8388608.tar.part"}) {
    write_file(folder / name, Bytes{1});
  }
  const auto archives = expand_archives(folder.path());
  ASSERT_TRUE(archives);
  ASSERT_EQ(archives->size(), 2U);
  EXPECT_EQ((*archives)[0].filename(), "a.8388608.tar");
  EXPECT_EQ((*archives)[1].filename(), "b.8388608.tar");
  const auto single = expand_archives(folder / "c.8388608.tar.part");
  ASSERT_TRUE(single);
  EXPECT_EQ(single->size(), 1U);
}

TEST(TarHeader, Fields) {
  const auto header = make_tar_header("63.grb", 01234567, 1'700'000'000);
  ASSERT_TRUE(header);
  const auto field = [&](size_t offset, size_t bytes) {
    return std::string(reinterpret_cast<const char*>(header->block.data()) + offset, bytes);
  };
  EXPECT_EQ(field(0, 7), std::string("63.grb\0", 7));
  EXPECT_EQ(field(100, 8), std::string("0000644\0", 8));
  EXPECT_EQ(field(108, 16), std::string("0000000\0000000000\0", 16));
  EXPECT_EQ(field(124, 12), std::string("00001234567\0", 12));
  EXPECT_EQ(field(136, 12), std::string("14524770400\0", 12));
  EXPECT_EQ(field(156, 1), "0");
  EXPECT_EQ(field(257, 8), std::string("ustar\00000", 8));
  EXPECT_EQ(header->padding_bytes, 512 - 01234567 % 512);
  EXPECT_EQ(make_tar_header("0.grb", 0, -5)->block[146], '0');
  EXPECT_EQ(make_tar_header("0.grb", 512, INT64_MAX)->block[136], '7');
  EXPECT_EQ(make_tar_header("0.grb", 512, 0)->padding_bytes, 0U);
  EXPECT_TRUE(make_tar_header("0.grb", kTarMaxMemberBytes, 0));
  EXPECT_FALSE(make_tar_header("0.grb", kTarMaxMemberBytes + 1, 0));
  EXPECT_FALSE(make_tar_header("", 1, 0));
  EXPECT_TRUE(make_tar_header(std::string(100, 'a'), 1, 0));
  EXPECT_FALSE(make_tar_header(std::string(101, 'a'), 1, 0));
}

// A FIFO that nobody writes to would be waited for, and whoever may write into a folder can put one there.
TEST(Archive, FifosInFoldersAreNotWaitedFor) {
  const Watchdog watchdog;
  const ScratchFolder folder;
  ASSERT_EQ(mkfifo((folder / "z.tar").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo((folder / "a.tar.json").c_str(), 0600), 0);
  EXPECT_FALSE(expand_archives(folder.path()));
  write_file(folder / "a.tar", archive_of(kSizes, true));
  std::filesystem::create_symlink("a.tar", folder / "link.tar");
  const auto archives = expand_archives(folder.path());
  ASSERT_TRUE(archives);
  EXPECT_EQ(*archives, (std::vector{folder / "a.tar", folder / "link.tar"}));
  EXPECT_EQ(special_files(archives->front(), folder.path()), SpecialFiles::refused);
  // One that has taken the place of an archive since, or of a manifest.
  EXPECT_FALSE(ArchiveReader::open(folder / "z.tar", kMaxMemberBytes, SpecialFiles::refused));
  EXPECT_FALSE(read_small_file(folder / "a.tar.json", 100));
}

TEST(Archive, AFifoThatIsNamedIsRead) {
  const Watchdog watchdog;
  const ScratchFolder folder;
  const auto fifo = folder / "a.tar";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const auto named = expand_archives(fifo);
  ASSERT_TRUE(named);
  EXPECT_EQ(special_files(named->front(), fifo), SpecialFiles::allowed);
  std::thread writer([&] { write_file(fifo, archive_of(kSizes, true)); });
  EXPECT_EQ(read_all(fifo).members.size(), kSizes.size());
  writer.join();
}

}  // namespace
}  // namespace trama
