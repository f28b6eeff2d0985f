// What the header walk costs, nanoseconds a packet: 1024 packets of 64 bytes that stand in the first and second level
// of cache, judged one after the other as the parse stage does it. Untagged Ethernet may cost 3 ns more than raw IP.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <vector>

#include "modules/support/header_walk.hpp"
#include "tests/bench/interleaved.hpp"
#include "tests/support/packet_builder.hpp"

namespace trama {
namespace {

constexpr size_t kPackets = 1024, kSlotBytes = 128;

// Packets of one kind in a row, each in a slot of its own, with addresses of their own.
struct Burst {
  std::vector<uint8_t> memory = std::vector<uint8_t>(kPackets * kSlotBytes);
  std::vector<Packet> packets;
};

template <class Headers>
Burst make_burst(uint16_t link_type, const Headers& headers) {
  Burst burst;
  std::mt19937 random(1);
  for (size_t i = 0; i < kPackets; ++i) {
    PacketBuilder frame = headers();
    frame.ipv4(static_cast<uint32_t>(random()), static_cast<uint32_t>(random()));
    if (frame.size() < 64) frame.payload(64 - frame.size());
    uint8_t* slot = burst.memory.data() + i * kSlotBytes;
    std::copy(frame.bytes().begin(), frame.bytes().end(), slot);
    const auto bytes = static_cast<uint32_t>(frame.size());
    burst.packets.push_back({slot, 0, bytes, bytes, link_type, Verdict::counted});
  }
  return burst;
}

void judge(benchmark::State& state, const Burst& burst) {
  std::vector<uint32_t> source(kPackets), destination(kPackets);
  std::vector<Verdict> verdict(kPackets);
  for (auto step : state) {
    size_t counted = 0;
    for (size_t i = 0; i < kPackets; ++i) {
      const Packet& packet = burst.packets[i];
      const Walked walked = walk(packet.link_type, packet.data, packet.captured);
      verdict[i] = walked.verdict;
      source[counted] = walked.source;
      destination[counted] = walked.destination;
      counted += walked.verdict == Verdict::counted;
    }
    benchmark::DoNotOptimize(counted);
    benchmark::ClobberMemory();
  }
  report_packets(state, kPackets);
}

void raw_ip(benchmark::State& state) {
  judge(state, make_burst(kRawLink, [] { return PacketBuilder(); }));
}
void ethernet(benchmark::State& state) {
  judge(state, make_burst(kEthernetLink, [] { return PacketBuilder().ethernet(kIpv4Type); }));
}
void ethernet_vlan(benchmark::State& state) {
  judge(state, make_burst(kEthernetLink, [] { return PacketBuilder().ethernet(kVlanType).vlan(5, kIpv4Type); }));
}
void ethernet_mpls(benchmark::State& state) {
  judge(state,
        make_burst(kEthernetLink, [] { return PacketBuilder().ethernet(kMplsType).mpls(16, false).mpls(17, true); }));
}
void linux_cooked(benchmark::State& state) {
  judge(state, make_burst(kCookedLink, [] { return PacketBuilder().cooked(kIpv4Type); }));
}
void wifi_radiotap(benchmark::State& state) {
  judge(state, make_burst(kRadiotapLink, [] { return PacketBuilder().radiotap({2}, {0}).wifi().snap(kIpv4Type); }));
}

BENCHMARK(raw_ip);
BENCHMARK(ethernet);
BENCHMARK(ethernet_vlan);
BENCHMARK(ethernet_mpls);
BENCHMARK(linux_cooked);
BENCHMARK(wifi_radiotap);

}  // namespace
}  // namespace trama

int main(int argc, char** argv) {
  if (!trama::initialize_interleaved(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
