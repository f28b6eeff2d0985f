// The source on devices with queues, by devices that the test plays.
#include "modules/support/device_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "modules/messages.hpp"
#include "tests/support/fake_device.hpp"
#include "tests/support/graph_fixture.hpp"
#include "tests/support/long_tests.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

using test::FakeDevice;
using test::FakeQueue;
using testing::ElementsAre;

constexpr uint64_t kDeviceSeed = 20250214;

// What stands in the kernel in front of the devices.
struct FakeFilters final : KernelFilters {
  uint32_t judges() const noexcept override { return 4; }
  Attached attached(size_t) const override { return {false, ""}; }
  uint64_t take_removed() noexcept override { return std::exchange(removed, 0); }
  void look() override {}
  bool lost() const noexcept override { return false; }
  bool is_on(size_t) const noexcept override { return on; }
  void detach() override {
    ++detached;
    removed += removed_meanwhile;
  }
  uint64_t removed = 0, removed_meanwhile = 0;
  size_t detached = 0;
  bool on = true;
};

// What the test gives the source, through the services.
struct FakeSetup {
  std::vector<std::unique_ptr<FakeDevice>> devices;
  DeviceRunOptions options;
};

class FakeSource {
 public:
  using Input = void;
  using OutputType = PacketBatch;
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "fake",
                                   .summary = "a source on devices of the test",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves,
                                   .numbering = Numbering::opens};
  static Expected<StageFactory> make(const Parameters&, const SetupContext& context) {
    auto setup = context.services.get<FakeSetup>();
    OpenedDevices opened;
    for (auto& device : setup->devices) opened.devices.push_back(std::move(device));
    opened.remarks.push_back({Severity::note, {}, "a remark", ""});
    DeviceRunOptions options = setup->options;
    options.replicas = context.replicas;
    auto run = std::make_shared<DeviceRun>(std::move(opened), context.services.get<RunReport>(),
                                           context.services.get<RulesInForce>(), options);
    return StageFactory([run](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
      return std::make_unique<DeviceSource<PacketBatch>>(run, replica);
    });
  }
};

class DeviceSourceTest : public testing::Test {
 protected:
  DeviceSourceTest() { registry_.add(describe<FakeSource>()); }

  // Devices live until the harness is gone.
  StageHarness<void, PacketBatch>& harness(size_t devices = 1, size_t queues = 1, DeviceRunOptions options = {},
                                           size_t credits = 16) {
    harness_ = std::make_unique<StageHarness<void, PacketBatch>>(
        "fake", "",
        HarnessOptions{.sizes = {.batch_items = 8, .window_items = 64}, .credits = credits, .registry = &registry_});
    auto setup = harness_->services().get<FakeSetup>();
    options.filters = filters_;
    setup->options = options;
    for (size_t i = 0; i < devices; ++i) {
      setup->devices.push_back(std::make_unique<FakeDevice>("fake" + std::to_string(i), queues));
      devices_.push_back(setup->devices.back().get());
    }
    return *harness_;
  }
  FakeQueue& queue(size_t device = 0, size_t number = 0) { return devices_[device]->queue(number); }
  void arrive(size_t packets) {
    for (size_t i = 0; i < packets; ++i) queue().arrive(ethernet_ipv4_packet(1, 2));
  }
  // Counts of the batches that come now, without ticks.
  std::vector<size_t> batches() {
    std::vector<size_t> counts;
    while (PacketBatch* batch = harness_->next())
      if (batch->count > 0) counts.push_back(batch->count);
    return counts;
  }

  Registry registry_;
  std::vector<FakeDevice*> devices_;
  const std::shared_ptr<FakeFilters> filters_ = std::make_shared<FakeFilters>();
  std::unique_ptr<StageHarness<void, PacketBatch>> harness_;
};

TEST_F(DeviceSourceTest, HandsOutWhatWaitsInFullBatchesAndARest) {
  harness();
  arrive(19);
  EXPECT_THAT(batches(), ElementsAre(8, 8, 3));
  arrive(2);
  EXPECT_THAT(batches(), ElementsAre(2));
}

TEST_F(DeviceSourceTest, GivesFramesBackWhenTheirBatchHasBeenLetGo) {
  harness();
  arrive(8);
  PacketBatch* batch = harness_->next();
  ASSERT_NE(batch, nullptr);
  EXPECT_GT(batch->received_ns, 0);
  EXPECT_EQ(queue().lent(), 8u);
  EXPECT_EQ(batch->packets[7].captured, ethernet_ipv4_packet(1, 2).size());
  harness_->next();
  EXPECT_EQ(queue().lent(), 0u);
}

TEST_F(DeviceSourceTest, TicksCarryLossesAndOtherRules) {
  harness();
  arrive(1);
  devices_[0]->losses = {.kernel = 1, .nic = 2, .ring = 3};
  PacketBatch* first = harness_->next();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->tally.dropped_kernel, 1u);
  EXPECT_EQ(first->tally.dropped_nic, 2u);
  EXPECT_EQ(first->tally.dropped_ring, 3u);
  EXPECT_EQ(harness_->next(), nullptr);
  ASSERT_TRUE(harness_->services().get<RulesInForce>()->flush());
  PacketBatch* tick = harness_->next();
  ASSERT_NE(tick, nullptr);
  EXPECT_EQ(tick->count, 0u);
  EXPECT_EQ(tick->rules.id(), harness_->services().get<RulesInForce>()->id());
  EXPECT_EQ(tick->tally, Tally{});
}

TEST_F(DeviceSourceTest, StopsAfterAsManyPacketsAsAskedFor) {
  harness(1, 1, {.packets = 11});
  arrive(20);
  EXPECT_THAT(batches(), ElementsAre(8, 3));
  EXPECT_TRUE(harness_->ended());
  EXPECT_EQ(queue().waiting(), 9u);
  EXPECT_EQ(harness_->services().get<RunReport>()->packets_read(), 11u);
}

TEST_F(DeviceSourceTest, EndsWithItsDevices) {
  harness(2);
  queue(0).over = true;
  arrive(3);
  EXPECT_THAT(batches(), ElementsAre(3));
  EXPECT_FALSE(harness_->ended());
  queue(1).over = true;
  batches();
  EXPECT_TRUE(harness_->ended());
}

TEST_F(DeviceSourceTest, HandsOutWhatWaitedWhenItWasToldToStop) {
  harness();
  ASSERT_TRUE(harness_->start().empty());
  queue().waits_at_most = 20;
  arrive(100);
  devices_[0]->losses = {.kernel = 5};
  harness_->finish();
  uint64_t packets = 0, lost = 0;
  while (PacketBatch* batch = harness_->next()) {
    packets += batch->count;
    lost += batch->tally.dropped_kernel;
  }
  // The device went on receiving; what came later is not waited for.
  EXPECT_GE(packets, 20u);
  EXPECT_LE(packets, 24u);
  EXPECT_EQ(lost, 5u);
  EXPECT_TRUE(harness_->ended());
  EXPECT_EQ(filters_->detached, 1u);
  const auto inputs = harness_->services().get<RunReport>()->inputs();
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].name, "fake0");
  EXPECT_EQ(inputs[0].packets, packets);
  EXPECT_EQ(inputs[0].bytes, packets * ethernet_ipv4_packet(1, 2).size());
  EXPECT_EQ(inputs[0].status, InputStatus::ok);
}

TEST_F(DeviceSourceTest, TellsWhatFiltersInTheKernelHaveRemoved) {
  harness();
  filters_->removed = 3;
  arrive(5);
  uint64_t removed = 0;
  PacketBatch* batch = harness_->next();
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->judges, 4u);
  removed += batch->tally.removed_in_kernel;
  filters_->removed_meanwhile = 2;  // until they are off
  harness_->finish();
  while ((batch = harness_->next()) != nullptr) removed += batch->tally.removed_in_kernel;
  EXPECT_TRUE(harness_->ended());
  EXPECT_EQ(removed, 5u);
}

TEST_F(DeviceSourceTest, EndsWhenNothingBringsPacketsAnyMore) {
  harness();
  ASSERT_TRUE(harness_->start().empty());
  filters_->on = false;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!harness_->ended() && std::chrono::steady_clock::now() < until) harness_->next();
  ASSERT_TRUE(harness_->ended());
  EXPECT_EQ(harness_->services().get<RunReport>()->inputs().at(0).status, InputStatus::unreadable);
}

TEST_F(DeviceSourceTest, WaitsAtTheEndForFramesThatAreOut) {
  harness(1, 1, {}, 32);
  ASSERT_TRUE(harness_->start().empty());
  queue().waits_at_most = 100;
  queue().most_lent = 8;
  arrive(30);
  harness_->finish();
  EXPECT_FALSE(harness_->ended());
  size_t packets = 0;
  for (const size_t count : batches()) packets += count;
  EXPECT_EQ(packets, 30u);
  EXPECT_TRUE(harness_->ended());
}

TEST_F(DeviceSourceTest, LooksOnceMoreWhenItHasArmedADescriptor) {
  harness();
  const int descriptor = eventfd(0, EFD_CLOEXEC);
  queue().descriptor = descriptor;
  queue().arrive_when_armed = 1;
  EXPECT_THAT(batches(), ElementsAre(1));
  EXPECT_GT(queue().armed, 0u);
  harness_.reset();
  close(descriptor);
}

TEST_F(DeviceSourceTest, SaysWhatTheDevicesRemarked) {
  harness();
  ASSERT_TRUE(harness_->start().empty());
  const auto messages = harness_->services().get<RunReport>()->take_messages();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].text, "a remark");
}

// A sink that counts what it gets.
struct Sum {
  std::atomic<uint64_t> packets{0}, bytes{0}, lost{0};
};
class Counting final : public Stage<PacketBatch, Nothing> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{
      .kind = "counting", .summary = "counts", .parallelism = Parallelism::replicated, .ordering = Ordering::preserves};
  static Expected<StageFactory> make(const Parameters&, const SetupContext& context) {
    auto sum = context.services.get<Sum>();
    return StageFactory([sum](const ReplicaContext&) { return std::make_unique<Counting>(sum); });
  }
  explicit Counting(std::shared_ptr<Sum> sum) : sum_(std::move(sum)) {}
  Step process(PacketBatch& in, Output<Nothing>& out) override {
    for (size_t i = 0; i < in.count; ++i)
      sum_->bytes += in.packets[i].data[in.packets[i].captured - 1] + 1u;  // looks at it
    sum_->packets += in.count;
    sum_->lost += in.tally.dropped_kernel;
    out.release(&in);
    return Step::done;
  }

 private:
  std::shared_ptr<Sum> sum_;
};

// One replica has reserved all packets that are still wanted, and few of them come, while the other one looks: it must
// not take that for the end.
TEST(DeviceSourceThreads, AsManyPacketsAsAskedForWhoeverHasThem) {
  GraphFixture graph;
  auto setup = graph.services().get<FakeSetup>();
  setup->devices.push_back(std::make_unique<FakeDevice>("fake", 2));
  setup->options.packets = 8;
  FakeQueue &few = setup->devices[0]->queue(0), &many = setup->devices[0]->queue(1);
  for (int i = 0; i < 3; ++i) few.arrive(ethernet_ipv4_packet(1, 2));
  std::atomic<bool> first{true};
  few.while_receiving = [&] {
    if (first.exchange(false)) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  graph.add<FakeSource>("source", {.replicas = 2});
  graph.add<Counting>("sink", {.from = "source"});
  auto runtime = graph.make({.workers = 2, .batch_credits = 8, .sizes = {.batch_items = 8}});
  std::atomic<bool> ended{false};
  std::thread engine([&] {
    ASSERT_TRUE(runtime->run().has_value());
    ended = true;
  });
  const auto sum = graph.services().get<Sum>();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (sum->packets < 3) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) many.arrive(ethernet_ipv4_packet(3, 4));
  while (!ended && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_TRUE(ended) << "five packets are still wanted, and nobody takes them";
  runtime->stop_sources();
  engine.join();
  EXPECT_EQ(sum->packets, 8u);
  EXPECT_EQ(many.waiting(), 95u);
  runtime.reset();
}

// Several replicas, devices and workers, while frames arrive and until the run is stopped: none is lost, none twice.
TEST(DeviceSourceThreads, EveryFrameArrivesOnce) {
  for (uint64_t run = 0; run < runs(4, 100); ++run) {
    SCOPED_TRACE("seed " + std::to_string(kDeviceSeed + run));
    std::mt19937_64 random(kDeviceSeed + run);
    const size_t devices = 1 + random() % 2, queues = 1 + random() % 3, replicas = 1 + random() % 4;
    GraphFixture graph;
    auto setup = graph.services().get<FakeSetup>();
    std::vector<FakeQueue*> all;
    for (size_t i = 0; i < devices; ++i) {
      setup->devices.push_back(std::make_unique<FakeDevice>("fake", queues));
      setup->devices.back()->losses = {.kernel = 7};
      for (size_t q = 0; q < queues; ++q) all.push_back(&setup->devices.back()->queue(q));
    }
    for (FakeQueue* queue : all) {
      queue->most_lent = 8 + random() % 50;
      queue->waits_at_most = 1 << 20;
    }
    graph.add<FakeSource>("source", {.replicas = replicas});
    graph.add<Counting>("sink", {.from = "source", .replicas = 2});
    auto runtime = graph.make({.workers = 2, .batch_credits = 8 + replicas, .sizes = {.batch_items = 8}});
    uint64_t arrived = 0;
    std::thread engine([&] { ASSERT_TRUE(runtime->run().has_value()); });
    for (int step = 0; step < 200; ++step) {
      for (uint64_t more = random() % 20; more > 0; --more, ++arrived)
        all[random() % all.size()]->arrive(ethernet_ipv4_packet(1, 2));
      if (random() % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    runtime->stop_sources();
    engine.join();
    const auto sum = graph.services().get<Sum>();
    EXPECT_EQ(sum->packets, arrived);
    EXPECT_EQ(sum->lost, 7 * devices);
    uint64_t reported = 0;
    for (const InputReport& input : graph.services().get<RunReport>()->inputs()) reported += input.packets;
    EXPECT_EQ(reported, arrived);
    runtime.reset();
  }
}

}  // namespace
}  // namespace trama
