// The parameters of a live source for filters in the kernel, and what it learns of them.
#include "modules/support/kernel_filters.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <set>

#include "ebpf/kernel_privileges.hpp"
#include "modules/messages.hpp"
#include "modules/support/filter_inputs.hpp"
#include "modules/support/run_report.hpp"
#include "tests/support/kernel_links.hpp"
#include "tests/support/network_namespace.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kPrivacy = std::string(TRAMA_FILTERS) + "/privacy_ranges.bpf.o";
const std::string kPorts = std::string(TRAMA_FILTERS) + "/ports.bpf.o";
constexpr uint32_t kInside = 0x0A010203, kOutside = 0x0B000001;
constexpr std::chrono::seconds kLimit{20};

using Values = std::map<std::string, ParameterValue>;

ParameterValue text(const std::string& value) { return {value, {"graph.toml", 3}}; }
ParameterValue list(const std::vector<std::string>& values) { return {values, {"graph.toml", 5}}; }

Diagnostics bound(const Values& values, KernelFilterParameters& parameters) {
  const ParameterTable table{values, {"graph.toml", 1}};
  ParameterBinder binder(table);
  parameters.bind(binder);
  return binder.finish();
}

TEST(KernelFilterParameters, AreRefusedWithWhatMendsThem) {
  struct Case {
    Values values;
    const char *text, *hint;
  };
  const Case cases[] = {
      {{{"kernel_filters", list({kPrivacy})}}, "this machine doesn't get either", "role = \"tap\""},
      {{{"kernel_filters", list({kPrivacy})}, {"role", text("host")}}, "this machine doesn't get", "the stage xdp"},
      {{{"role", text("tpa")}}, "role", "tap"},
      {{{"role", text("tap")}, {"kernel_ranges", list({"10.0.0.0/8"})}}, "there are none", "kernel_filters = ["},
      {{{"role", text("tap")}, {"kernel_mode", text("native")}}, "there are none", "kernel_filters = ["},
      {{{"role", text("tap")}, {"kernel_filters", list({kPrivacy})}, {"kernel_ranges", list({"10.0.0.0/80"})}},
       "10.0.0.0/80",
       ""},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.text);
    KernelFilterParameters parameters;
    const Diagnostics said = bound(one.values, parameters);
    ASSERT_EQ(said.size(), 1u);
    EXPECT_THAT(said[0].text, HasSubstr(one.text));
    EXPECT_THAT(said[0].hint, HasSubstr(one.hint));
    EXPECT_EQ(said[0].place.file, "graph.toml");
  }
}

KernelFilterParameters tap(const Values& more) {
  Values values = more;
  values["role"] = text("tap");
  KernelFilterParameters parameters;
  for (const Diagnostic& wrong : bound(values, parameters)) ADD_FAILURE() << wrong.text;
  return parameters;
}

TEST(KernelFilters, NoneAreAskedFor) {
  Services services;
  const auto filters = KernelFilters::attach({"any"}, tap({}), services);
  ASSERT_TRUE(filters);
  EXPECT_EQ(*filters, nullptr);
}

TEST(KernelFilters, WantInterfacesByName) {
  Services services;
  const auto filters = KernelFilters::attach({"any"}, tap({{"kernel_filters", list({kPrivacy})}}), services);
  ASSERT_FALSE(filters);
  EXPECT_THAT(filters.error()[0].text, HasSubstr("`any`"));
  EXPECT_EQ(filters.error()[0].place, (Place{"graph.toml", 5}));
}

class KernelFiltersOnATap : public testing::Test {
 protected:
  void SetUp() override {
    if (!network_.why_not().empty()) GTEST_SKIP() << network_.why_not();
    if (const auto may = ebpf::check_capabilities(); !may) GTEST_SKIP() << may.error().text;
    network_.add_pair("tap0", "wire0");
    inside_.emplace(network_);
  }

  test::NetworkNamespace network_;
  std::optional<test::NetworkNamespace::Inside> inside_;
  Services services_;
  std::shared_ptr<RunReport> report_ = services_.get<RunReport>();
};

TEST_F(KernelFiltersOnATap, RemoveWhatFilesAndParametersSay) {
  const test::ScratchFolder folder;
  test::write_file(folder / "private.txt", std::string("10.0.0.0/8  # the site's own\n"));
  test::write_file(folder / "ports.txt", std::string("ports: any = 1\n"));
  const auto filters = KernelFilters::attach({"tap0"},
                                             tap({{"kernel_filters", list({kPrivacy, kPorts})},
                                                  {"kernel_ranges", list({"12.0.0.0/8:source"})},
                                                  {"kernel_files", list({folder / "private.txt"})},
                                                  {"kernel_map_files", list({folder / "ports.txt"})}}),
                                             services_);
  ASSERT_TRUE(filters) << filters.error()[0].text;
  const std::vector<Diagnostic> said = report_->take_messages();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].severity, Severity::note);
  EXPECT_EQ(said[0].text, "tap0: filters in native mode");

  test::FrameSocket wire("wire0"), behind("tap0");
  for (const uint32_t source : {kInside, uint32_t{0x0C000001}, kInside})
    wire.send(ethernet_ipv4_packet(source, kOutside));
  wire.send(ethernet_ipv4_packet(kOutside, kOutside));
  EXPECT_TRUE(behind.receive(kLimit)) << "nothing passes";
  EXPECT_EQ((*filters)->take_removed(), 3u);
  EXPECT_EQ((*filters)->take_removed(), 0u);
  (*filters)->look();
  EXPECT_FALSE((*filters)->lost());
}

// As inside the engine (xdp_remarks_test.cpp).
TEST_F(KernelFiltersOnATap, WhatIsHardlyMeantIsSaidBeforeTheyJudge) {
  const std::string sample = std::string(TRAMA_FILTERS) + "/sample.bpf.o";
  const auto filters = KernelFilters::attach({"tap0"}, tap({{"kernel_filters", list({sample})}}), services_);
  ASSERT_TRUE(filters) << filters.error()[0].text;
  const std::vector<Diagnostic> said = report_->take_messages();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[1].severity, Severity::warning);
  EXPECT_THAT(said[1].text, HasSubstr("sample.bpf.o judges by its map one_in, and nothing is in it"));
  EXPECT_THAT(said[1].hint, HasSubstr("kernel_maps = [\"one_in: KEY = VALUE\"]"));
  EXPECT_EQ(said[1].place, (Place{"graph.toml", 5}));
}

TEST_F(KernelFiltersOnATap, FollowTheirFiles) {
  const test::ScratchFolder folder;
  const std::string file = folder / "private.txt";
  test::write_file(file, std::string("10.0.0.0/8\n"));
  const auto filters = KernelFilters::attach(
      {"tap0"}, tap({{"kernel_filters", list({kPrivacy})}, {"kernel_files", list({file})}}), services_);
  ASSERT_TRUE(filters) << filters.error()[0].text;
  const auto rules = services_.get<RulesInForce>();
  const auto inputs = services_.get<FilterInputs>();
  EXPECT_EQ(rules->judges(), (*filters)->judges());
  test::FrameSocket wire("wire0"), behind("tap0");
  const auto removed = [&] {
    for (const uint32_t source : {kInside, kInside, kOutside}) wire.send(ethernet_ipv4_packet(source, 1));
    EXPECT_TRUE(behind.receive(kLimit)) << "nothing passes";
    return (*filters)->take_removed();
  };
  const uint32_t first = rules->id();
  EXPECT_EQ(removed(), 2u);

  test::write_file(file, std::string("10.0.0.0/88\n"));
  EXPECT_FALSE(inputs->read_again(*rules->current()));
  EXPECT_EQ(rules->id(), first);
  test::write_file(file, std::string("11.0.0.0/9\n"));
  const auto read = inputs->read_again(*rules->current());
  ASSERT_TRUE(read);
  EXPECT_TRUE(*FilterInputs::put_in_force(*read, *rules));
  for (const uint32_t source : {kOutside, kInside}) wire.send(ethernet_ipv4_packet(source, 1));
  EXPECT_TRUE(behind.receive(kLimit)) << "nothing passes";
  EXPECT_EQ((*filters)->take_removed(), 1u);
}

TEST_F(KernelFiltersOnATap, AreMissedWhenTheyAreGone) {
  const auto filters = KernelFilters::attach({"tap0"}, tap({{"kernel_filters", list({kPrivacy})}}), services_);
  ASSERT_TRUE(filters) << filters.error()[0].text;
  report_->take_messages();
  test::take_filters_off();
  for (int i = 0; i < 2; ++i) (*filters)->look();
  EXPECT_TRUE((*filters)->lost());
  const std::vector<Diagnostic> said = report_->take_messages();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0].text, HasSubstr("tap0 has lost its filters"));
}

TEST_F(KernelFiltersOnATap, RefusalsSayWhereAndRepeatNoAddress) {
  const test::ScratchFolder folder;
  test::write_file(folder / "hosts.txt", std::string("ports: any = 1\nranges_v5: 192.0.2.7/32 = 1\n"));
  const auto filters = KernelFilters::attach(
      {"tap0"}, tap({{"kernel_filters", list({kPrivacy, kPorts})}, {"kernel_map_files", list({folder / "hosts.txt"})}}),
      services_);
  ASSERT_FALSE(filters);
  EXPECT_EQ(filters.error()[0].place, (Place{folder / "hosts.txt", 2}));
  EXPECT_THAT(filters.error()[0].text, Not(HasSubstr("192.0.2.7")));

  const auto missing = KernelFilters::attach({"tap7"}, tap({{"kernel_filters", list({kPrivacy})}}), services_);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error()[0].text, "there is no interface tap7");
}

// What a source sees, and what it says of what it doesn't.
struct Arrived {
  std::set<uint32_t> sources;
  uint64_t packets = 0;
  Tally tally;

  void add(const PacketBatch& batch) {
    for (size_t i = 0; i < batch.count; ++i) {
      const uint8_t* const at = batch.packets[i].data + 26;  // the source of an untagged IPv4 packet
      sources.insert(uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | at[3]);
    }
    packets += batch.count;
    tally += batch.tally;
  }
};

TEST_F(KernelFiltersOnATap, ASourceSeesNothingOfThemAndCountsThemAll) {
  for (const char* mode : {"native", "generic"}) {
    SCOPED_TRACE(mode);
    StageHarness<void, PacketBatch> source(
        "af_packet", "interfaces = [\"tap0\"]\nrole = \"tap\"\nkernel_filters = [\"" + kPrivacy +
                         "\"]\nkernel_ranges = [\"10.0.0.0/8\"]\nkernel_mode = \"" + mode + "\"\n");
    Arrived seen;
    const auto take = [&] {
      while (const PacketBatch* batch = source.next()) seen.add(*batch);
    };
    take();  // from here on it receives
    test::FrameSocket wire("wire0"), tap("tap0");
    for (int i = 0; i < 5; ++i) wire.send(ethernet_ipv4_packet(kInside, kOutside));
    for (int i = 0; i < 3; ++i) tap.send(ethernet_ipv4_packet(kInside, kOutside));  // leaves: nobody judges it
    wire.send(ethernet_ipv4_packet(kOutside, kOutside));
    const auto deadline = std::chrono::steady_clock::now() + kLimit;
    while (seen.packets == 0 && std::chrono::steady_clock::now() < deadline) take();
    source.finish();
    while (!source.ended() && std::chrono::steady_clock::now() < deadline) take();
    take();
    EXPECT_EQ(seen.packets, 1u);
    EXPECT_EQ(seen.sources, std::set<uint32_t>{kOutside});
    EXPECT_EQ(seen.tally.removed_in_kernel, 5u);
    EXPECT_EQ(seen.tally.dropped_kernel + seen.tally.dropped_ring + seen.tally.dropped_nic, 0u);
  }
}

}  // namespace
}  // namespace trama
