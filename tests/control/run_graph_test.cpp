#include "control/run_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "control/builtin_graphs.hpp"
#include "engine/check.hpp"
#include "engine/plan.hpp"
#include "tests/support/scratch_folder.hpp"

namespace trama {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Texts = std::vector<std::string>;

tl::expected<GraphSpec, Diagnostics> graph(const Arguments& arguments, size_t processors = 4) {
  const auto options = parse_run_options(arguments);
  if (!options) return tl::unexpected(Diagnostics{options.error()});
  return make_graph(*options, Registry::instance(), processors);
}

GraphSpec good_graph(const Arguments& arguments, size_t processors = 4) {
  auto spec = graph(arguments, processors);
  EXPECT_TRUE(spec.has_value()) << spec.error().front().text;
  return spec ? *spec : GraphSpec();
}

template <class T>
T value(const GraphSpec& spec, const std::string& stage, const std::string& name) {
  const StageSpec* found = spec.find(stage);
  if (!found || found->parameters.values.count(name) == 0) return T();
  const T* held = std::get_if<T>(&found->parameters.values.at(name).value);
  return held ? *held : T();
}

// A graph file with what the options need, twice where asked.
std::string write_graph(const test::ScratchFolder& folder, const std::string& stages) {
  const std::string path = (folder / "my.toml").string();
  test::write_file(path,
                   "[graph]\nlinks = [\"pcap -> parse -> exclude -> in_order -> stamp -> anonymize -> build -> "
                   "serialize -> by_number -> archive\"]\n[stages.in_order]\nkind = \"reorder\"\n"
                   "[stages.by_number]\nkind = \"reorder\"\n" +
                       stages);
  return path;
}

TEST(BuiltinGraphs, CanAllRun) {
  EXPECT_THAT(builtin_graph_names(),
              testing::UnorderedElementsAre("capture", "dpdk", "live", "memory", "pcap", "synthetic", "xdp"));
  for (const BuiltinGraph& builtin : builtin_graphs()) {
    SCOPED_TRACE(builtin.name);
    auto spec = parse_graph(builtin.text, std::string(builtin.name));
    ASSERT_TRUE(spec.has_value()) << spec.error().front().text;
    // It takes packets away from the machine, and doesn't unless it is told that it may.
    if (builtin.name == "xdp") {
      EXPECT_FALSE(check(*spec, Registry::instance()).has_value());
      EXPECT_FALSE(set_parameter(*spec, "stages.af_xdp.role=\"tap\"", {}).has_value());
    }
    auto checked = check(*spec, Registry::instance());
    ASSERT_TRUE(checked.has_value()) << show(checked.error().front(), spec->lines);
    EXPECT_TRUE(make_plan(std::move(*checked), {0, 1}).has_value());
  }
  EXPECT_EQ(find_builtin_graph("none"), nullptr);
}

TEST(RunGraph, OptionsSetParametersOfTheirStages) {
  const GraphSpec spec = good_graph({"-r",
                                     "a",
                                     "-r",
                                     "b",
                                     "-w",
                                     "out",
                                     "--key",
                                     "k",
                                     "--window-packets",
                                     "1000",
                                     "--windows-per-archive",
                                     "8",
                                     "--compression",
                                     "zstd",
                                     "--index-order",
                                     "raw",
                                     "--exclude",
                                     "10.0.0.0/8",
                                     "--exclude-file",
                                     "e",
                                     "--packets",
                                     "7",
                                     "--sensor",
                                     "roof",
                                     "--set",
                                     "stages.archive.sync=window",
                                     "tcp",
                                     "or",
                                     "udp"});
  EXPECT_THAT(value<Texts>(spec, "pcap", "files"), ElementsAre("a", "b"));
  EXPECT_EQ(value<int64_t>(spec, "pcap", "packets"), 7);
  EXPECT_EQ(value<std::string>(spec, "pcap_filter", "expression"), "tcp or udp");
  EXPECT_THAT(value<Texts>(spec, "exclude", "ranges"), ElementsAre("10.0.0.0/8"));
  EXPECT_THAT(value<Texts>(spec, "exclude", "files"), ElementsAre("e"));
  EXPECT_EQ(value<std::string>(spec, "anonymize", "key_file"), "k");
  EXPECT_EQ(value<std::string>(spec, "build", "index_order"), "raw");
  EXPECT_EQ(value<std::string>(spec, "serialize", "compression"), "zstd");
  EXPECT_EQ(value<std::string>(spec, "archive", "directory"), "out");
  EXPECT_EQ(value<int64_t>(spec, "archive", "windows_per_archive"), 8);
  EXPECT_EQ(value<std::string>(spec, "archive", "sensor"), "roof");
  EXPECT_EQ(value<std::string>(spec, "archive", "sync"), "window");
  EXPECT_EQ(spec.sizes.window_items, 1000u);
  EXPECT_TRUE(check(spec, Registry::instance()).has_value());
}

TEST(RunGraph, InterfacesAreCapturedFromByTheLiveGraph) {
  const GraphSpec spec =
      good_graph({"-i", "eth0", "-i", "eth1", "-p", "--window-timeout", "2.5", "--packets", "7", "udp"});
  EXPECT_THAT(value<Texts>(spec, "af_packet", "interfaces"), ElementsAre("eth0", "eth1"));
  EXPECT_FALSE(value<bool>(spec, "af_packet", "promiscuous"));
  EXPECT_TRUE(spec.find("af_packet")->parameters.values.contains("promiscuous"));
  EXPECT_EQ(value<int64_t>(spec, "af_packet", "packets"), 7);
  EXPECT_EQ(value<double>(spec, "stamp", "window_timeout"), 2.5);
  EXPECT_EQ(value<std::string>(spec, "pcap_filter", "expression"), "udp");
  EXPECT_TRUE(check(spec, Registry::instance()).has_value());
  EXPECT_FALSE(good_graph({"-i", "eth0"}).find("af_packet")->parameters.values.contains("promiscuous"));
}

// Which interface it was, and how its packets were waited for, doesn't change what comes out.
TEST(RunGraph, WhereCapturedIsNoPartOfTheIdentity) {
  const auto identity = [](const Arguments& more) {
    Arguments arguments = {"-i", "eth0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return graph_identity(good_graph(arguments));
  };
  EXPECT_EQ(identity({}), graph_identity(good_graph({"-i", "eth1", "-i", "eth2"})));
  EXPECT_EQ(identity({}), identity({"--set", "stages.af_packet.ring_bytes=1000000", "--replicas", "af_packet=2"}));
  // This hash has no key: whoever guesses an address in a list could see by trying that it is there.
  EXPECT_EQ(identity({}), identity({"--set", "stages.af_packet.kernel_ranges=[\"10.0.0.0/8\"]"}));
  EXPECT_EQ(identity({}), identity({"--set", "stages.af_packet.kernel_maps=[\"ranges_v4: 10.0.0.0/8 = 1\"]"}));
  EXPECT_NE(identity({}), identity({"--set", "stages.af_packet.snap_bytes=100"}));
  EXPECT_NE(identity({}), identity({"--window-timeout", "5"}));
}

TEST(RunGraph, FoldersAreTheStandardUnlessSaid) {
  EXPECT_EQ(value<std::string>(good_graph({"-r", "a"}), "archive", "directory"), "trama-out");
}

TEST(RunGraph, KeyOptionsAreOneChoice) {
  const test::ScratchFolder folder;
  const std::string file =
      write_graph(folder, "[stages.anonymize]\nkey_file = \"old\"\n[stages.pcap]\nfiles = \"a\"\n");
  EXPECT_EQ(value<std::string>(good_graph({file, "--key", "new"}), "anonymize", "key_file"), "new");
  const GraphSpec ephemeral = good_graph({file, "--ephemeral-key"});
  EXPECT_TRUE(value<bool>(ephemeral, "anonymize", "ephemeral"));
  EXPECT_EQ(value<std::string>(ephemeral, "anonymize", "key_file"), "");
  EXPECT_TRUE(value<bool>(good_graph({file, "--no-anonymize"}), "anonymize", "clear"));
  EXPECT_EQ(value<std::string>(good_graph({file}), "anonymize", "key_file"), "old");
}

TEST(RunGraph, RangesAreAddedToThoseOfTheFileAndInputsReplaced) {
  const test::ScratchFolder folder;
  const std::string file = write_graph(
      folder, "[stages.exclude]\nranges = \"10.0.0.0/8\"\nfiles = [\"x\"]\n[stages.pcap]\nfiles = [\"a\", \"b\"]\n");
  const GraphSpec spec = good_graph({file, "--exclude", "192.0.2.0/24", "--exclude-file", "y", "-r", "c"});
  EXPECT_THAT(value<Texts>(spec, "exclude", "ranges"), ElementsAre("10.0.0.0/8", "192.0.2.0/24"));
  EXPECT_THAT(value<Texts>(spec, "exclude", "files"), ElementsAre("x", "y"));
  EXPECT_THAT(value<Texts>(spec, "pcap", "files"), ElementsAre("c"));
}

TEST(RunGraph, ReplicasFollowTheWorkersUnlessSaid) {
  const GraphSpec standard = good_graph({"-r", "a"}, 4);
  for (const char* stage : {"parse", "anonymize", "build", "serialize"})
    EXPECT_EQ(standard.find(stage)->replicas, 4u) << stage;
  for (const char* stage : {"pcap", "in_order", "stamp", "by_number", "archive"})
    EXPECT_EQ(standard.find(stage)->replicas, 1u) << stage;
  const GraphSpec live = good_graph({"-i", "eth0"}, 4);
  EXPECT_EQ(live.find("af_packet")->replicas, 1u);
  EXPECT_EQ(live.find("parse")->replicas, 4u);
  EXPECT_EQ(good_graph({"-i", "eth0", "--replicas", "af_packet=2"}).find("af_packet")->replicas, 2u);
  const GraphSpec said =
      good_graph({"-r", "a", "--workers", "2", "--replicas", "parse=3", "--set", "stages.build.replicas=1"}, 8);
  EXPECT_EQ(said.workers, 2u);
  EXPECT_EQ(said.find("parse")->replicas, 3u);
  EXPECT_EQ(said.find("build")->replicas, 1u);
  EXPECT_EQ(said.find("anonymize")->replicas, 2u);
  const test::ScratchFolder folder;
  EXPECT_EQ(good_graph({write_graph(folder, ""), "-r", "a"}, 8).find("parse")->replicas, 1u);
}

TEST(RunGraph, RefusesOptionsWithoutTheOneStageTheyMean) {
  const test::ScratchFolder folder;
  test::write_file(folder / "null.toml", std::string("[graph]\nlinks = [\"synthetic -> parse -> null\"]\n"));
  test::write_file(folder / "two.toml",
                   std::string("[graph]\nlinks = [\"synthetic -> parse -> a -> b -> stamp -> anonymize -> build -> "
                               "serialize -> archive, other\"]\n[stages.a]\nkind = \"exclude\"\n[stages.b]\nkind = "
                               "\"exclude\"\n[stages.other]\nkind = \"archive\"\n"));
  const std::string none = (folder / "null.toml").string(), two = (folder / "two.toml").string();
  const struct {
    Arguments arguments;
    const char *option, *text, *hint;
  } cases[] = {
      {{none, "-r", "a"}, "-r", "no stage", "pcap"},
      {{none, "-w", "x"}, "-w", "no stage", "archive"},
      {{none, "--key", "x"}, "--key", "no stage", "anonymize"},
      {{none, "--no-anonymize"}, "--no-anonymize", "no stage", "anonymize"},
      {{none, "--exclude", "10.0.0.0/8"}, "--exclude", "no stage", "exclude"},
      {{none, "tcp"}, "filter expression", "no stage", "pcap_filter"},
      {{two, "--exclude-file", "x"}, "--exclude-file", "several stages", "stages.a.files, stages.b.files"},
      {{two, "-w", "x"}, "-w", "several stages", "stages.archive.directory, stages.other.directory"},
      {{"-r", "a", "--replicas", "parse"}, "--replicas", "not STAGE=N", "anonymize=2"},
      {{"-r", "a", "--replicas", "prase=2"}, "--replicas", "no stage `prase`", "parse"},
      {{"-r", "a", "--set", "nonsense"}, "--set", "", "stages.NAME.KEY=VALUE"},
  };
  for (const auto& wrong : cases) {
    SCOPED_TRACE(testing::PrintToString(wrong.arguments));
    const auto spec = graph(wrong.arguments);
    ASSERT_FALSE(spec.has_value());
    EXPECT_EQ(spec.error().front().place.file, wrong.option);
    EXPECT_THAT(spec.error().front().text, HasSubstr(wrong.text));
    EXPECT_THAT(spec.error().front().hint, HasSubstr(wrong.hint));
  }
}

TEST(RunGraph, FiltersJudgeInTheirOrderBeforeTheExpression) {
  const std::string ports = std::string(TRAMA_FILTERS) + "/ports.bpf.o";
  const GraphSpec spec = good_graph({"-r", "a", "--filter", ports, "--filter", "b.bpf.o", "--set",
                                     "stages.filter_2.program=second", "--workers", "3", "tcp"});
  std::string way = "pcap";
  for (std::string at = "pcap"; at != "parse";) {
    const auto link =
        std::find_if(spec.links.begin(), spec.links.end(), [&](const LinkSpec& one) { return one.from == at; });
    ASSERT_NE(link, spec.links.end());
    at = link->to;
    way += " " + at;
  }
  EXPECT_EQ(way, "pcap filter_1 filter_2 pcap_filter parse");
  EXPECT_EQ(value<std::string>(spec, "filter_1", "object"), ports);
  EXPECT_EQ(value<std::string>(spec, "filter_2", "object"), "b.bpf.o");
  EXPECT_EQ(value<std::string>(spec, "filter_2", "program"), "second");
  EXPECT_EQ(spec.find("filter_1")->replicas, 3u);
  EXPECT_TRUE(check(spec, Registry::instance()).has_value());
}

TEST(RunGraph, WhatComesBeforeASerialFilterHasOneReplica) {
  const std::string ports = std::string(TRAMA_FILTERS) + "/ports.bpf.o";
  const std::string serial = std::string(TRAMA_TEST_FILTERS) + "/verdicts.bpf.o";
  const GraphSpec spec =
      good_graph({"-r", "a", "--filter", ports, "--filter", serial, "--filter", ports, "--workers", "3"});
  EXPECT_EQ(spec.find("filter_1")->replicas, 1u);
  EXPECT_EQ(spec.find("filter_2")->replicas, 1u);
  EXPECT_EQ(spec.find("filter_3")->replicas, 3u);
  EXPECT_EQ(spec.find("parse")->replicas, 3u);
}

TEST(RunGraph, BesideAGraphFileAFilterIsTheObjectOfItsStage) {
  const test::ScratchFolder folder;
  test::write_file(folder / "x.toml", std::string("[graph]\nlinks = [\"synthetic -> xdp -> parse -> null\"]\n"));
  const std::string file = (folder / "x.toml").string();
  EXPECT_EQ(value<std::string>(good_graph({file, "--filter", "b.bpf.o"}), "xdp", "object"), "b.bpf.o");
  EXPECT_FALSE(graph({file, "--filter", "b.bpf.o", "--filter", "c.bpf.o"}).has_value());
}

TEST(RunGraph, AllWrongOptionsAreSaidAtOnce) {
  const auto spec = graph({"-r", "a", "--replicas", "x", "--set", "y", "--set", "z"});
  ASSERT_FALSE(spec.has_value());
  EXPECT_EQ(spec.error().size(), 3u);
}

TEST(GraphIdentity, ChangesWithTheResultAlone) {
  const std::string plain = graph_identity(good_graph({"-r", "a"}));
  EXPECT_THAT(plain, testing::MatchesRegex("[0-9a-f]{64}"));
  const Arguments same[] = {{"-r", "b"},
                            {"-r", "a", "-w", "elsewhere"},
                            {"-r", "a", "--key", "k"},
                            {"-r", "a", "--ephemeral-key"},
                            {"-r", "a", "--workers", "1"},
                            {"-r", "a", "--replicas", "parse=9"},
                            {"-r", "a", "--exclude", "10.0.0.0/8"},
                            {"-r", "a", "not host 10.1.2.3"},
                            {"-r", "a", "--sensor", "roof"}};
  for (const Arguments& arguments : same)
    EXPECT_EQ(graph_identity(good_graph(arguments, 7)), plain) << testing::PrintToString(arguments);
  const Arguments other[] = {{"-r", "a", "--window-packets", "5"},
                             {"-r", "a", "--compression", "zstd"},
                             {"-r", "a", "--no-anonymize"},
                             {"-r", "a", "--packets", "5"},
                             {"-r", "a", "--index-order", "raw"}};
  for (const Arguments& arguments : other)
    EXPECT_NE(graph_identity(good_graph(arguments)), plain) << testing::PrintToString(arguments);
}

TEST(RunGraph, NamesTheFilesItReads) {
  const GraphSpec spec = good_graph({"-r", "a", "-r", "b", "--key", "k", "--exclude-file", "e"});
  EXPECT_THAT(files_read(spec), testing::IsSupersetOf({"a", "b", "k", "e"}));
}

}  // namespace
}  // namespace trama
