// Modules as they ship, and what is asked of every module: declarations, contents of maps, verdicts.
#include "ebpf/filter_module.hpp"

#include <gmock/gmock.h>

#include "ebpf/loader.hpp"
#include "ebpf/map_entries.hpp"
#include "ebpf/trama_filter.h"
#include "tests/ebpf/sandbox.hpp"
#include "tests/support/filter_objects.hpp"
#include "tests/support/packet_builder.hpp"

namespace trama::ebpf {
namespace {

using test::shipped;
using testing::HasSubstr;

constexpr uint32_t kMostBytes = 2048;

std::shared_ptr<FilterModule> load(const std::string& name, const ModuleOptions& options = {}) {
  auto module = FilterModule::load(shipped(name), options);
  EXPECT_TRUE(module) << (module ? "" : describe(module.error()));
  return module ? *module : nullptr;
}

std::string refusal(const std::string& name, const ModuleOptions& options) {
  const auto module = FilterModule::load(shipped(name), options);
  EXPECT_FALSE(module);
  return module ? "" : describe(module.error());
}

class Judge {
 public:
  explicit Judge(std::shared_ptr<FilterModule> module)
      : module_(std::move(module)), replica_(*module_, 0, kMostBytes) {}
  Decision operator()(const PacketBytes& bytes) {
    const CapturedPacket packet(bytes);
    replica_.begin_batch();
    const Decision decision = replica_.judge({packet.data(), packet.captured()}, 0);
    replica_.end_batch();
    return decision;
  }
  FilterReplica& replica() { return replica_; }
  uint64_t counted(uint32_t slot) const {
    const auto bytes = module_->maps().find("verdicts")->read(bytes_of(slot));
    trama_counter counter{};
    std::memcpy(&counter, bytes->data(), sizeof counter);
    return counter.packets;
  }

 private:
  std::shared_ptr<FilterModule> module_;
  FilterReplica replica_;
};

std::vector<bpf_insn> exit_with(int32_t verdict) { return Assembler().mov_imm(0, verdict).exit().code(); }

PacketBytes frame(uint32_t source, uint32_t destination) { return ethernet_ipv4_packet(source, destination); }

TEST(ShippedModules, LoadAreProvenAndRunInParallel) {
  for (const char* name : {"privacy_ranges", "ports", "sample", "prefix_count", "template"}) {
    SCOPED_TRACE(name);
    const auto module = load(name);
    ASSERT_TRUE(module);
    EXPECT_TRUE(module->meanings().declared);
    EXPECT_FALSE(module->needs_copy());
    EXPECT_FALSE(module->properties().serial()) << module->properties().why_serial();
    EXPECT_LE(module->analysis().programs[0].unproven, 1u);
  }
}

// Reads a byte beyond its own frame, at a distance that only the packet's length tells, and leaves another there.
TEST(FilterModule, WhatAPacketLeftOnTheStackIsGone) {
  const auto code = Assembler()
                        .load(BPF_W, 2, 1, 0)
                        .load(BPF_W, 3, 1, 4)
                        .alu(BPF_SUB, 3, 2)
                        .mov(4, 10)
                        .alu(BPF_ADD, 4, 3)
                        .load(BPF_B, 5, 4, 0)
                        .store_imm(BPF_B, 4, 0, 1)
                        .mov_imm(0, XDP_PASS)
                        .alu(BPF_SUB, 0, 5)
                        .exit()
                        .code();
  for (const Engine engine : {Engine::interpreter, Engine::automatic}) {
    auto module = FilterModule::make(object_of({code}), {.engine = engine});
    ASSERT_TRUE(module) << describe(module.error());
    Judge judge(*module);
    for (int packet = 0; packet < 3; ++packet) EXPECT_EQ(judge(frame(1, 2)), Decision::pass);
  }
}

struct RangeCase {
  const char* range;
  uint32_t source, destination;
  bool excluded;
};

TEST(PrivacyRangesModule, JudgesSides) {
  constexpr uint32_t kIn = 0x0A010203, kIn2 = 0x0AFFFFFF, kReversed = 0x0302010A, kOut = 0xC0000201;
  const RangeCase cases[] = {{"10.0.0.0/8:either", kIn, kOut, true},        {"10.0.0.0/8:either", kOut, kIn, true},
                             {"10.0.0.0/8:either", kOut, kReversed, false}, {"10.0.0.0/8:source", kIn, kOut, true},
                             {"10.0.0.0/8:source", kOut, kIn, false},       {"10.0.0.0/8:destination", kOut, kIn, true},
                             {"10.0.0.0/8:destination", kIn, kOut, false},  {"10.0.0.0/8:both", kIn, kOut, false},
                             {"10.0.0.0/8:both", kIn, kIn2, true},          {"0.0.0.0/0:source", kOut, kIn, true},
                             {"10.1.2.2/31:either", kIn, kOut, true},       {"10.1.2.0/31:either", kIn, kOut, false},
                             {"10.1.2.3/32:either", kIn, kOut, true},       {"10.1.2.4/32:either", kIn, kOut, false}};
  for (const RangeCase& one : cases) {
    SCOPED_TRACE(std::string(one.range) + (one.excluded ? " excludes" : " passes"));
    Judge judge(load("privacy_ranges", {.ranges = {one.range}}));
    EXPECT_EQ(judge(frame(one.source, one.destination)), one.excluded ? Decision::excluded : Decision::pass);
  }
}

TEST(PrivacyRangesModule, InnerRangesKeepTheSidesOfOuterOnes) {
  Judge judge(load("privacy_ranges", {.ranges = {"10.1.0.0/16:destination", "10.0.0.0/8:source", "10.1.2.0/24:both"}}));
  EXPECT_EQ(judge(frame(0x0A010203, 1)), Decision::excluded);
  EXPECT_EQ(judge(frame(1, 0x0A010203)), Decision::excluded);
  EXPECT_EQ(judge(frame(1, 0x0A020203)), Decision::pass);
}

TEST(PrivacyRangesModule, LooksThroughTagsAndDropsWhatItCannotJudge) {
  Judge judge(load("privacy_ranges", {.ranges = {"10.0.0.0/8:either", "2001:db8::/32:either"}}));
  constexpr uint16_t kTags[] = {kVlanType, kServiceVlanType, kOldVlanType, kOtherVlanType};
  for (const uint32_t source : {0x0A000001u, 0x0B000001u}) {
    for (size_t tags = 0; tags <= 9; ++tags) {
      SCOPED_TRACE(std::to_string(tags) + " tags");
      PacketBuilder builder;
      builder.ethernet(tags == 0 ? kIpv4Type : kTags[0]);
      for (size_t tag = 1; tag <= tags; ++tag) builder.vlan(7, tag == tags ? kIpv4Type : kTags[tag % 4]);
      const PacketBytes whole = builder.ipv4(source, 0xC0000201).payload(20).bytes();
      const bool hit = source == 0x0A000001u || tags > 8;
      EXPECT_EQ(judge(whole), hit ? Decision::excluded : Decision::pass);
      for (size_t bytes = 0; bytes < 14 + 4 * tags + 20; ++bytes)
        EXPECT_EQ(judge(PacketBytes(whole.begin(), whole.begin() + static_cast<int64_t>(bytes))), Decision::excluded);
    }
  }
  EXPECT_EQ(judge(PacketBuilder().ethernet(kArpType).payload(28).bytes()), Decision::excluded);
  EXPECT_EQ(judge(PacketBuilder().ethernet(kMplsType).mpls(1, true).ipv4(1, 2).bytes()), Decision::excluded);
  EXPECT_EQ(judge(PacketBuilder().ethernet(kIpv4Type).ipv4(1, 2, 0x44).bytes()), Decision::excluded);
  EXPECT_EQ(judge(PacketBuilder().ethernet(kIpv6Type).ipv6().bytes()), Decision::excluded);
  Judge other(load("privacy_ranges", {.ranges = {"2001:db9::/32:either"}}));
  EXPECT_EQ(other(PacketBuilder().ethernet(kIpv6Type).ipv6().bytes()), Decision::pass);
  EXPECT_GT(judge.counted(TRAMA_COUNT_UNJUDGED), 0u);
}

TEST(PortsModule, TheFirstEntryDecides) {
  const auto packet = [](uint8_t protocol, uint16_t source, uint16_t destination, size_t payload = 4) {
    PacketBytes bytes = PacketBuilder().ethernet(kIpv4Type).ipv4(1, 2).number16(source).number16(destination).bytes();
    bytes[14 + 9] = protocol;
    bytes.resize(34 + payload);
    return bytes;
  };
  {
    Judge judge(load("ports"));
    EXPECT_EQ(judge(packet(6, 443, 5000)), Decision::filtered);
  }
  Judge judge(load("ports", {.entries = {"ports: tcp/443 = 1", "ports: tcp/22 = 0", "ports: udp = 1"}}));
  EXPECT_EQ(judge(packet(6, 443, 5000)), Decision::pass);
  EXPECT_EQ(judge(packet(6, 5000, 443)), Decision::pass);
  EXPECT_EQ(judge(packet(6, 22, 443)), Decision::filtered);
  EXPECT_EQ(judge(packet(6, 5000, 80)), Decision::filtered);
  EXPECT_EQ(judge(packet(17, 1, 2)), Decision::pass);
  EXPECT_EQ(judge(packet(1, 443, 443)), Decision::filtered);
  EXPECT_EQ(judge(packet(6, 443, 5000, 3)), Decision::filtered) << "ports that were cut";
  PacketBytes fragment = packet(6, 443, 443);
  fragment[14 + 7] = 1;
  EXPECT_EQ(judge(fragment), Decision::filtered);
  Judge rest(load("ports", {.entries = {"ports: tcp/22 = 0", "ports: any = 1"}}));
  EXPECT_EQ(rest(packet(6, 22, 1)), Decision::filtered);
  EXPECT_EQ(rest(packet(6, 23, 1)), Decision::pass);
}

TEST(SampleModule, KeepsWholeFlowsAndFailsUntilItIsSet) {
  {
    Judge judge(load("sample"));
    EXPECT_EQ(judge(frame(1, 2)), Decision::fault);
    EXPECT_THAT(judge.replica().describe_fault(), HasSubstr("XDP_ABORTED"));
  }
  Judge judge(load("sample", {.entries = {"one_in: 0 = 10"}}));
  int kept = 0;
  for (uint32_t flow = 0; flow < 5000; ++flow) {
    const Decision there = judge(frame(0x0A000000 + flow, 0xC0000201));
    ASSERT_EQ(there, judge(frame(0xC0000201, 0x0A000000 + flow)));
    kept += there == Decision::pass;
  }
  EXPECT_GT(kept, 400);
  EXPECT_LT(kept, 600);
}

TEST(PrefixCountModule, CountsTheLongestPrefix) {
  const auto module =
      load("prefix_count", {.entries = {"prefixes_v4: 10.0.0.0/8 = 1", "prefixes_v4: 10.1.0.0/16 = 2"}});
  Judge judge(module);
  EXPECT_EQ(judge(frame(0x0A010203, 0x0A020304)), Decision::pass);
  EXPECT_EQ(judge(frame(0x0A020304, 0x0B000000)), Decision::pass);
  const auto counter = [&](uint32_t index) {
    trama_prefix_counter value{};
    std::memcpy(&value, module->maps().find("counters")->read(bytes_of(index))->data(), sizeof value);
    return value;
  };
  EXPECT_EQ(counter(1).source_packets, 1u);
  EXPECT_EQ(counter(1).destination_packets, 1u);
  EXPECT_EQ(counter(2).source_packets, 1u);
  EXPECT_EQ(counter(2).destination_packets, 0u);
  EXPECT_EQ(counter(2).source_bytes, 64u);
}

TEST(MapEntries, SayWhatIsWrongAndNeverRepeatKeyOrValue) {
  const std::pair<const char*, const char*> cases[] = {
      {"10.0.0.0/8", "MAP: KEY = VALUE"},
      {"rangs: 10.0.0.0/8 = 1", "it has verdicts, ranges_v4, ranges_v6"},
      {"ranges_v4: 10.11.12.13/8 = 1", "bits set behind its length"},
      {"ranges_v4: 10.0.0.0/33 = 1", "0 to 32"},
      {"ranges_v4: 2001:db8::/32 = 1", "20 bytes"},
      {"ranges_v4: 10.0.0 = 1", "no IP address"},
      {"ranges_v4: 10.0.0.0/8 = x", "no number"},
      {"ranges_v4: 10.0.0.0/8 = 0x100000000", "4 bytes"},
      {"ranges_v4: hex:0a0 = 1", "pairs"},
      {"ranges_v4: hex:0a0b0c0d = 1", "4 bytes"},
      {"verdicts: 3 = hex:00", "16"},
      {".rodata.trama: 0 = 1", "names no map"},
      {"10.11.12.13:443 = 1", "names no map"}};
  for (const auto& [entry, expected] : cases) {
    SCOPED_TRACE(entry);
    const std::string said = refusal("privacy_ranges", {.entries = {"ranges_v4: 11.0.0.0/8 = 1", entry}});
    EXPECT_THAT(said, HasSubstr(expected));
    EXPECT_THAT(said, HasSubstr("entry 2"));
    EXPECT_THAT(said, testing::Not(HasSubstr("10.11.12.13")));
  }
  EXPECT_THAT(refusal("ports", {.ranges = {"10.0.0.0/8:either"}}), HasSubstr("ranges_v4"));
}

TEST(FilterModule, ADeclarationIsReadAndCanBeOverruled) {
  EXPECT_EQ(load("privacy_ranges")->meanings().drop, Meaning::excluded);
  EXPECT_EQ(load("ports")->meanings().drop, Meaning::filtered);
  EXPECT_EQ(load("ports", {.drop = Meaning::excluded})->meanings().drop, Meaning::excluded);
  Object object = object_of({exit_with(XDP_DROP)});
  EXPECT_EQ(declared_meanings(object)->drop, Meaning::excluded) << "an ordinary program";
  MapSpec section = map_spec(".rodata.trama", BPF_MAP_TYPE_ARRAY, 4, 8, 1);
  section.section = Section::rodata;
  for (const auto& [declaration, good] : std::initializer_list<std::pair<trama_declaration, bool>>{
           {{1, 2, 3, 1, 0}, true}, {{2, 1, 1, 1, 0}, false}, {{1, 4, 1, 1, 0}, false}, {{1, 1, 1, 1, 1}, false}}) {
    section.initial_value = bytes_of(declaration);
    object.maps = {section};
    EXPECT_EQ(declared_meanings(object).has_value(), good);
  }
}

TEST(FilterModule, EveryVerdictHasItsMeaning) {
  struct Case {
    int32_t verdict;
    ModuleOptions options;
    Decision decision;
  };
  const Case cases[] = {{XDP_ABORTED, {}, Decision::fault},
                        {XDP_DROP, {}, Decision::excluded},
                        {XDP_DROP, {.drop = Meaning::filtered}, Decision::filtered},
                        {XDP_PASS, {}, Decision::pass},
                        {XDP_TX, {}, Decision::fault},
                        {XDP_TX, {.tx = Meaning::filtered}, Decision::filtered},
                        {XDP_REDIRECT, {}, Decision::fault},
                        {XDP_REDIRECT, {.redirect = Meaning::passed}, Decision::pass},
                        {5, {}, Decision::fault},
                        {-1, {}, Decision::fault}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.verdict);
    auto module = FilterModule::make(object_of({exit_with(one.verdict)}), one.options);
    ASSERT_TRUE(module) << describe(module.error());
    Judge judge(*module);
    EXPECT_EQ(judge(frame(1, 2)), one.decision);
  }
}

// A pointer to the caller's stack, moved by its distance from the packet, is a pointer into the packet, which the
// verifier doesn't see.
std::vector<bpf_insn> stores_behind_the_verifiers_back(int target_register) {
  return Assembler()
      .load(BPF_W, 6, 1, offsetof(xdp_md, data))
      .load(BPF_W, 7, 1, offsetof(xdp_md, data_end))
      .mov(8, 6)
      .add_imm(8, 34)
      .jump(BPF_JGT, 8, 7, "out")
      .store_imm(BPF_DW, 10, -8, 0)
      .store_imm(BPF_DW, 10, -16, 0)
      .map_value(9, 0, 0)
      .mov(1, 10)
      .add_imm(1, -8)
      .mov(2, target_register)
      .call("store")
      .label("out")
      .mov_imm(0, XDP_PASS)
      .exit()
      .label("store")
      .mov(3, 2)
      .alu(BPF_SUB, 3, 1)
      .alu(BPF_ADD, 1, 3)
      .store_imm(BPF_B, 1, 4, 0x5a)
      .mov_imm(0, 0)
      .exit()
      .code();
}

TEST(FilterModule, StoresOnlyWhereTheVerifierSawItStore) {
  const std::pair<const char*, int> targets[] = {{"the packet", 6}, {"a shared map", 9}};
  for (const auto& [name, target_register] : targets) {
    SCOPED_TRACE(name);
    Object object = object_of({stores_behind_the_verifiers_back(target_register)});
    object.maps = {map_spec("shared", BPF_MAP_TYPE_ARRAY, 4, 8, 1)};
    auto module = FilterModule::make(std::move(object), {});
    ASSERT_TRUE(module) << describe(module.error());
    ASSERT_FALSE((*module)->needs_copy());
    FilterReplica replica(**module, 0, kMostBytes);
    const PacketBytes bytes = frame(1, 2);
    const CapturedPacket packet(bytes);
    replica.begin_batch();
    EXPECT_EQ(replica.judge({packet.data(), packet.captured()}, 0), Decision::fault);
    replica.end_batch();
    EXPECT_EQ(replica.fault(), Fault::bad_access);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), packet.data()));
    EXPECT_EQ((*module)->maps()[0].read(bytes_of(uint32_t{0})), bytes_of(uint64_t{0}));
  }
}

TEST(FilterModule, WhatAHelperCopiesCostsSteps) {
  constexpr uint32_t kValueBytes = 1 << 16;
  constexpr int kCopies = 2000;  // some 30,000 instructions, and 2 million steps of 64 bytes
  Object object = object_of({Assembler()
                                 .store_imm(BPF_W, 10, -4, 0)
                                 .store_imm(BPF_W, 10, -8, 1)
                                 .mov_imm(6, kCopies)
                                 .label("again")
                                 .lookup(0, -8)
                                 .jump_imm(BPF_JEQ, 0, 0, "out")
                                 .map(1, 0)
                                 .mov(2, 10)
                                 .add_imm(2, -4)
                                 .mov(3, 0)
                                 .mov_imm(4, 0)
                                 .call(BPF_FUNC_map_update_elem)
                                 .add_imm(6, -1)
                                 .jump_imm(BPF_JNE, 6, 0, "again")
                                 .label("out")
                                 .mov_imm(0, XDP_PASS)
                                 .exit()
                                 .code()});
  object.maps = {map_spec("large", BPF_MAP_TYPE_ARRAY, 4, kValueBytes, 2)};
  Sandbox sandbox(std::move(object));
  sandbox.run();
  EXPECT_EQ(sandbox.fault(), Fault::step_limit);
}

TEST(FilterModule, MapsTogetherAreLimited) {
  Object object = object_of({exit_with(XDP_PASS)});
  for (int i = 0; i < 3; ++i) object.maps.push_back(map_spec("large", BPF_MAP_TYPE_ARRAY, 4, 4096, 100'000));
  const auto maps = Maps::create(object, 1);
  ASSERT_FALSE(maps);
  EXPECT_THAT(describe(maps.error()), HasSubstr("more than 1 GiB"));
}

}  // namespace
}  // namespace trama::ebpf
