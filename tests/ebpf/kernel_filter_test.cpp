// Filters on an interface: one end of a cable in a network namespace, judged by the kernel while frames are sent from
// the other end and received behind the filter.
#include "ebpf/kernel_filter.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gmock/gmock.h>
#include <net/if.h>
#include <netinet/in.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "ebpf/kernel_privileges.hpp"
#include "tests/ebpf/kernel_filter_pieces.hpp"
#include "tests/support/network_namespace.hpp"
#include "tests/support/packet_builder.hpp"

namespace trama::ebpf {
namespace {

using test::FrameSocket;
using test::NetworkNamespace;
using testing::HasSubstr;

constexpr const char* kTap = "tap0";
constexpr const char* kWire = "wire0";
constexpr uint32_t kElsewhere = 0xC0000207;

using Module = std::shared_ptr<FilterModule>;

Module shipped(const std::string& name, const ModuleOptions& options) {
  auto module = FilterModule::load(std::string(TRAMA_FILTERS) + "/" + name + ".bpf.o", options);
  EXPECT_TRUE(module) << describe(module.error());
  return module ? *module : nullptr;
}

Module of_tests(const std::string& program, const ModuleOptions& options = {}) {
  ModuleOptions named = options;
  named.program = program;
  auto module = FilterModule::load(std::string(TRAMA_TEST_FILTERS) + "/verdicts.bpf.o", named);
  EXPECT_TRUE(module) << describe(module.error());
  return module ? *module : nullptr;
}

Module privacy() { return shipped("privacy_ranges", {.ranges = {"10.0.0.0/8:either"}}); }

// The last four bytes of a frame are its number.
PacketBytes frame(uint32_t number, uint32_t source, uint32_t destination, size_t tags = 0, size_t bytes = 64) {
  constexpr uint16_t kTags[] = {kVlanType, kServiceVlanType, kOldVlanType};
  PacketBuilder builder;
  builder.ethernet(tags == 0 ? kIpv4Type : kTags[tags % 3]);
  for (size_t tag = 1; tag <= tags; ++tag) builder.vlan(7, tag == tags ? kIpv4Type : kTags[(tags + tag) % 3]);
  builder.ipv4(source, destination);
  if (builder.size() + sizeof number < bytes) builder.filled(bytes - sizeof number - builder.size());
  return builder.number32(number).bytes();
}

uint32_t number_of(const PacketBytes& bytes) {
  uint32_t number = 0;
  for (size_t at = bytes.size() - 4; at < bytes.size(); ++at) number = number << 8 | bytes[at];
  return number;
}

class KernelFilterTest : public testing::Test {
 protected:
  void make_network(uint32_t mtu = 1500) {
    if (!network_.why_not().empty()) GTEST_SKIP() << network_.why_not();
    if (const auto may = check_capabilities(); !may) GTEST_SKIP() << may.error().text;
    network_.add_pair(kTap, kWire, mtu);
    inside_.emplace(network_);
    wire_.emplace(kWire);
    tap_.emplace(kTap);
  }

  std::unique_ptr<KernelFilter> attach(const std::vector<std::shared_ptr<const FilterModule>>& modules,
                                       KernelMode mode = KernelMode::automatic) {
    auto filter = KernelFilter::attach(kTap, modules, {.mode = mode});
    EXPECT_TRUE(filter) << describe(filter.error());
    return filter ? std::move(*filter) : nullptr;
  }

  // Sends the frames, and gives the numbers of those that came through. The last of them must.
  std::set<uint32_t> through(const std::vector<PacketBytes>& frames) {
    for (const PacketBytes& one : frames) wire_->send(one);
    std::set<uint32_t> numbers;
    const auto deadline = std::chrono::steady_clock::now() + kLimit;
    while (!numbers.contains(number_of(frames.back())) && std::chrono::steady_clock::now() < deadline)
      if (const auto one = tap_->receive(std::chrono::milliseconds(100))) numbers.insert(number_of(*one));
    EXPECT_TRUE(numbers.contains(number_of(frames.back()))) << "the last frame didn't come";
    return numbers;
  }

  std::string links() const { return network_.run("ip link show dev " + std::string(kTap)); }

  NetworkNamespace network_;
  std::optional<NetworkNamespace::Inside> inside_;
  std::optional<FrameSocket> wire_, tap_;
};

struct Way {
  KernelMode mode;
  uint32_t mtu;
  bool frames_in_pieces;
};

class KernelFilterWays : public KernelFilterTest, public testing::WithParamInterface<Way> {};

// Of every number of tags and every size nothing of the excluded range may leak, and everything else comes.
TEST_P(KernelFilterWays, NothingOfAnExcludedRangeLeaks) {
  make_network(GetParam().mtu);
  if (IsSkipped()) return;
  const auto filter = attach({privacy()}, GetParam().mode);
  ASSERT_TRUE(filter);
  EXPECT_EQ(filter->mode(), GetParam().mode);
  EXPECT_EQ(filter->frames_in_pieces(), GetParam().frames_in_pieces);
  EXPECT_EQ(filter->why_generic(), "");
  EXPECT_EQ(filter->state(), KernelFilterState::on);

  std::vector<PacketBytes> frames;
  std::set<uint32_t> harmless;
  uint32_t number = 0;
  for (const size_t bytes : {size_t{64}, size_t{600}, size_t{GetParam().mtu}})
    for (size_t tags = 0; tags <= 3; ++tags) {
      frames.push_back(frame(number++, kInside, kOutside, tags, bytes));
      frames.push_back(frame(number++, kOutside, kInside, tags, bytes));
      harmless.insert(number);
      frames.push_back(frame(number++, kOutside, kElsewhere, tags, bytes));
    }
  EXPECT_EQ(through(frames), harmless);
  const auto counts = filter->counts();
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->excluded, 24u);
  EXPECT_EQ(counts->removed(), 24u);
  EXPECT_EQ(counts->passed, 12u);
}

std::string way_name(const testing::TestParamInfo<Way>& way) {
  return std::string(name_of(way.param.mode)) + std::to_string(way.param.mtu);
}
INSTANTIATE_TEST_SUITE_P(Modes, KernelFilterWays,
                         testing::Values(Way{KernelMode::native, 1500, false}, Way{KernelMode::native, 9000, true},
                                         Way{KernelMode::generic, 1500, false}, Way{KernelMode::generic, 9000, false}),
                         way_name);

// Puts a tag beside every frame that leaves by the interface, not into its bytes: as hardware does that takes tags off.
bool tag_what_leaves(const char* interface) {
  const bpf_insn code[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, htons(kVlanType)},
                           {BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 7},
                           {BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_skb_vlan_push},
                           {BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0},  // TC_ACT_OK
                           {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  const Descriptor program(bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "tag", "GPL", code, std::size(code), nullptr));
  LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = static_cast<int>(::if_nametoindex(interface)),
              .attach_point = BPF_TC_EGRESS);
  LIBBPF_OPTS(bpf_tc_opts, options, .prog_fd = program.number());
  return program && bpf_tc_hook_create(&hook) == 0 && bpf_tc_attach(&hook, &options) == 0;
}

TEST_F(KernelFilterTest, NothingLeaksWhoseTagIsKeptApart) {
  make_network();
  if (IsSkipped()) return;
  if (!tag_what_leaves(kWire)) GTEST_SKIP() << "tags can't be kept apart here: " << std::strerror(errno);
  for (const KernelMode mode : {KernelMode::native, KernelMode::generic}) {
    SCOPED_TRACE(name_of(mode));
    const auto filter = attach({privacy()}, mode);
    ASSERT_TRUE(filter);
    std::vector<PacketBytes> frames;
    for (uint32_t tags = 0; tags <= 2; ++tags) frames.push_back(frame(tags, kInside, kOutside, tags));
    frames.push_back(frame(3, kOutside, kElsewhere));
    EXPECT_EQ(through(frames), std::set<uint32_t>{3});
    EXPECT_EQ(filter->counts()->excluded, 3u);
  }
}

TEST_F(KernelFilterTest, AutomaticIsNativeWhereTheDriverKnowsIt) {
  make_network();
  if (IsSkipped()) return;
  EXPECT_EQ(attach({privacy()})->mode(), KernelMode::native);
  EXPECT_THAT(links(), testing::Not(HasSubstr("xdp")));
}

TEST_F(KernelFilterTest, AutomaticFallsBackAndSaysWhy) {
  make_network();
  if (IsSkipped()) return;
  const std::vector<std::shared_ptr<const FilterModule>> modules = {privacy()};
  const auto filter = KernelFilter::attach("lo", modules, {});
  ASSERT_TRUE(filter) << describe(filter.error());
  EXPECT_EQ((*filter)->mode(), KernelMode::generic);
  EXPECT_THAT((*filter)->why_generic(), HasSubstr("the driver refuses native mode"));
  EXPECT_THAT((*filter)->why_generic(), HasSubstr("MTU 65536"));
  EXPECT_THAT(network_.run("ip link show dev lo"), HasSubstr("xdpgeneric"));

  const auto native = KernelFilter::attach("lo", modules, {.mode = KernelMode::native});
  ASSERT_FALSE(native);
  EXPECT_THAT(native.error().text, HasSubstr("has an XDP program already"));
}

TEST_F(KernelFilterTest, ADriverThatDoesNotKnowNativeModeIsNotForced) {
  make_network();
  if (IsSkipped()) return;
  const std::vector<std::shared_ptr<const FilterModule>> modules = {privacy()};
  const auto native = KernelFilter::attach("lo", modules, {.mode = KernelMode::native});
  ASSERT_FALSE(native);
  EXPECT_THAT(native.error().text, HasSubstr("in native mode"));
  EXPECT_THAT(native.error().hint, HasSubstr("generic mode"));
}

TEST_F(KernelFilterTest, EachModuleOfAChainCountsForItself) {
  make_network();
  if (IsSkipped()) return;
  const Module ports = shipped("ports", {.entries = {"ports: 17/0 = 1"}});  // UDP
  const auto filter = attach({privacy(), ports});
  ASSERT_TRUE(filter);
  const auto with_protocol = [](PacketBytes bytes, uint8_t protocol) {
    bytes[14 + 9] = protocol;
    return bytes;
  };
  std::vector<PacketBytes> frames;
  for (uint32_t number = 0; number < 5; ++number) frames.push_back(frame(number, kInside, kOutside));
  for (uint32_t number = 5; number < 12; ++number)
    frames.push_back(with_protocol(frame(number, kOutside, kElsewhere), 6));
  for (uint32_t number = 12; number < 15; ++number)
    frames.push_back(with_protocol(frame(number, kOutside, kElsewhere), 17));
  EXPECT_EQ(through(frames), (std::set<uint32_t>{12, 13, 14}));
  const auto counts = filter->counts();
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->excluded, 5u);
  EXPECT_EQ(counts->filtered, 7u);
  EXPECT_EQ(counts->fault, 0u);
  EXPECT_EQ(counts->passed, 3u);
  EXPECT_EQ(*filter->verdicts(0), (VerdictCounts{0, 5, 10, 0, 0, 0}));
  EXPECT_EQ(*filter->verdicts(1), (VerdictCounts{0, 7, 3, 0, 0, 0}));
}

TEST_F(KernelFilterTest, UndeclaredVerdictsAreFaultsAndRemoved) {
  make_network();
  if (IsSkipped()) return;
  for (const char* program : {"aborts", "sends_back"}) {
    SCOPED_TRACE(program);
    const auto filter = attach({of_tests(program)});
    ASSERT_TRUE(filter);
    for (uint32_t number = 0; number < 4; ++number) wire_->send(frame(number, kOutside, kElsewhere));
    const auto deadline = std::chrono::steady_clock::now() + kLimit;
    while (filter->counts()->fault < 4 && std::chrono::steady_clock::now() < deadline)
      EXPECT_FALSE(tap_->receive(std::chrono::milliseconds(10)));
    EXPECT_EQ(filter->counts()->fault, 4u);
    EXPECT_EQ(filter->counts()->passed, 0u);
  }
  EXPECT_FALSE(wire_->receive(std::chrono::milliseconds(0))) << "a frame was sent back";
}

TEST_F(KernelFilterTest, DeclaredRedirectsPass) {
  make_network();
  if (IsSkipped()) return;
  for (const KernelMode mode : {KernelMode::native, KernelMode::generic}) {
    SCOPED_TRACE(name_of(mode));
    const auto filter = attach({of_tests("redirects", {.redirect = Meaning::passed})}, mode);
    ASSERT_TRUE(filter);
    EXPECT_EQ(through({frame(1, kOutside, kElsewhere)}), std::set<uint32_t>{1});
    EXPECT_EQ(*filter->verdicts(0), (VerdictCounts{0, 0, 0, 0, 1, 0}));
  }
  EXPECT_FALSE(wire_->receive(std::chrono::milliseconds(0))) << "a frame was redirected";
}

TEST_F(KernelFilterTest, RangesChangeWhileItRuns) {
  make_network();
  if (IsSkipped()) return;
  for (const KernelMode mode : {KernelMode::native, KernelMode::generic}) {
    SCOPED_TRACE(name_of(mode));
    const auto filter = attach({privacy()}, mode);
    ASSERT_TRUE(filter);
    EXPECT_EQ(through({frame(1, kInside, kOutside), frame(2, kElsewhere, kOutside)}), std::set<uint32_t>{2});

    const auto updated = filter->update(std::vector<std::shared_ptr<const FilterModule>>{
        shipped("privacy_ranges", {.ranges = {"192.0.2.0/24:source"}})});
    ASSERT_TRUE(updated) << describe(updated.error());
    EXPECT_EQ(through({frame(3, kInside, kOutside), frame(4, kElsewhere, kOutside), frame(5, kOutside, kElsewhere)}),
              (std::set<uint32_t>{3, 5}));
    EXPECT_EQ(filter->counts()->excluded, 2u);
    EXPECT_EQ(filter->counts()->passed, 3u);
    EXPECT_EQ(filter->state(), KernelFilterState::on);
    EXPECT_EQ(filter->mode(), mode);
  }
}

// Changed all the time between two lists that both hold the range, in different ways: no packet may find it in neither.
TEST_F(KernelFilterTest, NothingLeaksWhileRangesChange) {
  make_network();
  if (IsSkipped()) return;
  const std::vector<std::string> lists[] = {{"10.0.0.0/9:source", "11.0.0.0/8:both", "0.0.0.0/8:source"},
                                            {"10.1.0.0/16:both", "11.0.0.0/9:destination"}};
  const Chain chains[] = {{shipped("privacy_ranges", {.ranges = lists[0]})},
                          {shipped("privacy_ranges", {.ranges = lists[1]})}};
  const auto filter = attach(chains[0]);
  ASSERT_TRUE(filter);
  std::atomic<bool> over{false};
  uint64_t sent = 0;
  std::thread sender([&] {
    FrameSocket wire(kWire);
    for (; !over; ++sent) wire.try_send(frame(1, kInside, kOutside));
  });
  for (uint32_t change = 1; change <= 50; ++change) {
    const auto updated = filter->update(chains[change % 2]);
    EXPECT_TRUE(updated) << describe(updated.error());
  }
  over = true;
  sender.join();
  EXPECT_EQ(through({frame(2, kElsewhere, kElsewhere)}), std::set<uint32_t>{2});
  EXPECT_GT(filter->counts()->excluded, 0u);
  EXPECT_LE(filter->counts()->excluded, sent);
  EXPECT_EQ(filter->counts()->passed, 1u);
}

}  // namespace
}  // namespace trama::ebpf
