// The real stages together, in this process: the same bytes on any schedule and any processor, and nothing allocated on
// the way. The command as a whole is tested in tests/end_to_end/.
#include <sys/stat.h>

#include <map>
#include <random>
#include <thread>

#include "engine/graph_spec.hpp"
#include "engine/plan.hpp"
#include "engine/simulator.hpp"
#include "modules/messages.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/capture_builder.hpp"
#include "tests/support/highway_targets.hpp"
#include "tests/support/long_tests.hpp"
#include "tests/support/scratch_folder.hpp"

namespace trama {
namespace {

// Holds messages up for as long as a seed says.
class Delay final : public Stage<Message, Message> {
 public:
  struct Parameters {
    uint64_t seed = 1;
    void bind(ParameterBinder& binder) { binder.integer("seed", seed, 0, UINT32_MAX, "of the delays"); }
  };
  static constexpr StageInfo kInfo{.kind = "delay",
                                   .summary = "holds messages up",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves};
  Delay(const Parameters& parameters, const ReplicaContext& context)
      : random_(static_cast<uint32_t>(parameters.seed + context.replica)) {}
  Step process(Message& in, Output<Message>& out) override {
    if (random_() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 400));
    out.push(&in);
    return Step::done;
  }

 private:
  std::mt19937 random_;
};
REGISTER_STAGE(Delay);

// Has what its threads allocate counted, from the first message on until the last one of `messages`.
class CountAllocations final : public Stage<Message, Message> {
 public:
  struct Parameters {
    uint64_t messages = 0;
    void bind(ParameterBinder& binder) { binder.integer("messages", messages, 0, UINT32_MAX, "to count for"); }
  };
  static constexpr StageInfo kInfo{.kind = "count_allocations", .summary = "counts", .ordering = Ordering::preserves};
  CountAllocations(const Parameters& parameters, const ReplicaContext&) : messages_(parameters.messages) {}
  Step process(Message& in, Output<Message>& out) override {
    test::count_this_thread();
    if (in.seq == 0) test::start_counting();
    if (in.seq + 1 == messages_) test::stop_counting();
    out.push(&in);
    return Step::done;
  }

 private:
  const uint64_t messages_;
};
REGISTER_STAGE(CountAllocations);

// A sink that writes down all that it gets.
struct WrittenDown {
  std::string text;
};
class WriteDown final : public Stage<SerializedMatrix, Nothing> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "write_down", .summary = "writes down", .ordering = Ordering::needs};
  static Expected<StageFactory> make(const Parameters&, const SetupContext& context) {
    auto written = context.services.get<WrittenDown>();
    return StageFactory([written](const ReplicaContext&) { return std::make_unique<WriteDown>(written); });
  }
  explicit WriteDown(std::shared_ptr<WrittenDown> written) : written_(std::move(written)) {}
  Step process(SerializedMatrix& in, Output<Nothing>& out) override {
    std::string& text = written_->text;
    text += std::to_string(in.seq) + (in.skip ? " tail" : " window");
    for (const uint64_t packets : in.tally.packets) text += " " + std::to_string(packets);
    text += " " + std::to_string(in.first_ns) + " " + std::to_string(in.last_ns) + "\n";
    text.append(reinterpret_cast<const char*>(in.blob), in.bytes);
    out.release(&in);
    return Step::done;
  }

 private:
  std::shared_ptr<WrittenDown> written_;
};
REGISTER_STAGE(WriteDown);

std::unique_ptr<Runtime> make_runtime(const std::string& graph, Services& services) {
  auto spec = parse_graph(graph, "graph.toml");
  EXPECT_TRUE(spec);
  auto checked = check(spec.value(), Registry::instance());
  EXPECT_TRUE(checked) << (checked ? "" : checked.error()[0].text);
  auto plan = make_plan(std::move(checked.value()), {0, 1, 2, 3});
  EXPECT_TRUE(plan);
  auto runtime = Runtime::make(*plan, services);
  EXPECT_TRUE(runtime) << (runtime ? "" : runtime.error()[0].text);
  return std::move(runtime.value());
}

class MainJob : public ::testing::Test {
 protected:
  MainJob() {
    std::mt19937 random(1);
    test::PcapBuilder capture;
    for (int i = 0; i < 4000; ++i) {
      PacketBytes packet = ethernet_ipv4_packet(0x0A000000 + static_cast<uint32_t>(random() % 300),
                                                0xC0000200 + static_cast<uint32_t>(random() % 60));
      if (i % 7 == 0) packet = PacketBuilder().ethernet(kIpv6Type).ipv6().bytes();
      if (i % 11 == 0) packet.resize(random() % 34);
      capture.packet(packet, i * 1000);
    }
    test::write_file(folder_ / "a.pcap", capture.bytes());
    test::write_file(folder_ / "key", std::string(64, '7'));
    chmod((folder_ / "key").c_str(), 0600);
  }

  // A graph over that capture. `draw`: replicas, credits, batch sizes and delays; null: one of everything.
  std::string graph(const std::string& sink, std::mt19937* draw, bool delays, const std::string& out = "") const {
    const auto any = [draw](uint32_t below) { return std::to_string(draw ? 1 + (*draw)() % below : 1); };
    const bool delayed = draw != nullptr && delays;
    std::string text = "[graph]\nwindow_packets = 300\nworkers = " + any(4) +
                       "\nbatch_packets = " + (draw ? any(200) : "64") + "\nbatch_credits = " + any(8) +
                       "\nwindow_credits = " + any(8) + "\nlinks = [\"pcap -> parse -> exclude -> " +
                       (delayed ? "hold -> " : "") + "in_order -> stamp -> anonymize -> " +
                       (delayed ? "wait -> " : "") + "build -> serialize -> by_number -> " + sink + "\"]\n";
    for (const char* stage : {"parse", "exclude", "anonymize", "build", "serialize"}) {
      text += "[stages." + std::string(stage) + "]\nreplicas = " + any(4) + "\n";
      if (draw && (*draw)() % 4 == 0) text += "route = \"by_window\"\n";
      if (std::string(stage) == "anonymize") text += "key_file = \"" + (folder_ / "key").string() + "\"\n";
      if (std::string(stage) == "exclude") text += "ranges = \"10.0.0.0/27\"\n";
    }
    if (delayed)
      for (const char* stage : {"hold", "wait"})
        text += "[stages." + std::string(stage) + "]\nkind = \"delay\"\nreplicas = " + any(4) +
                "\nseed = " + any(1000) + "\n";
    text += "[stages.in_order]\nkind = \"reorder\"\n[stages.by_number]\nkind = \"reorder\"\n";
    text += "[stages.pcap]\nfiles = \"" + (folder_ / "a.pcap").string() + "\"\n";
    if (!out.empty())
      text += "[stages.archive]\nwindows_per_archive = 4\ndirectory = \"" + (folder_ / out).string() + "\"\n";
    return text;
  }

  // Everything that the run left in its folder.
  std::map<std::string, std::string> archives_of(const std::string& out, std::mt19937* draw) {
    Services services;
    make_runtime(graph("archive", draw, true, out), services)->run();
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / out))
      files[entry.path().filename()] = test::read_text(entry.path());
    return files;
  }

  const test::ScratchFolder folder_;
};

TEST_F(MainJob, SameBytesOnEveryProcessorAndSchedule) {
  const auto right = archives_of("right", nullptr);
  ASSERT_GT(right.size(), 4u);
  int run = 0;
  for (const int64_t target : highway_targets()) {
    const ForcedTarget forced(target);
    for (uint64_t i = 0; i < runs(4, 30); ++i) {
      const uint32_t seed = std::random_device{}();
      SCOPED_TRACE(std::string(hwy::TargetName(target)) + ", seed " + std::to_string(seed));
      std::mt19937 draw(seed);
      EXPECT_EQ(archives_of("out" + std::to_string(run++), i == 0 ? nullptr : &draw), right);
    }
  }
}

TEST_F(MainJob, SameMessagesOnSimulatedSchedules) {
  std::string right;
  for (uint32_t seed = 0; seed < runs(60, 2000); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 draw(seed);
    Services services;
    auto runtime = make_runtime(graph("write_down", seed == 0 ? nullptr : &draw, false), services);
    ASSERT_TRUE(Simulator(*runtime).run(seed, 1 + draw() % 8)) << "nothing can step";
    EXPECT_EQ(runtime->numbers_alive(), 0u);
    const std::string& got = services.get<WrittenDown>()->text;
    if (seed == 0) right = got;
    ASSERT_EQ(got, right);
  }
  EXPECT_GT(right.size(), 1000u);
}

TEST_F(MainJob, NothingIsAllocatedOnTheWay) {
  if (!test::kCountsAllocations) GTEST_SKIP() << "the allocator of this build can't be counted";
  const uint64_t batches = 2000;
  const uint64_t last_ones = 32;  // as many as there are credits: meanwhile the source may have ended, which it reports
  const std::string graph =
      "[graph]\nwindow_packets = 3000\nworkers = 3\nlinks = [\"synthetic -> count_allocations -> "
      "pcap_filter -> xdp -> parse -> exclude -> in_order -> stamp -> anonymize -> build -> serialize -> by_number -> "
      "archive\"]\n"
      "[stages.xdp]\nreplicas = 2\nranges = \"11.0.0.0/8\"\nobject = \"" TRAMA_FILTERS
      "/privacy_ranges.bpf.o\"\n"
      "[stages.synthetic]\npackets = " +
      std::to_string(batches * 1024) +
      "\n"
      "[stages.count_allocations]\nmessages = " +
      std::to_string(batches - last_ones) +
      "\n"
      "[stages.pcap_filter]\nexpression = \"udp\"\n[stages.exclude]\nranges = \"10.0.0.0/8\"\n"
      "[stages.parse]\nreplicas = 2\n[stages.anonymize]\nreplicas = 2\n[stages.build]\nreplicas = 2\n"
      "[stages.in_order]\nkind = \"reorder\"\n[stages.by_number]\nkind = \"reorder\"\n"
      "[stages.archive]\ndirectory = \"" +
      (folder_ / "out").string() + "\"\n";
  Services services;
  make_runtime(graph, services)->run();
  EXPECT_EQ(test::allocations_counted(), 0u);
}

}  // namespace
}  // namespace trama
