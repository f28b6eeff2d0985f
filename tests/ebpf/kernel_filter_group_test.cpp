// Modules on several interfaces at once, as a live source has them.
#include "ebpf/kernel_filter_group.hpp"

#include <gmock/gmock.h>

#include <chrono>

#include "ebpf/kernel_privileges.hpp"
#include "tests/ebpf/kernel_filter_pieces.hpp"
#include "tests/support/filter_objects.hpp"
#include "tests/support/kernel_links.hpp"
#include "tests/support/network_namespace.hpp"
#include "tests/support/packet_builder.hpp"

namespace trama::ebpf {
namespace {

using test::FrameSocket;
using test::NetworkNamespace;
using test::shipped;
using testing::HasSubstr;
using testing::Not;

class KernelFilterGroupTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!network_.why_not().empty()) GTEST_SKIP() << network_.why_not();
    if (const auto may = check_capabilities(); !may) GTEST_SKIP() << may.error().text;
    for (const std::string number : {"0", "1"}) network_.add_pair("tap" + number, "wire" + number);
    inside_.emplace(network_);
  }
  std::string links() const { return network_.run("ip link"); }

  // Waits until so many more have been removed; then no others are.
  void expect_removed(KernelFilterGroup& group, uint64_t packets) const {
    uint64_t removed = 0;
    const auto deadline = std::chrono::steady_clock::now() + kLimit;
    while (removed < packets && std::chrono::steady_clock::now() < deadline) removed += group.take_removed();
    EXPECT_EQ(removed, packets);
    EXPECT_EQ(group.take_removed(), 0u);
  }

  NetworkNamespace network_;
  std::optional<NetworkNamespace::Inside> inside_;
};

TEST_F(KernelFilterGroupTest, RemovesOnEveryInterface) {
  const KernelFilterGroupOptions options = {
      .objects = {shipped("privacy_ranges"), shipped("ports")},
      .contents = {.ranges = {"10.0.0.0/8:either"}, .entries = {"ports: any = 1", "ports: tcp/22 = 0"}},
  };
  const auto group = KernelFilterGroup::attach({"tap0", "tap1"}, options);
  ASSERT_TRUE(group) << describe(group.error());
  EXPECT_EQ((*group)->describe(),
            (std::vector<std::string>{"tap0: filters in native mode", "tap1: filters in native mode"}));
  EXPECT_EQ((*group)->unfiltered(), nullptr);
  EXPECT_EQ((*group)->take_removed(), 0u);

  FrameSocket first("wire0"), second("wire1"), behind("tap1");
  for (int i = 0; i < 3; ++i) first.send(ethernet_ipv4_packet(kInside, kOutside));
  for (int i = 0; i < 4; ++i) second.send(ethernet_ipv4_packet(kOutside, kInside));
  expect_removed(**group, 7);
  second.send(ethernet_ipv4_packet(kOutside, kOutside));
  EXPECT_TRUE(behind.receive(kLimit));

  ASSERT_TRUE((*group)->replace({.ranges = {"11.0.0.0/8:source"}, .entries = {"ports: any = 1"}}));
  second.send(ethernet_ipv4_packet(kInside, kInside));
  EXPECT_TRUE(behind.receive(kLimit));
  first.send(ethernet_ipv4_packet(kOutside, kInside));
  second.send(ethernet_ipv4_packet(kOutside, kInside));
  expect_removed(**group, 2);

  EXPECT_FALSE((*group)->replace({.ranges = {"11.0.0.0/8:source", "no range"}}));
  first.send(ethernet_ipv4_packet(kOutside, kInside));
  expect_removed(**group, 1);

  // Without an entry for it, `ports` keeps nothing: what isn't in the new list is gone.
  ASSERT_TRUE((*group)->replace({.entries = {"ports: tcp/22 = 1"}}));
  first.send(ethernet_ipv4_packet(kInside, kInside));
  expect_removed(**group, 1);
}

TEST_F(KernelFilterGroupTest, AllInterfacesOrNone) {
  const KernelFilterGroupOptions options = {.objects = {shipped("privacy_ranges")},
                                            .contents = {.ranges = {"10.0.0.0/8:either"}}};
  const auto there = KernelFilterGroup::attach({"tap1"}, options);
  ASSERT_TRUE(there) << describe(there.error());
  const auto both = KernelFilterGroup::attach({"tap0", "tap1"}, options);
  ASSERT_FALSE(both);
  EXPECT_THAT(both.error().text, HasSubstr("interface tap1 has an XDP program already"));
  EXPECT_THAT(network_.run("ip link show dev tap0"), Not(HasSubstr("xdp")));
  EXPECT_EQ((*there)->unfiltered(), nullptr);
}

TEST_F(KernelFilterGroupTest, AnInterfaceThatLostItsFilterIsNamed) {
  const KernelFilterGroupOptions options = {.objects = {shipped("privacy_ranges")},
                                            .contents = {.ranges = {"10.0.0.0/8:either"}}};
  const auto group = KernelFilterGroup::attach({"tap0", "tap1"}, options);
  ASSERT_TRUE(group) << describe(group.error());
  network_.run("ip link delete dev tap1");
  EXPECT_EQ((*group)->unfiltered(), nullptr) << "nothing comes from there any more";
  // The other one takes a new list all the same.
  const auto replaced = (*group)->replace({.ranges = {"11.0.0.0/8:source"}});
  ASSERT_TRUE(replaced) << describe(replaced.error());
  FrameSocket wire("wire0");
  wire.send(ethernet_ipv4_packet(kOutside, kInside));
  expect_removed(**group, 1);
  test::take_filters_off();
  EXPECT_FALSE((*group)->replace({.ranges = {"10.0.0.0/8:source"}}));
  ASSERT_NE((*group)->unfiltered(), nullptr);
  EXPECT_EQ(*(*group)->unfiltered(), "tap0");
}

TEST_F(KernelFilterGroupTest, RefusesWhatNoModuleTakes) {
  struct Case {
    KernelFilterGroupOptions options;
    const char* text;
  };
  const Case cases[] = {
      {{.objects = {shipped("ports")}, .contents = {.ranges = {"10.0.0.0/8:either"}}}, "no module has the maps"},
      {{.objects = {shipped("ports")}, .contents = {.entries = {"ports: any = 1", "prots: 192.0.2.7 = 1"}}},
       "entry 2: it names no map of the modules"},
      {{.objects = {shipped("privacy_ranges"), shipped("ports")},
        .contents = {.entries = {"ranges_v4: 10.0.0.0/8 = 1", "ports: xyz = 1"}}},
       "entry 2: ports.bpf.o: map ports"},
      {{.objects = {shipped("missing")}}, "missing.bpf.o: No such file"},
  };
  for (const Case& one : cases) {
    const auto group = KernelFilterGroup::attach({"tap0"}, one.options);
    ASSERT_FALSE(group) << one.text;
    EXPECT_THAT(describe(group.error()), HasSubstr(one.text));
    EXPECT_THAT(describe(group.error()), Not(HasSubstr("192.0.2.7")));
  }
  EXPECT_THAT(links(), Not(HasSubstr("xdp")));
}

}  // namespace
}  // namespace trama::ebpf
