// The chain as one program: the kernel runs it on frames of the tests' builders, and the engine on the same ones.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gmock/gmock.h>

#include <cerrno>
#include <cstring>

#include "ebpf/kernel_counters.hpp"
#include "ebpf/kernel_privileges.hpp"
#include "ebpf/kernel_program.hpp"
#include "ebpf/trama_filter.h"
#include "tests/ebpf/kernel_filter_pieces.hpp"
#include "tests/ebpf/sandbox.hpp"
#include "tests/support/packet_builder.hpp"

namespace trama::ebpf {
namespace {

constexpr uint32_t kLeastFrameBytes = 14;  // that the kernel runs a program on by order

std::shared_ptr<FilterModule> load(const std::string& folder, const std::string& name, const ModuleOptions& options) {
  auto module = FilterModule::load(folder + "/" + name + ".bpf.o", options);
  EXPECT_TRUE(module) << describe(module.error());
  return module ? *module : nullptr;
}
std::shared_ptr<FilterModule> shipped_module(const std::string& name, const ModuleOptions& options = {}) {
  return load(TRAMA_FILTERS, name, options);
}

// Every layer that Ethernet frames of the builder may have in front of IPv4.
std::vector<PacketBytes> frames() {
  std::vector<PacketBuilder> starts;
  starts.push_back(PacketBuilder().ethernet(kIpv4Type));
  for (const uint16_t type : {kVlanType, kServiceVlanType, kOldVlanType, kOtherVlanType}) {
    PacketBuilder tagged;
    tagged.ethernet(type);
    for (int tags = 1; tags <= 10; ++tags) {
      starts.push_back(PacketBuilder(tagged).vlan(7, kIpv4Type));
      tagged.vlan(7, type);
    }
  }
  starts.push_back(PacketBuilder().ethernet(kVnTagType).vn_tag(kIpv4Type));
  starts.push_back(PacketBuilder().ethernet(kETagType).e_tag(kIpv4Type));
  starts.push_back(PacketBuilder().ethernet(kPbbType).pbb(5).ethernet(kIpv4Type));
  starts.push_back(PacketBuilder().ethernet(kMplsType).mpls(16, true));
  starts.push_back(PacketBuilder().ethernet(kMplsMulticastType).mpls(16, false).mpls(17, true));
  starts.push_back(PacketBuilder().ethernet(kPppoeType).pppoe().ppp(0x0021));
  starts.push_back(PacketBuilder().ethernet(kPppoeDiscoveryType).pppoe(9));
  starts.push_back(PacketBuilder().ethernet(60).snap(kIpv4Type));
  starts.push_back(PacketBuilder().ethernet(60).llc(0x06, 0x06, 0x03));
  starts.push_back(PacketBuilder().ethernet(kNshType).nsh(1));
  starts.push_back(PacketBuilder().ethernet(kArpType));
  starts.push_back(PacketBuilder().ethernet(0xffff));
  std::vector<PacketBytes> all;
  for (const PacketBuilder& start : starts) {
    for (const uint8_t first_byte : std::initializer_list<uint8_t>{0x45, 0x4f, 0x44, 0x65})
      for (const auto& [source, destination] :
           {std::pair(kInside, kOutside), std::pair(kOutside, kInside), std::pair(kOutside, kOutside)})
        all.push_back(PacketBuilder(start).ipv4(source, destination, first_byte).payload(44).bytes());
  }
  all.push_back(PacketBuilder().ethernet(kIpv6Type).ipv6().payload(20).bytes());
  all.push_back(PacketBuilder().ethernet(kVlanType).vlan(3, kIpv6Type).ipv6(0x40).payload(20).bytes());
  return all;
}

class KernelChain : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto may = check_capabilities(); !may) GTEST_SKIP() << may.error().text;
    const auto nothing = KernelProgram::load({}, {}, nullptr);
    if (!nothing) GTEST_SKIP() << "no program can be loaded here: " << describe(nothing.error());
  }

  void put_into_kernel(const Chain& chain, KernelProgramOptions options = {}) {
    chain_ = chain;
    auto counters = KernelCounters::make(chain.size());
    ASSERT_TRUE(counters) << describe(counters.error());
    counters_.emplace(std::move(*counters));
    options.counters = counters_->descriptor();
    auto program = KernelProgram::load(chain_, options, nullptr);
    ASSERT_TRUE(program) << describe(program.error());
    program_.emplace(std::move(*program));
    replicas_.clear();
    for (const auto& module : chain_) replicas_.push_back(std::make_unique<FilterReplica>(*module, 0, 4096));
    expected_.assign(chain.size(), {});
  }

  // In the place of the chain's only module.
  void put_new(const std::shared_ptr<const FilterModule>& module) {
    chain_ = {module};
    auto next = KernelProgram::load(chain_, {.counters = counters_->descriptor()}, &*program_);
    ASSERT_TRUE(next) << describe(next.error());
    program_.emplace(std::move(*next));
  }

  uint32_t in_kernel(std::span<const uint8_t> frame) {
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(),
                .data_size_in = static_cast<uint32_t>(frame.size()));
    EXPECT_EQ(bpf_prog_test_run_opts(program_->descriptor(), &options), 0) << std::strerror(errno);
    return options.retval;
  }

  // By each module in turn, as the stages of a graph do it.
  bool passes_engine(std::span<const uint8_t> frame) {
    for (size_t module = 0; module < chain_.size(); ++module) {
      FilterReplica& replica = *replicas_[module];
      replica.begin_batch();
      const Decision decision = replica.judge(frame, 0);
      replica.end_batch();
      EXPECT_EQ(replica.fault(), Fault::none) << replica.describe_fault();
      ++expected_[module][std::min<uint64_t>(replica.verdict(), kOtherVerdict)];
      if (decision != Decision::pass) return false;
    }
    return true;
  }

  void expect_the_same(std::span<const uint8_t> frame) {
    ASSERT_EQ(in_kernel(frame), static_cast<uint32_t>(passes_engine(frame) ? XDP_PASS : XDP_DROP));
  }

  std::vector<VerdictCounts> counted() {
    std::vector<VerdictCounts> sums(chain_.size());
    EXPECT_TRUE(counters_->read(sums));
    return sums;
  }

  Chain chain_;
  std::optional<KernelCounters> counters_;
  std::optional<KernelProgram> program_;
  std::vector<std::unique_ptr<FilterReplica>> replicas_;
  std::vector<VerdictCounts> expected_;
};

TEST_F(KernelChain, SameVerdictsAsTheEngineForEveryFrameOfTheBuilders) {
  const std::vector<std::string> ranges = {"10.0.0.0/8:either", "2001:db8::/32:source"};
  const auto privacy = shipped_module("privacy_ranges", {.ranges = ranges});
  const auto ports = shipped_module("ports", {.entries = {"ports: tcp/443 = 1", "ports: any = 1"}});
  const auto sample = shipped_module("sample", {.entries = {"one_in: 0 = 2"}});
  const auto counts = shipped_module("prefix_count", {.entries = {"prefixes_v4: 11.0.0.0/8 = 7"}});
  const auto protocols = shipped_module("template", {.entries = {"wanted: 0 = 1"}});
  const Chain chains[] = {{privacy},          {ports},
                          {sample},           {shipped_module("sample")},
                          {counts},           {protocols},
                          {privacy, ports},   {sample, privacy},
                          {privacy, privacy}, {counts, sample, protocols, ports, privacy}};
  for (size_t number = 0; number < std::size(chains); ++number) {
    SCOPED_TRACE("chain " + std::to_string(number));
    for (const bool frames_in_pieces : {false, true}) {
      put_into_kernel(chains[number], {.frames_in_pieces = frames_in_pieces});
      if (HasFatalFailure()) return;
      size_t at = 0;
      for (const PacketBytes& frame : frames()) {
        SCOPED_TRACE("frame " + std::to_string(at++));
        for (size_t captured = kLeastFrameBytes; captured <= frame.size();
             captured += at % 5 == 0 ? 1 : frame.size() - 14) {
          const CapturedPacket packet(frame, captured);
          expect_the_same({packet.data(), packet.captured()});
          if (HasFatalFailure()) return;
        }
      }
      EXPECT_EQ(counted(), expected_);
    }
  }
}

// Verdicts without a name, as wide as a register, and meanings other than the standard.
TEST_F(KernelChain, EveryVerdictComesToWhatItMeans) {
  const PacketBytes frame = ethernet_ipv4_packet(kInside, kOutside);
  const std::string object = "verdicts";
  struct Case {
    const char* program;
    ModuleOptions options;
  };
  const Case cases[] = {{"drops", {}},
                        {"drops", {.drop = Meaning::passed}},
                        {"aborts", {}},
                        {"sends_back", {}},
                        {"sends_back", {.tx = Meaning::passed}},
                        {"sends_back", {.tx = Meaning::filtered}},
                        {"redirects", {.redirect = Meaning::passed}},
                        {"redirects", {.redirect = Meaning::excluded}}};
  for (const Case& one : cases) {
    ModuleOptions options = one.options;
    options.program = one.program;
    SCOPED_TRACE(one.program);
    put_into_kernel({load(TRAMA_TEST_FILTERS, object, options)});
    if (HasFatalFailure()) return;
    expect_the_same(frame);
    EXPECT_EQ(counted(), expected_);
  }
}

TEST_F(KernelChain, NumbersThatAreNoVerdictsAreFaults) {
  for (const int32_t verdict : {5, 77, -1}) {
    SCOPED_TRACE(verdict);
    Object object;
    object.name = "made";
    object.programs.push_back(
        {"made", {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, verdict}, {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}}, {}});
    auto module = FilterModule::make(std::move(object), {});
    ASSERT_TRUE(module) << describe(module.error());
    put_into_kernel({*module});
    if (HasFatalFailure()) return;
    expect_the_same(ethernet_ipv4_packet(kInside, kOutside));
    EXPECT_EQ(counted(), (std::vector<VerdictCounts>{{0, 0, 0, 0, 0, 1}}));
  }
}

// Constants, variables, functions, and a program array with a slot: all of them as in the engine.
TEST_F(KernelChain, VariablesFunctionsAndTailCalls) {
  for (const char* name : {"features", "features_v1", "features_v3"}) {
    SCOPED_TRACE(name);
    const auto module = load(TRAMA_TEST_FILTERS, name, {.program = "first"});
    ASSERT_TRUE(module->properties().tail_calls);
    const auto second = shipped_module("ports", {.entries = {"ports: any = 1"}});
    put_into_kernel({second, module, second});
    if (HasFatalFailure()) return;
    for (const size_t bytes : {size_t{50}, size_t{99}, size_t{100}, size_t{200}})
      expect_the_same(ethernet_ipv4_packet(kInside, kOutside, bytes - 34));
    EXPECT_EQ(counted(), expected_);
    EXPECT_EQ(expected_[1], (VerdictCounts{0, 2, 2, 0, 0, 0}));
  }
}

TEST_F(KernelChain, ANewProgramGoesOnCountingAndTakesTheNewRanges) {
  const auto module = shipped_module("privacy_ranges", {.ranges = {"10.0.0.0/8:either"}});
  put_into_kernel({module});
  if (HasFatalFailure()) return;
  const PacketBytes frame = ethernet_ipv4_packet(kInside, kOutside);
  EXPECT_EQ(in_kernel(frame), static_cast<uint32_t>(XDP_DROP));

  put_new(shipped_module("privacy_ranges"));
  EXPECT_EQ(in_kernel(frame), static_cast<uint32_t>(XDP_PASS));
  EXPECT_EQ(counted(), (std::vector<VerdictCounts>{{0, 1, 1, 0, 0, 0}}));

  const Map* const verdicts = module->maps().find("verdicts");
  ASSERT_TRUE(verdicts);
  std::vector<trama_counter> by_processor(static_cast<size_t>(libbpf_num_possible_cpus()));
  uint64_t dropped = 0;
  const uint32_t key = TRAMA_COUNT_DROPPED;
  ASSERT_EQ(bpf_map_lookup_elem(program_->maps(0).descriptor(verdicts->index()), &key, by_processor.data()), 0);
  for (const trama_counter& counter : by_processor) dropped += counter.packets;
  EXPECT_EQ(dropped, 1u) << "from before the change";
}

// A list of prefixes is replaced although programs count into its values.
TEST_F(KernelChain, AListThatIsCountedIntoIsReplacedToo) {
  const auto module_with = [](const std::vector<std::string>& entries) {
    MapSpec prefixes = map_spec("prefixes", BPF_MAP_TYPE_LPM_TRIE, sizeof(trama_prefix_v4), 8, 4);
    prefixes.flags = BPF_F_NO_PREALLOC;
    const std::vector<bpf_insn> code = Assembler()
                                           .store_imm(BPF_W, 10, -8, 32)
                                           .store_imm(BPF_W, 10, -4, 0)
                                           .lookup(0, -8)
                                           .jump_imm(BPF_JEQ, 0, 0, "out")
                                           .mov_imm(1, 1)
                                           .atomic(BPF_DW, BPF_ADD, 0, 0, 1)
                                           .mov_imm(0, XDP_PASS)
                                           .exit()
                                           .label("out")
                                           .mov_imm(0, XDP_DROP)
                                           .exit()
                                           .code();
    auto module = FilterModule::make(object_of({code}, {prefixes}), {.entries = entries});
    EXPECT_TRUE(module) << describe(module.error());
    return module ? *module : nullptr;
  };
  const PacketBytes frame = ethernet_ipv4_packet(kInside, kOutside);
  put_into_kernel({module_with({"prefixes: 0.0.0.0/8 = 1"})});
  if (HasFatalFailure()) return;
  EXPECT_EQ(in_kernel(frame), static_cast<uint32_t>(XDP_PASS));
  put_new(module_with({}));
  EXPECT_EQ(in_kernel(frame), static_cast<uint32_t>(XDP_DROP));
}

// Without a socket behind the queue a packet goes on to the host.
TEST_F(KernelChain, PassesToTheHostWhereNoSocketIs) {
  const Descriptor sockets(bpf_map_create(BPF_MAP_TYPE_XSKMAP, "sockets", 4, 4, 8, nullptr));
  ASSERT_TRUE(sockets) << std::strerror(errno);
  const PacketBytes inside = ethernet_ipv4_packet(kInside, kOutside),
                    outside = ethernet_ipv4_packet(kOutside, kOutside);
  put_into_kernel({}, {.sockets = sockets.number()});
  EXPECT_EQ(in_kernel(inside), static_cast<uint32_t>(XDP_PASS));
  put_into_kernel({shipped_module("privacy_ranges", {.ranges = {"10.0.0.0/8:either"}})}, {.sockets = sockets.number()});
  EXPECT_EQ(in_kernel(inside), static_cast<uint32_t>(XDP_DROP));
  EXPECT_EQ(in_kernel(outside), static_cast<uint32_t>(XDP_PASS));
}

}  // namespace
}  // namespace trama::ebpf
