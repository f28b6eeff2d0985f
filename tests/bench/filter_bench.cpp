// What filters cost: modules in machine code and interpreted, nanoseconds a packet, beside the exclude stage's own
// list; and what loading a module and replacing a list take. 4096 frames of 64 bytes that stand in the second level of
// cache; 10,000 IPv4 prefixes of 12 to 28 bits.
//
// One argument: where the compiled modules are (build/release/filters).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ebpf/filter_module.hpp"
#include "ebpf/loader.hpp"
#include "ebpf/map_entries.hpp"
#include "modules/support/privacy_ranges.hpp"
#include "tests/bench/interleaved.hpp"
#include "tests/support/packet_builder.hpp"

namespace trama {
namespace {

using ebpf::Engine;
using ebpf::FilterModule;

constexpr size_t kFrames = 4096, kFrameBytes = 64, kPrefixes = 10'000;

std::vector<std::string> random_ranges(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::string> ranges;
  for (size_t i = 0; i < kPrefixes; ++i) {
    const auto length = static_cast<uint32_t>(12 + random() % 17);
    const uint32_t address = static_cast<uint32_t>(random()) & ~0u << (32 - length);
    char text[40];
    std::snprintf(text, sizeof text, "%u.%u.%u.%u/%u:either", address >> 24, address >> 16 & 255, address >> 8 & 255,
                  address & 255, length);
    ranges.emplace_back(text);
  }
  return ranges;
}

struct Frames {
  std::vector<uint8_t> memory;
  std::vector<uint32_t> source, destination;
};

// TCP from a port that no list names to port 443.
Frames make_frames(size_t tags) {
  Frames frames;
  std::mt19937 random(7);
  for (size_t i = 0; i < kFrames; ++i) {
    frames.source.push_back(0x0A000000 | (static_cast<uint32_t>(random()) & 0xffffff));
    frames.destination.push_back(static_cast<uint32_t>(random()));
    PacketBuilder frame;
    frame.ethernet(tags > 0 ? kVlanType : kIpv4Type);
    for (size_t tag = 1; tag <= tags; ++tag) frame.vlan(5, tag == tags ? kIpv4Type : kVlanType);
    const size_t ip = frame.size();
    frame.ipv4(frames.source.back(), frames.destination.back());
    frame.number16(static_cast<uint16_t>(1024 + random() % 30000)).number16(443);
    frame.payload(kFrameBytes - frame.size());
    PacketBytes bytes = frame.bytes();
    bytes[ip + 9] = 6;
    frames.memory.insert(frames.memory.end(), bytes.begin(), bytes.end());
  }
  return frames;
}

ebpf::Object load(const char* name) {
  auto object = ebpf::load_object(std::string(TRAMA_FILTERS) + "/" + name + ".bpf.o");
  if (!object) {
    std::fprintf(stderr, "%s\n", ebpf::describe(object.error()).c_str());
    std::exit(2);
  }
  return std::move(*object);
}

std::shared_ptr<FilterModule> make(const char* name, const ebpf::ModuleOptions& options) {
  auto module = FilterModule::make(load(name), options);
  if (module) return *module;
  std::fprintf(stderr, "%s\n", ebpf::describe(module.error()).c_str());
  std::exit(2);
}

void judge(benchmark::State& state, const FilterModule& module, const Frames& frames) {
  ebpf::FilterReplica replica(module, 0, kFrameBytes);
  size_t passed = 0;
  for (auto step : state) {
    replica.begin_batch();
    for (size_t i = 0; i < kFrames; ++i)
      passed += replica.judge({frames.memory.data() + i * kFrameBytes, kFrameBytes}, 1) == ebpf::Decision::pass;
    replica.end_batch();
  }
  benchmark::DoNotOptimize(passed);
  report_packets(state, kFrames);
}

void two_lpm_lookups(benchmark::State& state, Engine engine) {
  judge(state, *make("privacy_ranges", {.ranges = random_ranges(1), .engine = engine}), make_frames(0));
}
void two_lpm_lookups_vlan(benchmark::State& state, Engine engine) {
  judge(state, *make("privacy_ranges", {.ranges = random_ranges(1), .engine = engine}), make_frames(1));
}
void two_hash_lookups(benchmark::State& state, Engine engine) {
  judge(state, *make("ports", {.entries = {"ports: tcp/443 = 1"}, .engine = engine}), make_frames(0));
}

PrivacyRanges parse(const std::vector<std::string>& texts) {
  std::vector<PrivacyRanges::Entry> entries;
  for (const std::string& text : texts) entries.push_back({text, {}});
  auto ranges = PrivacyRanges::parse(entries);
  if (!ranges) std::exit(2);
  return std::move(*ranges);
}

// Both addresses, as the stage does it.
void exclude(benchmark::State& state) {
  const PrivacyRanges ranges = parse(random_ranges(1));
  const Frames frames = make_frames(0);
  std::vector<uint8_t> excluded(kFrames);
  for (auto step : state) {
    size_t count = ranges.mark(frames.source.data(), frames.destination.data(), kFrames, excluded.data());
    benchmark::DoNotOptimize(count);
    benchmark::ClobberMemory();
  }
  report_packets(state, kFrames);
}

// All that stands between the parsed object and the first packet, without the list.
void load_module(benchmark::State& state, Engine engine) {
  const ebpf::Object object = load("privacy_ranges");
  for (auto step : state) {
    auto module = FilterModule::make(object, {.engine = engine});
    benchmark::DoNotOptimize(module);
  }
}

void replace_list(benchmark::State& state) {
  const auto module = make("privacy_ranges", {});
  const std::vector<std::string> lists[] = {random_ranges(1), random_ranges(2)};
  size_t next = 0;
  for (auto step : state)
    if (!ebpf::set_ranges(module->maps(), lists[next++ % 2])) state.SkipWithError("refused");
}

void replace_exclusions(benchmark::State& state) {
  const std::vector<std::string> texts = random_ranges(1);
  for (auto step : state) benchmark::DoNotOptimize(parse(texts));
}

BENCHMARK_CAPTURE(two_lpm_lookups, jit, Engine::jit);
BENCHMARK_CAPTURE(two_lpm_lookups, interpreter, Engine::interpreter);
BENCHMARK_CAPTURE(two_lpm_lookups_vlan, jit, Engine::jit);
BENCHMARK_CAPTURE(two_lpm_lookups_vlan, interpreter, Engine::interpreter);
BENCHMARK_CAPTURE(two_hash_lookups, jit, Engine::jit);
BENCHMARK_CAPTURE(two_hash_lookups, interpreter, Engine::interpreter);
BENCHMARK(exclude);
BENCHMARK_CAPTURE(load_module, jit, Engine::jit)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(load_module, interpreter, Engine::interpreter)->Unit(benchmark::kMicrosecond);
BENCHMARK(replace_list)->Unit(benchmark::kMicrosecond);
BENCHMARK(replace_exclusions)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace trama

int main(int argc, char** argv) {
  if (!trama::initialize_interleaved(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
