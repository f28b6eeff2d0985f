// DPDK's ports as devices of packets, with drivers that need no hardware: a ring that gives back what it is sent, a
// driver that makes frames without end, and one that reads captures. Without huge pages, so that it needs no rights.
#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <random>

#include "modules/support/capture_format.hpp"
#include "modules/support/device_plugin.hpp"
#include "modules/support/dpdk_options.hpp"
#include "modules/support/header_walk.hpp"
#include "tests/support/capture_builder.hpp"
#include "tests/support/long_tests.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/scratch_folder.hpp"

extern "C" const trama::DevicePlugin<trama::DpdkOptions> trama_device_plugin;

// What DPDK's own drivers leave behind when they are closed.
extern "C" const char* __lsan_default_suppressions() { return "leak:rte_kvargs_parse"; }

namespace trama {
namespace {

constexpr uint64_t kDpdkSeed = 20250215;
constexpr uint32_t kFrom = 0x0a010203, kTo = 0xc0000201;

DpdkOptions options_for(const std::string& device) {
  DpdkOptions options;
  options.devices = {device};
  options.huge_pages = DpdkOptions::HugePages::off;
  options.memory_mb = 256;
  options.descriptors = 256;
  options.mbufs = 4096;
  return options;
}

// A device of DPDK's, opened by the plug-in, and what it has given.
class Dpdk : public testing::Test {
 protected:
  static Expected<OpenedDevices> open(const DpdkOptions& options) { return trama_device_plugin.open(options); }
  void open_one(const std::string& device) { open_one(options_for(device)); }
  void open_one(const DpdkOptions& options) {
    auto opened = open(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().text;
    ASSERT_EQ(opened->devices.size(), 1u);
    device_ = std::move(opened->devices.front());
    queue_ = &device_->queue(0);
  }
  ~Dpdk() override {
    if (device_) give_back();
    device_.reset();
  }
  std::vector<LentFrame> receive(size_t most) {
    std::vector<LentFrame> frames(most);
    frames.resize(queue_->receive(frames, space_));
    for (const LentFrame& frame : frames) handles_.push_back(frame.handle);
    return frames;
  }
  void give_back() {
    queue_->give_back(handles_);
    handles_.clear();
    space_.clear();
  }
  static Walked walk_frame(const LentFrame& frame) { return walk(kEthernetLink, frame.data, frame.captured); }

  std::unique_ptr<PacketDevice> device_;
  ReceiveQueue* queue_ = nullptr;

 private:
  std::unique_ptr<uint8_t[]> memory_{new uint8_t[kMaxCaptured]};
  JoinSpace space_{{memory_.get(), kMaxCaptured}};
  std::vector<uint64_t> handles_;
};

// Frames that the test makes as a driver would, and sends into the ring.
class DpdkRing : public Dpdk {
 protected:
  void SetUp() override {
    open_one("net_ring0");
    if (!device_) return;
    pool_ = rte_pktmbuf_pool_create("test", 511, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    ASSERT_NE(pool_, nullptr);
    ASSERT_EQ(rte_eth_dev_get_port_by_name("net_ring0", &port_), 0);
  }
  void TearDown() override {
    if (!pool_) return;
    give_back();
    EXPECT_EQ(rte_mempool_avail_count(pool_), 511u) << "mbufs have not come back";
    device_.reset();
    rte_mempool_free(pool_);
  }
  // In pieces that end at `ends`, which ascend, and at the last byte.
  rte_mbuf* frame(const PacketBytes& bytes, std::vector<size_t> ends = {}) {
    ends.push_back(bytes.size());
    rte_mbuf *first = nullptr, *last = nullptr;
    size_t begin = 0;
    for (const size_t end : ends) {
      rte_mbuf* const piece = rte_pktmbuf_alloc(pool_);
      EXPECT_NE(piece, nullptr);
      std::copy(bytes.begin() + static_cast<ptrdiff_t>(begin), bytes.begin() + static_cast<ptrdiff_t>(end),
                rte_pktmbuf_mtod(piece, uint8_t*));
      piece->data_len = static_cast<uint16_t>(end - begin);
      begin = end;
      if (last)
        last->next = piece;
      else
        first = piece;
      last = piece;
    }
    first->nb_segs = static_cast<uint16_t>(ends.size());
    first->pkt_len = static_cast<uint32_t>(bytes.size());
    return first;
  }
  void send(rte_mbuf* mbuf) { ASSERT_EQ(rte_eth_tx_burst(port_, 0, &mbuf, 1), 1); }
  LentFrame received() {
    const auto frames = receive(4);
    EXPECT_EQ(frames.size(), 1u);
    return frames.empty() ? LentFrame{} : frames.front();
  }

  rte_mempool* pool_ = nullptr;
  uint16_t port_ = 0;
};

TEST_F(DpdkRing, FramesAreLentWhereTheyLie) {
  const PacketBytes bytes = ethernet_ipv4_packet(kFrom, kTo);
  rte_mbuf* const mbuf = frame(bytes);
  send(mbuf);
  const LentFrame lent = received();
  EXPECT_EQ(lent.data, rte_pktmbuf_mtod(mbuf, const uint8_t*));
  EXPECT_EQ(lent.captured, bytes.size());
  EXPECT_EQ(lent.original, bytes.size());
  EXPECT_EQ(lent.time_ns, 0);
  EXPECT_TRUE(receive(4).empty());
}

TEST_F(DpdkRing, HowAFrameIsCutIntoMbufsChangesNoVerdict) {
  std::mt19937_64 random(kDpdkSeed);
  for (uint64_t run = 0; run < runs(200, 20000); ++run) {
    SCOPED_TRACE("run " + std::to_string(run) + ", seed " + std::to_string(kDpdkSeed));
    PacketBuilder builder;
    builder.ethernet(kVlanType);
    for (uint64_t tags = random() % 4; tags > 0; --tags) builder.vlan(7, kVlanType);
    const PacketBytes bytes = builder.vlan(7, kIpv4Type).ipv4(kFrom, kTo).payload(random() % 300).bytes();
    std::vector<size_t> ends(random() % 5);
    for (size_t& end : ends) end = random() % bytes.size();
    std::sort(ends.begin(), ends.end());
    send(frame(bytes, ends));
    const LentFrame lent = received();
    EXPECT_EQ(walk_frame(lent), (Walked{Verdict::counted, kFrom, kTo}));
    EXPECT_EQ(lent.original, bytes.size());
    give_back();
  }
}

TEST_F(DpdkRing, TagsThatTheCardTookOffArePutBack) {
  const PacketBytes bare = ethernet_ipv4_packet(kFrom, kTo);
  const auto tagged = [&](std::initializer_list<uint16_t> types) {
    PacketBuilder builder;
    builder.raw(std::span(bare).first(12));
    for (const uint16_t type : types) builder.number16(type).number16(type == kVlanType ? 0x2042 : 0x0017);
    return builder.raw(std::span(bare).subspan(12)).bytes();
  };
  enum class Room { before, none, shared };
  struct Case {
    uint64_t flags;
    Room room;
    PacketBytes shown;
  };
  const uint64_t one = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
  const uint64_t both = one | RTE_MBUF_F_RX_QINQ | RTE_MBUF_F_RX_QINQ_STRIPPED;
  const std::vector<Case> cases = {
      {0, Room::before, bare},
      {RTE_MBUF_F_RX_VLAN, Room::before, bare},  // it only says what stands in the frame
      {one, Room::before, tagged({kVlanType})},
      {both, Room::before, tagged({kServiceVlanType, kVlanType})},
      {one, Room::none, tagged({kVlanType})},
      {both, Room::none, tagged({kServiceVlanType, kVlanType})},
      {one, Room::shared, tagged({kVlanType})},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    rte_mbuf* const mbuf = frame(bare);
    mbuf->vlan_tci = 0x2042;
    mbuf->vlan_tci_outer = 0x0017;
    mbuf->ol_flags = cases[i].flags;
    if (cases[i].room == Room::none) {
      std::copy(bare.begin(), bare.end(), static_cast<uint8_t*>(mbuf->buf_addr));
      mbuf->data_off = 0;
    }
    if (cases[i].room == Room::shared) rte_mbuf_refcnt_update(mbuf, 1);
    send(mbuf);
    const LentFrame lent = received();
    const PacketBytes shown(lent.data, lent.data + lent.captured);
    EXPECT_EQ(shown, cases[i].shown);
    EXPECT_EQ(lent.original, cases[i].shown.size());
    EXPECT_EQ(walk_frame(lent), (Walked{Verdict::counted, kFrom, kTo}));
    give_back();
    if (cases[i].room != Room::shared) continue;
    const auto* const others = static_cast<const uint8_t*>(mbuf->buf_addr) + RTE_PKTMBUF_HEADROOM;
    EXPECT_TRUE(std::equal(bare.begin(), bare.end(), others)) << "what somebody else uses as well was changed";
    rte_pktmbuf_free(mbuf);
  }
}

TEST_F(Dpdk, StopsReceivingWhileTooMuchIsLent) {
  DpdkOptions options = options_for("net_null0,size=64");
  options.mbufs = 1024;
  open_one(options);
  ASSERT_NE(device_, nullptr);
  size_t lent = 0;
  while (const size_t count = receive(100).size()) {
    lent += count;
    ASSERT_LE(lent, options.mbufs);
  }
  EXPECT_GT(lent, options.mbufs / 2);
  EXPECT_TRUE(queue_->starved());
  EXPECT_EQ(device_->take_losses(), DeviceLosses{});
  give_back();
  EXPECT_FALSE(queue_->starved());
  EXPECT_GT(receive(100).size(), 0u);
}

TEST_F(Dpdk, ReadsACaptureToItsEnd) {
  const test::ScratchFolder folder;
  test::PcapBuilder capture;
  std::vector<PacketBytes> sent;
  for (uint32_t i = 0; i < 5000; ++i) {
    // Some are longer than an mbuf.
    sent.push_back(ethernet_ipv4_packet(kFrom, i, i % 50 == 0 ? 9000 : 60 + i % 100));
    capture.packet(sent.back(), 1'700'000'000'000'000'000 + i * 1000);
  }
  test::write_file(folder / "a.pcap", capture.bytes());
  DpdkOptions options = options_for("net_pcap0,rx_pcap=" + (folder / "a.pcap").string());
  options.mbufs = 64;  // it takes as many as it must have
  open_one(options);
  ASSERT_NE(device_, nullptr);
  uint32_t next = 0;
  while (!queue_->ended()) {
    // Held until it gives no more, so that every mbuf is used several times, and none is missed when there are few.
    const auto lent_frames = receive(37);
    if (lent_frames.empty()) give_back();
    for (const LentFrame& lent : lent_frames) {
      ASSERT_LT(next, sent.size());
      EXPECT_EQ(walk_frame(lent), (Walked{Verdict::counted, kFrom, next}));
      EXPECT_EQ(lent.original, sent[next].size());
      EXPECT_EQ(lent.time_ns, 1'700'000'000'000'000'000 + next * 1000);
      ++next;
    }
  }
  EXPECT_EQ(next, sent.size());
  EXPECT_EQ(device_->take_losses(), DeviceLosses{});
}

TEST_F(Dpdk, ADeviceCanBeOpenedAgain) {
  for (int i = 0; i < 3; ++i) {
    open_one("net_null7,size=128");
    ASSERT_NE(device_, nullptr);
    EXPECT_EQ(device_->name(), "net_null7");
    EXPECT_EQ(receive(4).front().captured, 128u);
    give_back();
    device_.reset();
  }
}

TEST_F(Dpdk, QueuesAreAsManyAsReplicasAndNoMoreThanThereAre) {
  DpdkOptions options = options_for("net_null0");
  options.replicas = 3;
  open_one(options);
  ASSERT_NE(device_, nullptr);
  EXPECT_EQ(device_->queues(), 3u);
  device_.reset();
  const test::ScratchFolder folder;
  test::write_file(folder / "a.pcap", test::PcapBuilder().bytes());
  options.devices = {"net_pcap0,rx_pcap=" + (folder / "a.pcap").string()};
  open_one(options);
  ASSERT_NE(device_, nullptr);
  EXPECT_EQ(device_->queues(), 1u);
}

TEST_F(Dpdk, RefusesWhatItCantUse) {
  const test::ScratchFolder folder;
  DpdkOptions few = options_for("net_null0");
  few.queues = 2000;
  DpdkOptions no_memory = options_for("net_null0");
  no_memory.mbufs = 10'000'000;
  const struct {
    DpdkOptions options;
    const char* text;
    const char* hint;
  } cases[] = {
      {options_for("net_pcap0,rx_pcap=" + (folder / "missing.pcap").string()), "No such file", "dpdk-devbind.py"},
      {options_for("net_nothing0"), "DPDK has no device `net_nothing0`", "dpdk-devbind.py"},
      {options_for("0000:ff:1f.7"), "DPDK has no device `0000:ff:1f.7`", "dpdk-devbind.py"},
      {options_for("net_bonding0,mode=0"), "takes traffic away from this host", "role = \"tap\""},
      {few, "too few receive queues", "queues"},
      {no_memory, "has no memory for 10000000 mbufs", "mbufs"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.options.devices.front());
    const auto opened = open(one.options);
    ASSERT_FALSE(opened.has_value());
    EXPECT_NE(opened.error().text.find(one.text), std::string::npos) << opened.error().text;
    EXPECT_NE(opened.error().hint.find(one.hint), std::string::npos) << opened.error().hint;
  }
}

}  // namespace
}  // namespace trama
