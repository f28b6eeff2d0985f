// How a filter on an interface begins and ends: what is refused and why, and that nothing of it stays.
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "ebpf/kernel_filter.hpp"
#include "ebpf/kernel_privileges.hpp"
#include "tests/ebpf/kernel_filter_pieces.hpp"
#include "tests/support/kernel_links.hpp"
#include "tests/support/network_namespace.hpp"

namespace trama::ebpf {
namespace {

using test::NetworkNamespace;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Chain chain_of(const std::string& object, const ModuleOptions& options) {
  auto module = FilterModule::load(object, options);
  EXPECT_TRUE(module) << describe(module.error());
  return module ? Chain{*module} : Chain{};
}

Chain privacy_chain() {
  return chain_of(std::string(TRAMA_FILTERS) + "/privacy_ranges.bpf.o", {.ranges = {"10.0.0.0/8:either"}});
}

Chain of_tests(const std::string& program) {
  return chain_of(std::string(TRAMA_TEST_FILTERS) + "/verdicts.bpf.o", {.program = program});
}

class KernelFilterEndings : public testing::Test {
 protected:
  void SetUp() override {
    if (!network_.why_not().empty()) GTEST_SKIP() << network_.why_not();
    if (const auto may = check_capabilities(); !may) GTEST_SKIP() << may.error().text;
    network_.add_pair("tap0", "wire0");
    inside_.emplace(network_);
  }
  std::string link() const { return network_.run("ip link show dev tap0"); }

  NetworkNamespace network_;
  std::optional<NetworkNamespace::Inside> inside_;
};

TEST_F(KernelFilterEndings, NothingIsLeftAndItStartsAgain) {
  for (int start = 0; start < 3; ++start) {
    const auto filter = KernelFilter::attach("tap0", privacy_chain(), {});
    ASSERT_TRUE(filter) << describe(filter.error());
    EXPECT_THAT(link(), HasSubstr("prog/xdp"));
  }
  EXPECT_THAT(link(), Not(HasSubstr("xdp")));
}

TEST_F(KernelFilterEndings, NothingIsLeftWhenTheProcessIsKilled) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto filter = KernelFilter::attach("tap0", privacy_chain(), {});
    const char good = filter ? 'y' : 'n';
    if (::write(ready[1], &good, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char good = 0;
  EXPECT_EQ(::read(ready[0], &good, 1), 1);
  EXPECT_EQ(good, 'y');
  EXPECT_THAT(link(), HasSubstr("prog/xdp"));
  ::kill(child, SIGKILL);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  ::close(ready[0]);
  ::close(ready[1]);
  EXPECT_THAT(link(), Not(HasSubstr("xdp")));
  const auto again = KernelFilter::attach("tap0", privacy_chain(), {});
  EXPECT_TRUE(again) << describe(again.error());
}

TEST_F(KernelFilterEndings, AProgramThatIsThereStays) {
  const auto first = KernelFilter::attach("tap0", privacy_chain(), {});
  ASSERT_TRUE(first) << describe(first.error());
  for (const KernelMode mode : {KernelMode::automatic, KernelMode::native, KernelMode::generic}) {
    const auto second = KernelFilter::attach("tap0", privacy_chain(), {.mode = mode});
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().text, HasSubstr("interface tap0 has an XDP program already: trama_filter (number "));
    EXPECT_THAT(second.error().hint, HasSubstr("ip link set dev tap0 xdp off"));
  }
  EXPECT_EQ((*first)->state(), KernelFilterState::on);
  EXPECT_THAT(link(), HasSubstr("prog/xdp"));
}

TEST_F(KernelFilterEndings, AnInterfaceThatVanishesIsNoticed) {
  const auto filter = KernelFilter::attach("tap0", privacy_chain(), {});
  ASSERT_TRUE(filter) << describe(filter.error());
  EXPECT_EQ((*filter)->state(), KernelFilterState::on);
  network_.run("ip link delete dev tap0");
  EXPECT_EQ((*filter)->state(), KernelFilterState::gone);
  const auto updated = (*filter)->update(privacy_chain());
  ASSERT_FALSE(updated);
  EXPECT_THAT(updated.error().hint, HasSubstr("isn't there any more"));
  EXPECT_TRUE((*filter)->counts());
}

TEST_F(KernelFilterEndings, ThatItWasTakenOffIsNoticed) {
  const auto filter = KernelFilter::attach("tap0", privacy_chain(), {});
  ASSERT_TRUE(filter) << describe(filter.error());
  test::take_filters_off();
  EXPECT_THAT(link(), Not(HasSubstr("xdp")));
  EXPECT_EQ((*filter)->state(), KernelFilterState::off);
  EXPECT_FALSE((*filter)->update(privacy_chain()));
}

TEST_F(KernelFilterEndings, IsNotChangedToOtherModules) {
  const auto filter = KernelFilter::attach("tap0", privacy_chain(), {});
  ASSERT_TRUE(filter) << describe(filter.error());
  const Chain twice = {privacy_chain()[0], privacy_chain()[0]};
  const Chain other = chain_of(std::string(TRAMA_FILTERS) + "/ports.bpf.o", {});
  const Chain otherwise = chain_of(std::string(TRAMA_FILTERS) + "/privacy_ranges.bpf.o", {.drop = Meaning::filtered});
  for (const Chain& chain : {Chain{}, twice, other, otherwise}) {
    const auto updated = (*filter)->update(chain);
    ASSERT_FALSE(updated);
    EXPECT_THAT(updated.error().text, HasSubstr("can't be changed to other modules"));
  }
}

TEST_F(KernelFilterEndings, AnInterfaceThatIsNotThere) {
  const auto filter = KernelFilter::attach("tap7", privacy_chain(), {});
  ASSERT_FALSE(filter);
  EXPECT_EQ(filter.error().text, "there is no interface tap7");
}

TEST_F(KernelFilterEndings, ModulesThatDoNotFitAreRefusedWithTheReason) {
  struct Case {
    const char* program;
    const char* text;
  };
  constexpr Case kCases[] = {{"writes", "verdicts.bpf.o writes into packets"},
                             {"every_other", "verdicts.bpf.o writes shared maps"}};
  for (const Case& one : kCases) {
    const auto filter = KernelFilter::attach("tap0", of_tests(one.program), {});
    ASSERT_FALSE(filter) << one.program;
    EXPECT_THAT(filter.error().text, HasSubstr(one.text));
    EXPECT_THAT(filter.error().hint, HasSubstr("inside the engine"));
  }
  EXPECT_THAT(link(), Not(HasSubstr("xdp")));
}

// The engine stops it after so many steps; the kernel doesn't let it begin.
TEST_F(KernelFilterEndings, WhatTheKernelRefusesIsSaidWithItsReasonAndTheLine) {
  Chain chain = privacy_chain();
  chain.push_back(of_tests("never_ends")[0]);
  const auto filter = KernelFilter::attach("tap0", chain, {});
  ASSERT_FALSE(filter);
  EXPECT_THAT(filter.error().text, HasSubstr("verdicts.bpf.o: the kernel doesn't take it: "));
  EXPECT_EQ(filter.error().program, "never_ends");
  EXPECT_GT(filter.error().instruction, 0);
  EXPECT_GT(filter.error().source_line, 0u);
}

// In a thread that gives capabilities up: others keep theirs.
template <class Work>
void without(std::initializer_list<uint32_t> capabilities, const Work& work) {
  std::thread([&] {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
    ASSERT_EQ(::syscall(SYS_capget, &header, sets), 0);
    for (const uint32_t capability : capabilities) sets[CAP_TO_INDEX(capability)].effective &= ~CAP_TO_MASK(capability);
    ASSERT_EQ(::syscall(SYS_capset, &header, sets), 0);
    work();
  }).join();
}

TEST_F(KernelFilterEndings, EachMissingCapabilityIsNamed) {
  struct Case {
    std::initializer_list<uint32_t> without;
    std::vector<std::string> named, others;
  };
  const std::string bpf = "CAP_BPF (", admin = "CAP_NET_ADMIN (", perfmon = "CAP_PERFMON (";
  const Case cases[] = {{{CAP_SYS_ADMIN, CAP_BPF}, {bpf}, {admin, perfmon}},
                        {{CAP_SYS_ADMIN, CAP_NET_ADMIN}, {admin}, {bpf, perfmon}},
                        {{CAP_NET_ADMIN}, {admin}, {bpf, perfmon}},
                        {{CAP_SYS_ADMIN, CAP_PERFMON}, {perfmon}, {bpf, admin}},
                        {{CAP_SYS_ADMIN, CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON}, {bpf, admin, perfmon}, {}}};
  const Chain chain = privacy_chain();
  for (const Case& one : cases) {
    without(one.without, [&] {
      const auto filter = KernelFilter::attach("tap0", chain, {});
      ASSERT_FALSE(filter);
      for (const std::string& name : one.named) EXPECT_THAT(filter.error().text, HasSubstr(name));
      for (const std::string& name : one.others) EXPECT_THAT(filter.error().text, Not(HasSubstr(name)));
      EXPECT_THAT(filter.error().hint, AllOf(HasSubstr("sudo setcap cap_net_raw,cap_net_admin,cap_bpf,cap_perfmon=ep "),
                                             HasSubstr("AmbientCapabilities=")));
    });
  }
  // CAP_SYS_ADMIN stands for two of them.
  without({CAP_BPF, CAP_PERFMON}, [&] {
    EXPECT_TRUE(missing_capabilities().empty());
    EXPECT_TRUE(KernelFilter::attach("tap0", chain, {}));
  });
  // The three are enough.
  without({CAP_SYS_ADMIN, CAP_NET_RAW, CAP_DAC_OVERRIDE, CAP_SYS_RESOURCE}, [&] {
    const auto filter = KernelFilter::attach("tap0", chain, {});
    EXPECT_TRUE(filter) << describe(filter.error());
  });
}

// As after --user: what was attached goes on, counts are told, and only changes are refused.
TEST_F(KernelFilterEndings, CapabilitiesMayBeGivenUpOnceItRuns) {
  const auto filter = KernelFilter::attach("tap0", privacy_chain(), {});
  ASSERT_TRUE(filter) << describe(filter.error());
  without({CAP_SYS_ADMIN, CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON}, [&] {
    EXPECT_TRUE((*filter)->counts());
    EXPECT_EQ((*filter)->state(), KernelFilterState::on);
    const auto updated = (*filter)->update(privacy_chain());
    ASSERT_FALSE(updated);
    EXPECT_THAT(updated.error().text, HasSubstr("CAP_BPF ("));
  });
  EXPECT_TRUE((*filter)->update(privacy_chain()));
}

}  // namespace
}  // namespace trama::ebpf
