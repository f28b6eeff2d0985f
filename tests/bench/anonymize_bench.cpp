// What it costs to anonymize both addresses of a packet: CryptoPan on every instruction set of this machine, against
// the definition done with OpenSSL, whose 64 AES-128 blocks a packet are encrypted in one call, and that call alone.
// Nanoseconds of processor time a packet, one thread, windows of 2^17 pairs. Repetitions of all cases are mixed at
// random, so that a busy machine slows all of them alike. Then: making the tables of a key, and looking up 10,000
// privacy ranges for the same packets.
#include <benchmark/benchmark.h>
#include <hwy/highway.h>

#include <array>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "control/bench/openssl.hpp"
#include "control/bench/window.hpp"
#include "modules/support/crypto_pan.hpp"
#include "modules/support/privacy_ranges.hpp"
#include "tests/bench/interleaved.hpp"
#include "tests/bench/traffic_pairs.hpp"

namespace trama {
namespace {

constexpr size_t kWindow = size_t{1} << 17;
constexpr size_t kWindows = 16;  // in turn, so that no branch predictor learns one by heart
constexpr auto& kKey = kBenchKey;

const TrafficPairs& pairs_of(bool skewed) {
  static const TrafficPairs uniform = uniform_pairs(kWindows * kWindow);
  static const TrafficPairs heavy_tailed = skewed_pairs(kWindows * kWindow);
  return skewed ? heavy_tailed : uniform;
}

void report(benchmark::State& state, size_t packets) {
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(packets));
  state.counters["ns/packet"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(packets) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// One instruction set while it lives.
class Target {
 public:
  explicit Target(int64_t target) { use(target); }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target() { use(0); }

 private:
  static void use(int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

void crypto_pan(benchmark::State& state, int64_t target, bool skewed) {
  const Target forced(target);
  const TrafficPairs& pairs = pairs_of(skewed);
  const CryptoPan anonymizer(kKey);
  std::vector<uint32_t> source(kWindow), destination(kWindow);
  size_t window = 0;
  for (auto _ : state) {
    const size_t first = kWindow * (window++ % kWindows);
    anonymizer.anonymize(&pairs.source[first], source.data(), kWindow);
    anonymizer.anonymize(&pairs.destination[first], destination.data(), kWindow);
    benchmark::DoNotOptimize(source.data());
    benchmark::DoNotOptimize(destination.data());
    benchmark::ClobberMemory();
  }
  report(state, kWindow);
}

void openssl_ecb(benchmark::State& state, bool skewed) {
  const TrafficPairs& pairs = pairs_of(skewed);
  OpenSslCryptoPan anonymizer(kKey);
  std::vector<uint32_t> source(kWindow), destination(kWindow);
  size_t window = 0;
  for (auto _ : state) {
    const size_t first = kWindow * (window++ % kWindows);
    for (size_t i = 0; i < kWindow; ++i) {
      source[i] = pairs.source[first + i];
      destination[i] = pairs.destination[first + i];
      anonymizer.anonymize(source[i], destination[i]);
    }
    benchmark::ClobberMemory();
  }
  report(state, kWindow);
}

// No way through OpenSSL is faster than this: blocks that stand ready, and nobody who reads the result.
void openssl_blocks_only(benchmark::State& state) {
  OpenSslCryptoPan anonymizer(kKey);
  for (auto _ : state) {
    for (size_t i = 0; i < kWindow; ++i) anonymizer.encrypt();
    benchmark::ClobberMemory();
  }
  report(state, kWindow);
}

// The figures mean nothing unless both give the same.
bool results_agree() {
  const CryptoPan ours(kKey);
  OpenSslCryptoPan theirs(kKey);
  const TrafficPairs& pairs = pairs_of(false);
  for (size_t i = 0; i < 10000; ++i) {
    uint32_t source = pairs.source[i], destination = pairs.destination[i];
    theirs.anonymize(source, destination);
    std::array<uint32_t, 2> both = {pairs.source[i], pairs.destination[i]};
    ours.anonymize(both.data(), both.data(), both.size());
    if (both[0] != source || both[1] != destination) return false;
  }
  return true;
}

void make_tables(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(CryptoPan(kKey).anonymize_one(0));
}

PrivacyRanges random_ranges(size_t count) {
  constexpr const char* kSides[] = {"", "", ":both", ":source", ":destination"};
  std::mt19937_64 random(1);
  std::vector<PrivacyRanges::Entry> entries;
  for (size_t i = 0; i < count; ++i) {
    const auto length = static_cast<uint32_t>(12 + random() % 17);
    const uint32_t network = static_cast<uint32_t>(random()) & ~uint32_t{0} << (32 - length);
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%u.%u.%u.%u/%u%s", network >> 24, network >> 16 & 255, network >> 8 & 255,
                  network & 255, length, kSides[random() % 5]);
    entries.push_back({text.data(), {}});
  }
  return PrivacyRanges::parse(entries).value();
}

void privacy_ranges(benchmark::State& state, size_t count, bool skewed) {
  const TrafficPairs& pairs = pairs_of(skewed);
  const PrivacyRanges ranges = random_ranges(count);
  std::vector<uint8_t> excluded(kWindow);
  size_t window = 0, total = 0;
  for (auto _ : state) {
    const size_t first = kWindow * (window++ % kWindows);
    total += ranges.mark(&pairs.source[first], &pairs.destination[first], kWindow, excluded.data());
    benchmark::ClobberMemory();
  }
  report(state, kWindow);
  state.counters["excluded"] =
      static_cast<double>(total) / (static_cast<double>(state.iterations()) * static_cast<double>(kWindow));
}

void register_all() {
  for (const bool skewed : {false, true}) {
    const std::string traffic = skewed ? "/Z" : "/U";
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
      const std::string name = std::string("CryptoPan/") + hwy::TargetName(target) + traffic;
      benchmark::RegisterBenchmark(name.c_str(), crypto_pan, target, skewed);
    }
    benchmark::RegisterBenchmark(("OpenSSL_ECB" + traffic).c_str(), openssl_ecb, skewed);
    for (const size_t count : {size_t{0}, size_t{10000}}) {
      const std::string name = "PrivacyRanges/" + std::to_string(count) + traffic;
      benchmark::RegisterBenchmark(name.c_str(), privacy_ranges, count, skewed);
    }
  }
  benchmark::RegisterBenchmark("OpenSSL_ECB/blocks_only", openssl_blocks_only);
  benchmark::RegisterBenchmark("CryptoPan/tables", make_tables)->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace trama

int main(int argc, char** argv) {
  if (!trama::initialize_interleaved(argc, argv)) return 2;
  if (!trama::results_agree()) {
    std::fputs("CryptoPan and OpenSSL give different addresses\n", stderr);
    return 1;
  }
  trama::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
