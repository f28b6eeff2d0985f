#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "engine/check.hpp"
#include "engine/graph_spec.hpp"
#include "engine/plan.hpp"
#include "modules/messages.hpp"
#include "modules/support/filter_inputs.hpp"
#include "modules/support/run_report.hpp"
#include "tests/modules/xdp_parameters.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

using test::FilterHarness;
using test::object_line;
using test::shipped;
using test::verdict_program;
using testing::HasSubstr;

using Verdicts = std::vector<Verdict>;

constexpr uint32_t kInside = 0x0A000001, kOutside = 0x0B000001, kElsewhere = 0xC0000201;

struct Input {
  PacketBytes bytes;
  uint16_t link = kEthernetLink;
};

// One batch through the stage.
Verdicts judged(FilterHarness& harness, const std::vector<Input>& inputs, RulesShare rules = {}) {
  std::vector<CapturedPacket> packets;
  for (const Input& input : inputs) packets.emplace_back(input.bytes);
  PacketBatch* batch = harness.input();
  if (batch == nullptr) return {};
  batch->count = inputs.size();
  batch->tally = {};
  batch->rules = rules ? rules : harness.services().get<RulesInForce>()->current();
  for (size_t i = 0; i < inputs.size(); ++i) batch->packets[i] = packets[i].packet(inputs[i].link);
  harness.push(batch);
  Verdicts verdicts;
  if (const PacketBatch* out = harness.next())
    for (size_t i = 0; i < out->count; ++i) verdicts.push_back(out->packets[i].verdict);
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_TRUE(std::equal(inputs[i].bytes.begin(), inputs[i].bytes.end(), packets[i].data())) << "packet was changed";
  return verdicts;
}

Verdicts judged(const std::string& parameters, const std::vector<Input>& inputs) {
  FilterHarness harness("xdp", parameters);
  return judged(harness, inputs);
}

std::vector<Diagnostic> refused(const std::string& parameters) {
  FilterHarness harness("xdp", parameters);
  return harness.start();
}

TEST(Xdp, VerdictsMeanWhatTheModuleOrTheGraphSays) {
  const std::vector<Input> one = {{ethernet_ipv4_packet(kOutside, kElsewhere)}};
  const std::pair<std::string, Verdict> cases[] = {
      {object_line(shipped("privacy_ranges")) + "ranges = [\"11.0.0.0/8\"]", Verdict::excluded_module},
      {object_line(shipped("privacy_ranges")) + "ranges = [\"11.0.0.0/8:destination\"]", Verdict::counted},
      {object_line(shipped("privacy_ranges")) + "ranges = [\"11.0.0.0/8\"]\ndrop = \"filtered\"", Verdict::filtered},
      {object_line(shipped("ports")), Verdict::filtered},
      {object_line(shipped("ports")) + "maps = [\"ports: any = 1\"]", Verdict::counted},
      {object_line(shipped("sample")), Verdict::excluded_fault},  // not set up: XDP_ABORTED
      {verdict_program("drops"), Verdict::excluded_module},
      {verdict_program("drops") + "drop = \"passed\"", Verdict::counted},
      {verdict_program("aborts"), Verdict::excluded_fault},
      {verdict_program("sends_back"), Verdict::excluded_fault},
      {verdict_program("sends_back") + "tx = \"filtered\"", Verdict::filtered},
      {verdict_program("redirects") + "redirect = \"passed\"", Verdict::counted},
      {verdict_program("never_ends"), Verdict::excluded_fault}};
  for (const auto& [parameters, verdict] : cases) {
    SCOPED_TRACE(parameters);
    EXPECT_EQ(judged(parameters, one), Verdicts{verdict});
  }
}

TEST(Xdp, JudgesEachBatchByTheRangesItEnteredUnder) {
  const test::ScratchFolder folder;
  const std::string file = folder / "ranges";
  test::write_file(file, std::string("10.0.0.0/8\n"));
  FilterHarness harness("xdp", object_line(shipped("privacy_ranges")) + "files = [\"" + file + "\"]");
  ASSERT_TRUE(harness.start().empty());
  const auto rules = harness.services().get<RulesInForce>();
  const auto inputs = harness.services().get<FilterInputs>();
  EXPECT_EQ(rules->judges(), 1u);
  const std::vector<Input> both = {{ethernet_ipv4_packet(kInside, kElsewhere)},
                                   {ethernet_ipv4_packet(kOutside, kElsewhere)}};
  const Verdicts inside{Verdict::excluded_module, Verdict::counted},
      outside{Verdict::counted, Verdict::excluded_module};
  EXPECT_EQ(judged(harness, both), inside);

  test::write_file(file, std::string("11.0.0.0/8\n"));
  EXPECT_EQ(judged(harness, both), inside);  // nobody has said so yet
  const RulesShare before = rules->current();
  const auto read = inputs->read_again(*rules->current());
  ASSERT_TRUE(read);
  EXPECT_TRUE(*FilterInputs::put_in_force(*read, *rules));
  EXPECT_EQ(difference(before, rules->current()), ClosedBy::exclusions);
  EXPECT_EQ(judged(harness, both), outside);
  EXPECT_EQ(judged(harness, both, before), inside);  // it entered before, and comes later
  EXPECT_FALSE(*FilterInputs::put_in_force(*inputs->read_again(*rules->current()), *rules));

  test::write_file(file, std::string("11.0.0.0/33\n"));
  const auto wrong = inputs->read_again(*rules->current());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().at(0).place.file, file);
  EXPECT_EQ(judged(harness, both), outside);
}

TEST(Xdp, ReadsMapContentsFromFilesAgain) {
  const test::ScratchFolder folder;
  const std::string file = folder / "ports";
  const std::vector<Input> one = {{ethernet_ipv4_packet(kOutside, kElsewhere)}};
  test::write_file(file, std::string("# nothing else\nports: any = 1\n"));
  FilterHarness harness("xdp",
                        object_line(shipped("ports")) + "maps = \"ports: tcp/443 = 1\"\nmap_files = \"" + file + "\"");
  EXPECT_EQ(judged(harness, one), Verdicts{Verdict::counted});
  const auto rules = harness.services().get<RulesInForce>();
  const auto inputs = harness.services().get<FilterInputs>();
  test::write_file(file, std::string("none\n"));
  EXPECT_TRUE(*FilterInputs::put_in_force(*inputs->read_again(*rules->current()), *rules));
  EXPECT_EQ(judged(harness, one), Verdicts{Verdict::filtered});
  test::write_file(file, std::string("ports: any = 1\nports: any/443 = 1\n"));
  const auto wrong = inputs->read_again(*rules->current());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().at(0).place.line, 2);
  EXPECT_THAT(wrong.error().at(0).text, HasSubstr("map ports: the key names a port of any protocol"));
  EXPECT_EQ(judged(harness, one), Verdicts{Verdict::filtered});
}

TEST(Xdp, WhatIsJudgedAlreadyIsNotShown) {
  FilterHarness harness("xdp", verdict_program("drops"));
  const CapturedPacket packet(ethernet_ipv4_packet(kInside, kOutside));
  PacketBatch* batch = harness.input();
  batch->count = 2;
  batch->tally = {};
  batch->rules = harness.services().get<RulesInForce>()->current();
  batch->packets[0] = batch->packets[1] = packet.packet(kEthernetLink);
  batch->packets[0].verdict = Verdict::filtered;
  harness.push(batch);
  const PacketBatch* out = harness.next();
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(out->packets[0].verdict, Verdict::filtered);
  EXPECT_EQ(out->packets[1].verdict, Verdict::excluded_module);
}

TEST(Xdp, OtherLinksAreShownAsEthernetOrExcluded) {
  const auto v4 = [](uint32_t source, PacketBuilder builder = {}) {
    return builder.ipv4(source, kElsewhere).payload(9).bytes();
  };
  auto report = std::make_shared<RunReport>();
  {
    FilterHarness harness("xdp", object_line(shipped("privacy_ranges")) + "ranges = [\"10.0.0.0/8\"]");
    harness.services().add(report);
    EXPECT_EQ(judged(harness, {{v4(kInside), kRawLink},
                               {v4(kOutside), kRawLink},
                               {v4(kInside, PacketBuilder().cooked(kIpv4Type)), kCookedLink},
                               {v4(kOutside, PacketBuilder().cooked(kIpv4Type)), kCookedLink},
                               {v4(kInside, PacketBuilder().ppp(0x0021)), kPppLink},
                               {v4(kOutside, PacketBuilder().ppp(0x0021)), kPppLink},
                               {v4(kOutside, PacketBuilder().cooked(kArpType)), kCookedLink},
                               {PacketBytes(40), 147},
                               {PacketBytes(), kEthernetLink}}),
              (Verdicts{Verdict::excluded_module, Verdict::counted, Verdict::excluded_module, Verdict::counted,
                        Verdict::excluded_module, Verdict::counted, Verdict::excluded_fault, Verdict::excluded_fault,
                        Verdict::excluded_module}));
  }
  const auto messages = report->take_messages();
  ASSERT_EQ(messages.size(), 1u) << "said once";
  EXPECT_THAT(messages[0].text, HasSubstr("Ethernet"));
}

TEST(Xdp, FaultsAreSaidOnceWithTheirPlace) {
  auto report = std::make_shared<RunReport>();
  {
    FilterHarness harness("xdp", verdict_program("never_ends") + "drop = \"excluded\"");
    harness.services().add(report);
    EXPECT_EQ(judged(harness, {{ethernet_ipv4_packet(kInside, 1)}, {ethernet_ipv4_packet(kInside, 2)}}),
              Verdicts(2, Verdict::excluded_fault));
  }
  const auto messages = report->take_messages();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].severity, Severity::warning);
  EXPECT_THAT(messages[0].text, HasSubstr("step limit"));
  EXPECT_THAT(messages[0].text, HasSubstr("never_ends"));
}

// judged() sees that the packet itself stays as it is. The second time the program sees it, it is whole again.
TEST(Xdp, AProgramThatWritesGetsACopy) {
  FilterHarness harness("xdp", verdict_program("writes"));
  const std::vector<Input> inputs(2, {ethernet_ipv4_packet(kInside, kOutside)});
  EXPECT_EQ(judged(harness, inputs), Verdicts(2, Verdict::counted));
  EXPECT_EQ(judged(harness, {{raw_ipv4_packet(kInside, kOutside), kRawLink}}), Verdicts{Verdict::counted});
}

TEST(Xdp, RangesComeFromFilesToo) {
  const test::ScratchFolder folder;
  test::write_file(folder / "ranges.txt", std::string("# private\n10.0.0.0/8:source\n"));
  EXPECT_EQ(judged(object_line(shipped("privacy_ranges")) + "files = [\"" + (folder / "ranges.txt").string() + "\"]",
                   {{ethernet_ipv4_packet(kInside, kOutside)}, {ethernet_ipv4_packet(kOutside, kInside)}}),
            (Verdicts{Verdict::excluded_module, Verdict::counted}));
}

TEST(Xdp, SaysWhatIsWrong) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "no module"},
      {"object = \"/nowhere/a.bpf.o\"", "/nowhere/a.bpf.o"},
      {"object = \"" + std::string(TRAMA_TEST_FILTERS) + "/verdicts.bpf.o\"", "several programs"},
      {verdict_program("redirects"), "redirect"},
      {object_line(shipped("privacy_ranges")) + "program = \"other\"", "no program other"},
      {object_line(shipped("privacy_ranges")) + "ranges = [\"10.0.0.1/8\"]", "10.0.0.0/8"},
      {object_line(shipped("privacy_ranges")) + "maps = [\"range: 1 = 2\"]", "names no map"},
      {object_line(shipped("ports")) + "ranges = [\"10.0.0.0/8\"]", "ranges_v4"},
      {object_line(shipped("ports")) + "drop = \"never\"", "drop"}};
  for (const auto& [parameters, expected] : cases) {
    SCOPED_TRACE(parameters);
    const auto wrong = refused(parameters);
    ASSERT_EQ(wrong.size(), 1u);
    EXPECT_THAT(wrong[0].text + " " + wrong[0].hint, HasSubstr(expected));
  }
}

TEST(Xdp, ASerialModuleHasOneReplica) {
  const auto make = [](size_t replicas) {
    const StageKind* kind = Registry::instance().find("xdp");
    ParameterTable table;
    table.values["object"] = {std::string(TRAMA_TEST_FILTERS) + "/verdicts.bpf.o", {}};
    table.values["program"] = {std::string("every_other"), {}};
    Services services;
    return kind->make(table, {"xdp", {}, {.batch_items = 16, .window_items = 256}, replicas, services});
  };
  EXPECT_TRUE(make(1));
  const auto wrong = make(2);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error()[0].text, HasSubstr("shared maps"));
  EXPECT_THAT(wrong.error()[0].hint, HasSubstr("replicas = 1"));
}

// All that a run with filters leaves in its folder.
std::map<std::string, std::string> archives(const std::string& folder, size_t replicas, uint32_t seed) {
  const std::string many = "replicas = " + std::to_string(replicas) + "\n";
  const std::string text =
      "[graph]\nworkers = " + std::to_string(replicas) +
      "\nwindow_packets = 300\nbatch_packets = " + std::to_string(replicas == 1 ? 64 : 1 + seed % 90) +
      "\nlinks = [\"synthetic -> privacy -> some -> parse -> in_order -> stamp -> anonymize -> build -> serialize -> "
      "by_number -> archive\"]\n[stages.synthetic]\npackets = 3000\nmodel = \"uniform\"\n[stages.privacy]\nkind = "
      "\"xdp\"\n" +
      many + object_line(shipped("privacy_ranges")) +
      "ranges = [\"0.0.0.0/2\", \"128.0.0.0/3:source\"]\n[stages.some]\nkind = \"xdp\"\n" + many +
      object_line(shipped("sample")) + "maps = [\"one_in: 0 = 3\"]\n[stages.parse]\n" + many +
      "[stages.anonymize]\nclear = true\n[stages.in_order]\nkind = \"reorder\"\n[stages.by_number]\nkind = "
      "\"reorder\"\n[stages.archive]\ndirectory = \"" +
      folder + "\"\n";
  auto spec = parse_graph(text, "graph.toml");
  EXPECT_TRUE(spec) << spec.error()[0].text;
  auto checked = check(spec.value(), Registry::instance());
  EXPECT_TRUE(checked) << checked.error()[0].text;
  auto plan = make_plan(std::move(checked.value()), {0, 1, 2, 3});
  EXPECT_TRUE(plan);
  Services services;
  auto runtime = Runtime::make(*plan, services);
  EXPECT_TRUE(runtime) << runtime.error()[0].text;
  if (!runtime) return {};
  (*runtime)->run();
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files[entry.path().filename()] = test::read_text(entry.path());
  return files;
}

TEST(Xdp, SameBytesForAnyReplicas) {
  const test::ScratchFolder folder;
  const auto right = archives((folder / "right").string(), 1, 1);
  ASSERT_GE(right.size(), 2u);
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    EXPECT_EQ(archives((folder / std::to_string(seed)).string(), 1 + seed % 4, seed), right);
  }
}

}  // namespace
}  // namespace trama
