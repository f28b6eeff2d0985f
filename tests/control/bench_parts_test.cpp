// What `trama bench` is made of: statistics, instances, made traffic, and the two ways that it compares.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <random>

#include "control/bench/graphblas.hpp"
#include "control/bench/instances.hpp"
#include "control/bench/openssl.hpp"
#include "control/bench/table.hpp"
#include "control/bench/window.hpp"
#include "control/run_graph.hpp"
#include "libclient/formats/archive_reader.hpp"
#include "libclient/formats/blob.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/watchdog.hpp"

namespace trama {
namespace {

using testing::HasSubstr;

TEST(Series, MedianLeastMost) {
  struct Case {
    std::vector<double> values;
    double median, least, most;
  };
  for (const Case& one : {Case{{}, 0, 0, 0}, Case{{3}, 3, 3, 3}, Case{{9, 1, 5}, 5, 1, 9},
                          Case{{4, 1, 3, 9}, 3.5, 1, 9}, Case{{2, 2, 2, 100, 1}, 2, 1, 100}}) {
    const Series series(one.values);
    EXPECT_EQ(series.median(), one.median);
    EXPECT_EQ(series.least(), one.least);
    EXPECT_EQ(series.most(), one.most);
  }
}

TEST(Series, RatiosAreOfMediansWithTheRangeOfRounds) {
  const Ratio ratio = compare(Series({10, 30, 20}), Series({5, 5, 2}));
  EXPECT_EQ(ratio.of_medians, 4);
  EXPECT_EQ(ratio.least, 2);
  EXPECT_EQ(ratio.most, 10);
  EXPECT_EQ(compare(Series({1}), Series()).of_medians, 0);
  EXPECT_EQ(compare(Series({1}), Series({0})).of_medians, 0);
}

TEST(Rounds, RunInTurnAndTheWarmUpIsNotCounted) {
  std::string order;
  Rounds rounds;
  const size_t a = rounds.add([&] { return order += 'a', Expected<Cost>(Cost{static_cast<double>(order.size()), 7}); });
  const size_t b = rounds.add([&] { return order += 'b', Expected<Cost>(Cost{2, 3}); });
  std::vector<size_t> seen;
  ASSERT_TRUE(rounds.run(3, Rounds::WarmUp::yes, [&](size_t round, size_t of) { seen.push_back(round * 10 + of); }));
  EXPECT_EQ(order, "abababab");
  EXPECT_EQ(seen, (std::vector<size_t>{4, 14, 24, 34}));
  EXPECT_EQ(rounds.wall(a).values(), (std::vector<double>{3, 5, 7}));
  EXPECT_EQ(rounds.cpu(b).values(), (std::vector<double>{3, 3, 3}));
}

TEST(Rounds, EndAtTheFirstFailure) {
  Rounds rounds;
  rounds.add([] { return timed(1, [] { return false; }); });
  rounds.add([]() -> Expected<Cost> { return ADD_FAILURE(), Cost{}; });
  EXPECT_FALSE(rounds.run(3, Rounds::WarmUp::no, nullptr));
}

TEST(Instances, SharesAddUp) {
  for (size_t total = 0; total < 40; ++total) {
    for (size_t parts = 1; parts < 9; ++parts) {
      size_t sum = 0;
      for (size_t part = 0; part < parts; ++part) sum += share(total, parts, part);
      EXPECT_EQ(sum, total);
      EXPECT_LE(share(total, parts, 0) - share(total, parts, parts - 1), 1u);
    }
  }
}

class EveryKind : public testing::TestWithParam<InstanceKind> {};
INSTANTIATE_TEST_SUITE_P(Instances, EveryKind, testing::Values(InstanceKind::processes, InstanceKind::threads));

TEST_P(EveryKind, AllInstancesWork) {
  const Watchdog watchdog;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto cost = run_instances(GetParam(), 5, 1000, [&](size_t instance) -> InstanceWork {
    return [instance, end = ends[1]] {
      const char name = static_cast<char>('0' + instance);
      return write(end, &name, 1) == 1;
    };
  });
  close(ends[1]);
  std::string names(8, '\0');
  names.resize(static_cast<size_t>(std::max<ssize_t>(0, read(ends[0], names.data(), names.size()))));
  close(ends[0]);
  ASSERT_TRUE(cost) << cost.error().text;
  EXPECT_GE(cost->wall_ns, 0);
  EXPECT_THAT(names, testing::UnorderedElementsAre('0', '1', '2', '3', '4'));
}

// What instances say of themselves, a byte each.
std::string bytes_of(InstanceKind kind, size_t instances, const std::function<char()>& byte) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const auto cost = run_instances(kind, instances, 1, [&](size_t) -> InstanceWork {
    return [&byte, end = ends[1]] {
      const char said = byte();
      return write(end, &said, 1) == 1;
    };
  });
  close(ends[1]);
  std::string bytes(64, '\0');
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(0, read(ends[0], bytes.data(), bytes.size()))));
  close(ends[0]);
  return bytes;
}

TEST_P(EveryKind, EachHasAProcessorOfItsOwnAsLongAsThereAreEnough) {
  const Watchdog watchdog;
  const auto all = static_cast<char>(std::min<size_t>(allowed_processors().size(), 60));
  if (all < 2) GTEST_SKIP() << "one processor";
  const auto processors = [] { return static_cast<char>(std::min<size_t>(allowed_processors().size(), 60)); };
  const auto first = [] { return static_cast<char>(allowed_processors().front() % 128); };
  EXPECT_EQ(bytes_of(GetParam(), 2, processors), std::string(2, 1));
  const std::string firsts = bytes_of(GetParam(), 2, first);
  ASSERT_EQ(firsts.size(), 2u);
  EXPECT_NE(firsts[0], firsts[1]);
  EXPECT_EQ(bytes_of(GetParam(), 1, processors), std::string(1, all));
  if (all == 60) return;  // or more: there is no asking for more instances than that
  EXPECT_EQ(bytes_of(GetParam(), static_cast<size_t>(all) + 1, processors), std::string(all + 1u, all));
}

TEST_P(EveryKind, OneThatFailsFailsAll) {
  const Watchdog watchdog;
  const std::vector<PrepareInstance> all = {
      [](size_t instance) -> InstanceWork { return instance == 1 ? InstanceWork() : [] { return true; }; },
      [](size_t instance) -> InstanceWork { return [instance] { return instance != 1; }; },
      [](size_t instance) -> InstanceWork {
        if (instance == 1) throw std::bad_alloc();
        return [] { return true; };
      },
      [](size_t instance) -> InstanceWork {
        return [instance]() -> bool { return instance == 1 ? throw std::bad_alloc() : true; };
      }};
  for (const PrepareInstance& prepare : all) {
    const auto cost = run_instances(GetParam(), 3, 1, prepare);
    ASSERT_FALSE(cost);
    EXPECT_THAT(cost.error().text, HasSubstr("instances failed"));
  }
}

TEST(Instances, AProcessThatIsKilledIsNotWaitedFor) {
  const Watchdog watchdog;
  for (const bool early : {true, false}) {
    const auto cost = run_instances(InstanceKind::processes, 3, 1, [early](size_t instance) -> InstanceWork {
      if (early && instance == 1) kill(getpid(), SIGKILL);
      return [instance] { return instance != 1 || kill(getpid(), SIGKILL) == 0; };
    });
    EXPECT_FALSE(cost);
  }
}

TEST(Traffic, FramesGiveBackTheirPairs) {
  const TrafficPairs pairs = draw_pairs(TrafficModel::zipf, 100);
  for (const Frames::Link link : {Frames::Link::ethernet, Frames::Link::raw_ip}) {
    const Frames frames(link, pairs);
    std::vector<uint32_t> source(251), destination(251);
    ASSERT_EQ(frames.walk_window(170, 250, source.data(), destination.data()), 250u);
    for (size_t i = 0; i < 250; ++i) {
      ASSERT_EQ(source[i], pairs.source[(70 + i) % 100]);
      ASSERT_EQ(destination[i], pairs.destination[(70 + i) % 100]);
    }
  }
}

TEST(Traffic, WindowsAreDifferentAndBounded) {
  const TrafficWindows few(TrafficModel::uniform, 1000, 3), many(TrafficModel::uniform, 1 << 17, 512);
  EXPECT_EQ(few.distinct(), 3u);
  EXPECT_EQ(few[4].source, few[1].source);
  EXPECT_NE(few[0].source[0], few[1].source[0]);
  EXPECT_EQ(many.distinct(), 16u);
}

TEST(OpenSslCryptoPan, IsTheSameFunction) {
  const CryptoPan ours(kBenchKey);
  OpenSslCryptoPan theirs(kBenchKey);
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const auto source = static_cast<uint32_t>(random()), destination = static_cast<uint32_t>(random());
    uint32_t images[2] = {source, destination};
    theirs.anonymize(images[0], images[1]);
    ASSERT_EQ(images[0], ours.anonymize_one(source)) << i;
    ASSERT_EQ(images[1], ours.anonymize_one(destination)) << i;
  }
}

TEST(AddressTable, HasTheImagesOfTheAddressesItKnows) {
  const CryptoPan crypto_pan(kBenchKey);
  const auto table = AddressTable::make(16, crypto_pan);
  ASSERT_TRUE(table) << table.error().text;
  EXPECT_EQ(table->mask(), 0xFFFFu);
  for (const uint32_t address : {0u, 1u, 4095u, 4096u, 40000u, 65535u})
    EXPECT_EQ(table->image(address), crypto_pan.anonymize_one(address)) << address;
  EXPECT_EQ(table->image(0xABCD1234), crypto_pan.anonymize_one(0x1234));
  EXPECT_THAT(table->description(), HasSubstr("2^16"));
}

TEST(AddressTable, IsAsLargeAsMemoryAllows) {
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  EXPECT_EQ(AddressTable::bits_that_fit(28, 2 * kGiB), 28);
  EXPECT_EQ(AddressTable::bits_that_fit(28, kGiB), 24);
  EXPECT_EQ(AddressTable::bits_that_fit(28, 0), 24);
  EXPECT_EQ(AddressTable::bits_that_fit(20, 0), 20);
}

std::vector<uint8_t> copy(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

TEST(WindowWorkers, BothWaysMakeTheSameMatrices) {
  ASSERT_TRUE(start_graphblas());
  const CryptoPan crypto_pan(kBenchKey);
  const auto table = AddressTable::make(20, crypto_pan);
  ASSERT_TRUE(table);
  constexpr size_t kMost = 3000;
  const auto own = make_own_worker(kMost, nullptr), published = make_published_worker(kMost, nullptr);
  const auto own_anonymizing = make_own_worker(kMost, &crypto_pan);
  const auto published_anonymizing = make_published_worker(kMost, &*table);
  for (const TrafficModel model : {TrafficModel::uniform, TrafficModel::zipf}) {
    for (const size_t packets : {size_t{1}, size_t{2}, size_t{100}, kMost}) {
      SCOPED_TRACE(std::string(traffic_letter(model)) + std::to_string(packets));
      TrafficPairs pairs = draw_pairs(model, packets, packets);
      const WindowView window{pairs.source.data(), pairs.destination.data(), packets};
      const std::vector<uint8_t> clear = copy(own->blob_of(window));
      auto same = same_matrices(clear, published->blob_of(window));
      EXPECT_TRUE(same) << same.error().text;
      for (size_t i = 0; i < packets; ++i) {
        pairs.source[i] &= table->mask();
        pairs.destination[i] &= table->mask();
      }
      const std::vector<uint8_t> anonymized = copy(own_anonymizing->blob_of(window));
      same = same_matrices(anonymized, published_anonymizing->blob_of(window));
      EXPECT_TRUE(same) << same.error().text;
      EXPECT_FALSE(same_matrices(anonymized, published->blob_of(window)));
    }
  }
}

TEST(WindowWorkers, DifferencesAreNoticed) {
  ASSERT_TRUE(start_graphblas());
  const auto own = make_own_worker(4, nullptr), published = make_published_worker(4, nullptr);
  uint32_t source[] = {1, 1, 2, 3}, destination[] = {5, 5, 6, 7};
  const std::vector<uint8_t> ours = copy(own->blob_of({source, destination, 4}));
  EXPECT_TRUE(same_matrices(ours, published->blob_of({source, destination, 4})));
  EXPECT_FALSE(same_matrices(ours, published->blob_of({source, destination, 3})));
  destination[1] = 6;
  EXPECT_FALSE(same_matrices(ours, published->blob_of({source, destination, 4})));
  EXPECT_FALSE(same_matrices(ours, {}));
  EXPECT_FALSE(same_matrices(std::span(ours).first(100), ours));
}

TEST(MemoryTar, IsAnArchiveAndBeginsAnew) {
  const auto own = make_own_worker(500, nullptr);
  MemoryTar tar(3, 500);
  EXPECT_FALSE(tar.append({}));
  std::vector<std::vector<uint8_t>> blobs;
  for (uint64_t i = 0; i < 8; ++i) {  // the third archive stays unfinished
    const TrafficPairs pairs = draw_pairs(TrafficModel::zipf, 500, i);
    blobs.push_back(copy(own->blob_of({pairs.source.data(), pairs.destination.data(), 500})));
    ASSERT_TRUE(tar.append(blobs.back()));
    if (i != 5) continue;
    const test::ScratchFolder folder;
    test::write_file(folder / "a.tar", copy(tar.bytes()));
    auto archive = ArchiveReader::open(folder / "a.tar");
    ASSERT_TRUE(archive) << archive.error().text;
    size_t members = 0;
    for (Member member; archive->next(member).value_or(false); ++members) {
      EXPECT_EQ(member.name, std::to_string(members) + ".grb");
      EXPECT_EQ(member.bytes, blobs[3 + members]);
    }
    EXPECT_EQ(members, 3u);
  }
}

}  // namespace
}  // namespace trama
