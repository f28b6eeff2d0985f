#include "modules/support/input_paths.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/support/scratch_folder.hpp"

namespace trama::test {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

TEST(InputPaths, FolderBecomesItsRegularFilesInByteOrder) {
  const ScratchFolder folder;
  for (const char* name : {"b.pcap", "B.pcap", "a10.pcap", "a9.pcap", ".hidden", "\xc3\xa4.pcap"}) {
    write_file(folder / name, std::string("x"));
  }
  fs::create_directory(folder / "sub");
  write_file(folder / "sub" / "deep.pcap", std::string("x"));
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  fs::create_symlink(folder / "b.pcap", folder / "link.pcap");
  fs::create_symlink(folder / "nowhere", folder / "broken.pcap");
  const auto inputs = expand_inputs({folder.path().string()});
  ASSERT_TRUE(inputs.has_value());
  Paths right;
  for (const char* name : {"B.pcap", "a10.pcap", "a9.pcap", "b.pcap", "link.pcap", "\xc3\xa4.pcap"}) {
    right.push_back((folder / name).string());
  }
  EXPECT_EQ(*inputs, right);
}

TEST(InputPaths, FilesStayInTheirOrderAndAsOftenAsNamed) {
  const ScratchFolder folder;
  write_file(folder / "b", std::string());
  write_file(folder / ".a", std::string());
  const std::string a = (folder / ".a").string(), b = (folder / "b").string();
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  const std::string fifo = (folder / "fifo").string();
  EXPECT_EQ(expand_inputs({b, "-", a, fifo, b, folder.path().string()}).value(), (Paths{b, "-", a, fifo, b, b}));
  EXPECT_EQ(expand_inputs({}).value(), Paths{});
}

TEST(InputPaths, WhatIsWrongIsSaidWithAHint) {
  const ScratchFolder folder;
  fs::create_directory(folder / "empty");
  write_file(folder / "file", std::string());
  for (const std::string& wrong : {(folder / "missing").string(), (folder / "empty").string(), std::string()}) {
    const auto inputs = expand_inputs({(folder / "file").string(), wrong});
    ASSERT_FALSE(inputs.has_value()) << wrong;
    EXPECT_NE(inputs.error().text.find(wrong), std::string::npos) << inputs.error().text;
    EXPECT_FALSE(inputs.error().hint.empty());
  }
  EXPECT_FALSE(expand_inputs({(folder / "file").string() + "/below"}).has_value());
}

}  // namespace
}  // namespace trama::test
