// inspect and verify as a whole, on archives that others may have made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "control/verbs.hpp"
#include "tests/control/said.hpp"
#include "tests/libclient/sample_archive.hpp"
#include "tests/support/watchdog.hpp"

namespace trama {
namespace {

using test::Said;
using test::ScratchFolder;
using test::write_file;
using testing::HasSubstr;

template <class Verb>
Said say(Verb verb, const Arguments& arguments) {
  return test::listen([&] { return verb(arguments); });
}

// An archive whose only member has this name.
std::vector<uint8_t> archive_with(const std::string& member) {
  const test::SampleArchive sample = test::sample_archive(1);
  const std::span<const uint8_t> blob = std::span(sample.tar).subspan(kTarBlockBytes, sample.manifest.windows[0].bytes);
  const auto header = make_tar_header(member, blob.size(), 0);
  EXPECT_TRUE(header);
  std::vector<uint8_t> tar(header->block.begin(), header->block.end());
  tar.insert(tar.end(), blob.begin(), blob.end());
  tar.resize(tar.size() + header->padding_bytes + kTarEnd.size());
  return tar;
}

bool has_controls(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\n') || (byte >= 0x7F && byte < 0xA0)) return true;
  }
  return false;
}

TEST(HostileNames, NeitherMoveTheCursorNorForgeALine) {
  const ScratchFolder folder;
  const std::string archive = (folder / "a\x1b.tar").string();
  write_file(archive, archive_with("\x1b]0;owned\x07\xc2\x9b"
                                   "2J\n       9   9.grb  forged"));
  for (const char* form : {"", "--csv", "--json"}) {
    SCOPED_TRACE(form);
    const Said said = say(inspect_verb, *form ? Arguments{form, archive} : Arguments{archive});
    EXPECT_EQ(said.status, kDone);
    EXPECT_FALSE(has_controls(said.out)) << said.out;
    EXPECT_EQ(std::count(said.out.begin(), said.out.end(), '\n'), *form == '-' && form[2] == 'j' ? 4 : 3);
  }
  const Said verified = say(verify_verb, {archive});
  EXPECT_THAT(verified.err, HasSubstr("owned"));
  EXPECT_FALSE(has_controls(verified.out + verified.err)) << verified.out << verified.err;
  std::vector<uint8_t> cut = archive_with("\x1b[2J.grb");
  cut.resize(kTarBlockBytes + 10);
  write_file(archive, cut);
  const Said exported = say(export_verb, {"--numeric", archive});
  EXPECT_EQ(exported.status, kFailed);
  EXPECT_THAT(exported.err, HasSubstr("[2J.grb"));
  EXPECT_FALSE(has_controls(exported.out + exported.err)) << exported.err;
}

TEST(FoldersOfOthers, FifosAreNotWaitedFor) {
  const Watchdog watchdog;
  const ScratchFolder folder;
  write_file(folder / "a.tar", archive_with("0.grb"));
  ASSERT_EQ(mkfifo((folder / "z.tar").c_str(), 0600), 0);
  const std::string path = folder.path().string();
  EXPECT_EQ(say(inspect_verb, {path}).status, kDone);
  EXPECT_EQ(say(verify_verb, {path}).status, kDone);
  ASSERT_EQ(mkfifo((folder / "a.tar.json").c_str(), 0600), 0);
  EXPECT_EQ(say(inspect_verb, {path}).status, kLossy);
  EXPECT_EQ(say(verify_verb, {path}).status, kLossy);
}

TEST(FoldersOfOthers, RecoveryLeavesTheirFiles) {
  const ScratchFolder folder;
  for (const char* name : {"movie.part", "movie.part.log", "x.tar.part"}) write_file(folder / name, std::string());
  const std::string left = std::string(test::kArchiveName) + ".part";
  write_file(folder / left, std::string());
  std::filesystem::last_write_time(folder / left,
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  const Said said = say(verify_verb, {"--recover", folder.path().string()});
  EXPECT_EQ(said.status, kDone) << said.err;
  EXPECT_THAT(said.out, HasSubstr(left + ": nothing had been written; removed"));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"movie.part", "movie.part.log", "x.tar.part"}));
  EXPECT_EQ(say(verify_verb, {"--recover", (folder / "movie.part").string()}).status, kFailed);
  EXPECT_EQ(folder.names().size(), 3u);
}

TEST(FoldersOfOthers, AnEmptyPartIsLeftToItsWriter) {
  const ScratchFolder folder;
  const std::string part = (folder / (std::string(test::kArchiveName) + ".part")).string();
  write_file(part, std::string());
  std::filesystem::last_write_time(part, std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  for (const std::string& path : {folder.path().string(), part}) {
    const Said said = say(verify_verb, {"--recover", path});
    EXPECT_EQ(said.status, kDone);
    EXPECT_THAT(said.err, HasSubstr("note: " + part + ": is empty and has just been made"));
  }
  EXPECT_EQ(folder.names().size(), 1u);
}

}  // namespace
}  // namespace trama
