// What captures are read from: files that are there or not, FIFOs, files that change, descriptors and who closes them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>

#include "tests/support/capture_reading.hpp"
#include "tests/support/scratch_folder.hpp"

namespace trama::test {
namespace {

TEST(CaptureInput, OpenFailsAtOnceOnlyForWhatCannotBeOpened) {
  const ScratchFolder folder;
  const auto missing = CaptureReader::open((folder / "missing.pcap").string());
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().text.find("missing.pcap: No such file"), std::string::npos) << missing.error().text;
  const auto directory = CaptureReader::open(folder.path().string());
  ASSERT_FALSE(directory.has_value());
  EXPECT_NE(directory.error().text.find("is a directory"), std::string::npos) << directory.error().text;
  write_file(folder / "empty.pcap", PacketBytes{});
  auto empty = CaptureReader::open((folder / "empty.pcap").string());
  ASSERT_TRUE(empty.has_value());
  EXPECT_EQ(read_all(*empty, 8, [] {}).report.status, InputStatus::truncated);
  EXPECT_EQ(empty->report().name, (folder / "empty.pcap").string());
}

TEST(CaptureInput, FifoWithoutAWriterIsWaitedFor) {
  const ScratchFolder folder;
  const std::string path = (folder / "fifo").string();
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  auto reader = CaptureReader::open(path);
  ASSERT_TRUE(reader.has_value());
  const PcapBuilder file = PcapBuilder().packet(patterned(60, 1), 0);
  int writer = -1;
  int waited = 0;
  const CaptureRead read = read_all(*reader, 8, [&] {
    if (++waited == 1) {
      writer = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    } else if (waited == 2) {
      EXPECT_EQ(write(writer, file.bytes().data(), file.bytes().size()), static_cast<ssize_t>(file.bytes().size()));
    } else if (waited == 3) {
      close(writer);
    } else {
      std::abort();
    }
  });
  EXPECT_EQ(read.packets, file.packets());
  EXPECT_EQ(read.report.status, InputStatus::ok);
}

// A file that is cut, or grows, while it is being read.
TEST(CaptureInput, FileThatChangesWhileItIsRead) {
  PcapBuilder file;
  for (uint32_t i = 0; i < 100'000; ++i) file.packet(patterned(60, i), 0);
  for (const size_t new_packets : {50'000, 0, 150'000}) {
    const int fd = memory_file(file.bytes());
    CaptureReader reader = CaptureReader::from_fd(fd, "changing", true);
    PacketBlock block;
    std::vector<Packet> packets(1024);
    size_t count = 0, total = 0;
    ASSERT_EQ(reader.read(block, packets, count), CaptureReader::Status::packets);
    total += count;
    ASSERT_EQ(ftruncate(fd, static_cast<off_t>(24 + 76 * new_packets + 10)), 0);
    while (reader.read(block, packets, count) == CaptureReader::Status::packets) total += count;
    if (new_packets <= 100'000) {
      EXPECT_EQ(reader.report().status, InputStatus::truncated);
      EXPECT_LE(total, std::max(new_packets, size_t{2000}));
    } else {
      EXPECT_GT(total, 100'000u);  // zeros are empty packets
    }
  }
}

TEST(CaptureInput, DescriptorThatCannotBeReadIsUnreadable) {
  const ScratchFolder folder;
  const int fd = open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  CaptureReader reader = CaptureReader::from_fd(fd, "folder", true);
  const CaptureRead read = read_all(reader, 8, [] { std::abort(); });
  EXPECT_EQ(read.report.status, InputStatus::unreadable);
  EXPECT_NE(read.report.detail.find("Is a directory"), std::string::npos) << read.report.detail;
  EXPECT_FALSE(read.report.readable);
}

TEST(CaptureInput, DescriptorIsClosedOnlyByItsOwner) {
  const int fd = memory_file(PcapBuilder().bytes());
  { const CaptureReader borrowed = CaptureReader::from_fd(fd, "borrowed", false); }
  EXPECT_NE(fcntl(fd, F_GETFD), -1);
  {
    CaptureReader first = CaptureReader::from_fd(fd, "owned", true);
    CaptureReader second = CaptureReader::from_fd(memory_file({}), "other", true);
    second = std::move(first);
    EXPECT_NE(fcntl(fd, F_GETFD), -1);
    EXPECT_EQ(read_all(second, 8, [] {}).report.status, InputStatus::ok);
  }
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

}  // namespace
}  // namespace trama::test
