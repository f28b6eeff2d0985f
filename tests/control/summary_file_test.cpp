#include "control/summary_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "control/summary.hpp"
#include "tests/support/scratch_folder.hpp"

namespace trama {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;
using test::write_file;
using testing::HasSubstr;

class SummaryFileTest : public testing::Test {
 protected:
  SummaryFileTest() {
    write_file(folder_ / "in.pcap", std::string("packets"));
    write_file(folder_ / "notes.txt", std::string("{\"trama\": 1}"));
    write_earlier();
    fs::create_hard_link(folder_ / "in.pcap", folder_ / "hard");
    fs::create_symlink("in.pcap", folder_ / "soft");
    fs::create_directory(folder_ / "folder");
  }
  void write_earlier() {
    for (const char* name : {"new.json", "earlier.json", "empty"}) fs::remove(folder_ / name);
    write_file(folder_ / "earlier.json", summary_json({}));
    write_file(folder_ / "empty", std::string());
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  Expected<SummaryFile> judge(const std::string& path) const {
    return SummaryFile::judge(path, {at("in.pcap"), at("save.pcap"), "-"}, at("out"));
  }
  const ScratchFolder folder_;
};

TEST_F(SummaryFileTest, RefusesWhatTheRunUsesByWhicheverName) {
  for (const char* name : {"in.pcap", "hard", "soft", "folder/../in.pcap", "save.pcap", "folder/../save.pcap"}) {
    const auto judged = judge(at(name));
    ASSERT_FALSE(judged.has_value()) << name;
    EXPECT_THAT(judged.error().text, HasSubstr("is a file that this run uses"));
  }
}

TEST_F(SummaryFileTest, RefusesWhatIsntItsOwn) {
  for (const char* name : {"folder", "notes.txt", "nowhere/s.json", "in.pcap/s.json"})
    EXPECT_FALSE(judge(at(name)).has_value()) << name;
}

TEST_F(SummaryFileTest, TakesNewNamesEarlierSummariesAndTheOutputFolder) {
  for (const std::string& name :
       {std::string("-"), at("new.json"), at("earlier.json"), at("empty"), at("out/s.json"), std::string("/dev/null")})
    EXPECT_TRUE(judge(name).has_value()) << name;
}

TEST_F(SummaryFileTest, WritesAllOrNothing) {
  const mode_t mask = umask(022);
  for (const char* name : {"new.json", "earlier.json", "out/s.json"}) {
    const auto judged = judge(at(name));
    ASSERT_TRUE(judged.has_value());
    ASSERT_TRUE(judged->write("{}\n").has_value());
    EXPECT_EQ(test::read_text(at(name)), "{}\n");
    struct stat status;
    ASSERT_EQ(stat(at(name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0644u);
  }
  umask(mask);
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
    EXPECT_THAT(entry.path().filename().string(), testing::Not(HasSubstr("json."))) << "a temporary was left";
}

TEST_F(SummaryFileTest, ALinkStaysALink) {
  fs::create_symlink("earlier.json", folder_ / "link.json");
  const auto judged = judge(at("link.json"));
  ASSERT_TRUE(judged.has_value());
  ASSERT_TRUE(judged->write("{}\n").has_value());
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.json"));
  EXPECT_EQ(test::read_text(at("earlier.json")), "{}\n");
}

TEST_F(SummaryFileTest, SaysWhenItCantBeWritten) {
  const auto judged = judge("/dev/full");
  ASSERT_TRUE(judged.has_value());
  const auto written = judged->write("{}\n");
  ASSERT_FALSE(written.has_value());
  EXPECT_THAT(written.error().text, HasSubstr("No space left"));
}

// Between the judgement and the writing lies the whole run, and others may write into the folder.
TEST_F(SummaryFileTest, WhatHasTakenTheNameMeanwhileStays) {
  for (const char* name : {"new.json", "earlier.json", "empty", "out/s.json"}) {
    for (const char* taker : {"file", "link", "summary"}) {
      SCOPED_TRACE(std::string(name) + " " + taker);
      write_earlier();
      const auto judged = judge(at(name));
      ASSERT_TRUE(judged.has_value());
      const fs::path path = at(name);
      fs::create_directories(path.parent_path());
      fs::remove(path);
      if (taker == std::string("link"))
        fs::create_symlink(at("in.pcap"), path);
      else
        write_file(path, taker == std::string("file") ? std::string("mine") : summary_json({}));
      const std::string before = test::read_text(path);
      const auto written = judged->write("{}\n");
      ASSERT_FALSE(written.has_value());
      EXPECT_THAT(written.error().text, HasSubstr("taken its name"));
      EXPECT_EQ(test::read_text(path), before);
      EXPECT_EQ(test::read_text(at("in.pcap")), "packets");
      fs::remove_all(at("out"));
    }
  }
}

TEST_F(SummaryFileTest, AnEarlierSummaryThatIsGoneIsMissedByNobody) {
  const auto judged = judge(at("earlier.json"));
  ASSERT_TRUE(judged.has_value());
  fs::remove(at("earlier.json"));
  ASSERT_TRUE(judged->write("{}\n").has_value());
  EXPECT_EQ(test::read_text(at("earlier.json")), "{}\n");
}

TEST_F(SummaryFileTest, GoesIntoTheFolderThatWasJudged) {
  fs::create_directory(at("elsewhere"));
  const auto judged = judge(at("folder/s.json"));
  ASSERT_TRUE(judged.has_value());
  fs::rename(at("folder"), at("moved"));
  fs::create_directory_symlink("elsewhere", at("folder"));
  ASSERT_TRUE(judged->write("{}\n").has_value());
  EXPECT_EQ(test::read_text(at("moved/s.json")), "{}\n");
  EXPECT_TRUE(fs::is_empty(at("elsewhere")));
}

TEST_F(SummaryFileTest, TheOutputFolderIsNoLink) {
  fs::create_directory(at("elsewhere"));
  const auto judged = judge(at("out/s.json"));
  ASSERT_TRUE(judged.has_value());
  fs::create_directory_symlink("elsewhere", at("out"));
  EXPECT_FALSE(judged->write("{}\n").has_value());
  EXPECT_TRUE(fs::is_empty(at("elsewhere")));
}

TEST_F(SummaryFileTest, ADeviceStaysTheDevice) {
  fs::create_symlink("/dev/null", at("device"));
  const auto judged = judge(at("device"));
  ASSERT_TRUE(judged.has_value());
  EXPECT_TRUE(judged->write("{}\n").has_value());
  fs::remove(at("device"));
  fs::create_symlink("in.pcap", at("device"));
  EXPECT_FALSE(judged->write("{}\n").has_value());
  EXPECT_EQ(test::read_text(at("in.pcap")), "packets");
}

TEST_F(SummaryFileTest, LinksAreJudgedByWhatTheyStandFor) {
  fs::create_symlink("nothing", at("dangling"));
  fs::create_symlink("notes.txt", at("notes"));
  fs::create_symlink("folder", at("way"));
  for (const char* name : {"dangling", "notes", "soft", "way"}) EXPECT_FALSE(judge(at(name)).has_value()) << name;
  EXPECT_TRUE(judge(at("way/s.json")).has_value());
}

}  // namespace
}  // namespace trama
