// Formats are tested in tests/modules/support/capture_reader_test.cpp; here, inputs one after the other.
#include <fcntl.h>
#include <unistd.h>

#include "modules/messages.hpp"
#include "modules/support/run_report.hpp"
#include "tests/support/capture_builder.hpp"
#include "tests/support/compress.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

class Pcap : public ::testing::Test {
 protected:
  std::string capture(const std::string& name, size_t packets, size_t cut_bytes = 0) {
    test::PcapBuilder builder;
    for (size_t i = 0; i < packets; ++i) builder.packet(raw_ipv4_packet(1, 2), static_cast<int64_t>(i) * 1000);
    PacketBytes bytes = builder.bytes();
    bytes.resize(bytes.size() - cut_bytes);
    const std::string path = folder_ / name;
    test::write_file(path, bytes);
    return path;
  }
  static size_t packets_of(StageHarness<void, PacketBatch>& harness, uint64_t first_seq = 0) {
    size_t packets = 0;
    for (uint64_t seq = first_seq; PacketBatch* batch = harness.next(); ++seq) {
      EXPECT_EQ(batch->seq, seq);
      EXPECT_GT(batch->count, 0u);
      packets += batch->count;
    }
    return packets;
  }
  static std::string files(const std::vector<std::string>& names) {
    std::string text = "files = [";
    for (const std::string& name : names) text += "\"" + name + "\", ";
    return text + "]";
  }
  const test::ScratchFolder folder_;
};

TEST_F(Pcap, ReadsOneInputAfterTheOther) {
  StageHarness<void, PacketBatch> harness(
      "pcap", files({capture("a", 100), folder_ / "missing", capture("b", 5, 1), capture("c", 0), capture("d", 70)}));
  EXPECT_EQ(packets_of(harness), 174u);
  const auto inputs = harness.services().get<RunReport>()->inputs();
  ASSERT_EQ(inputs.size(), 5u);
  size_t ok = 0;
  for (const InputReport& input : inputs) {
    ok += input.status == InputStatus::ok;
    if (input.name.ends_with("missing")) {
      EXPECT_EQ(input.status, InputStatus::unreadable);
    }
    if (input.name.ends_with("b")) {
      EXPECT_EQ(input.status, InputStatus::truncated);
      EXPECT_EQ(input.packets, 4u);
      EXPECT_TRUE(input.readable);
    }
  }
  EXPECT_EQ(ok, 3u);
}

TEST_F(Pcap, StopsAfterAsManyPacketsAsAskedFor) {
  StageHarness<void, PacketBatch> harness("pcap", files({capture("a", 100), capture("b", 100)}) + "\npackets = 130");
  EXPECT_EQ(packets_of(harness), 130u);
  const auto inputs = harness.services().get<RunReport>()->inputs();
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[1].packets, 30u);
  EXPECT_EQ(inputs[1].status, InputStatus::ok);
}

TEST_F(Pcap, WhatIsLeftWhenToldToStopIsInterrupted) {
  const std::string fifo = folder_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const int writer = open(fifo.c_str(), O_RDWR | O_CLOEXEC);
  test::PcapBuilder builder;
  builder.packet(raw_ipv4_packet(1, 2), 0);
  ASSERT_EQ(write(writer, builder.bytes().data(), builder.bytes().size()),
            static_cast<ssize_t>(builder.bytes().size()));
  StageHarness<void, PacketBatch> harness("pcap", files({fifo, capture("b", 3)}));
  PacketBatch* batch = harness.next();
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->count, 1u);
  EXPECT_EQ(harness.next(), nullptr);  // the writer stalls
  harness.finish();
  close(writer);
  const auto inputs = harness.services().get<RunReport>()->inputs();
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].status, InputStatus::interrupted);
  EXPECT_EQ(inputs[0].packets, 1u);
  EXPECT_EQ(inputs[1].status, InputStatus::interrupted);
}

// What was read ahead, and what waited in the pipe: the writer had written it.
TEST_F(Pcap, WhatAWriterHasWrittenIsCountedWhenToldToStop) {
  constexpr size_t kPackets = 700;  // 56,000 bytes: they fit into a pipe
  test::PcapBuilder builder;
  for (size_t i = 0; i < kPackets; ++i) builder.packet(raw_ipv4_packet(1, static_cast<uint32_t>(i * i)), 0);
  std::vector<InputCompression> ways(std::begin(test::kCompressions), std::end(test::kCompressions));
  ways.push_back(InputCompression::none);
  for (const InputCompression way : ways) {
    SCOPED_TRACE(std::string(to_string(way)));
    const std::string fifo = folder_ / ("fifo_" + std::string(to_string(way)));
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    const int writer = open(fifo.c_str(), O_RDWR | O_CLOEXEC);  // it stays open
    const PacketBytes bytes = way == InputCompression::none ? builder.bytes() : test::compress(way, builder.bytes());
    ASSERT_EQ(write(writer, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    StageHarness<void, PacketBatch> harness("pcap", files({fifo}), {.credits = 1});
    const PacketBatch* const first = harness.next();
    ASSERT_NE(first, nullptr);
    size_t packets = first->count;
    harness.finish();
    packets += packets_of(harness, 1);
    EXPECT_EQ(packets, kPackets);
    const auto inputs = harness.services().get<RunReport>()->inputs();
    ASSERT_EQ(inputs.size(), 1u);
    EXPECT_EQ(inputs[0].status, InputStatus::interrupted);
    EXPECT_EQ(inputs[0].packets, kPackets);
    EXPECT_EQ(inputs[0].bytes, bytes.size());
    close(writer);
  }
}

TEST_F(Pcap, AWriterThatHasGoneIsTheEndOfItsInput) {
  const std::string fifo = folder_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const int reader = open(fifo.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const int writer = open(fifo.c_str(), O_WRONLY | O_CLOEXEC);
  const PacketBytes bytes = test::PcapBuilder().packet(raw_ipv4_packet(1, 2), 0).bytes();
  ASSERT_EQ(write(writer, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  StageHarness<void, PacketBatch> harness("pcap", files({fifo}));
  ASSERT_NE(harness.next(), nullptr);
  close(writer);
  harness.finish();
  const auto inputs = harness.services().get<RunReport>()->inputs();
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].status, InputStatus::ok);
  close(reader);
}

TEST_F(Pcap, NeedsAnInput) {
  EXPECT_FALSE((StageHarness<void, PacketBatch>("pcap", "").start().empty()));
  EXPECT_FALSE((StageHarness<void, PacketBatch>("pcap", files({"-", "-"})).start().empty()));
}

}  // namespace
}  // namespace trama
