// What reading a capture costs, nanoseconds of processor time a packet: 64-byte packets, from a file in memory, by our
// reader as the pcap stage uses it (batches of 1024, two blocks in turn) and by libpcap. "walked": both addresses are
// read, too, which brings the packets' bytes into the cache. Plain captures hold 2^20 packets, compressed ones 2^18.
// Goal: at least three times as fast as libpcap.
#include <pcap/pcap.h>

#include "modules/support/capture_reader.hpp"
#include "modules/support/header_walk.hpp"
#include "tests/bench/interleaved.hpp"
#include "tests/bench/traffic_pairs.hpp"
#include "tests/support/capture_builder.hpp"
#include "tests/support/capture_reading.hpp"
#include "tests/support/compress.hpp"

namespace trama {
namespace {

constexpr size_t kPackets = size_t{1} << 20, kPackedPackets = size_t{1} << 18;
constexpr int64_t kStart_ns = 1'700'000'000'000'000'000;

// A capture that only this process has, and that can be opened by a name.
struct Capture {
  Capture(const PacketBytes& bytes, size_t count)
      : packets(count), path("/proc/self/fd/" + std::to_string(test::memory_file(bytes))) {}
  size_t packets;
  std::string path;
};

PacketBytes pcap_bytes(size_t packets) {
  const TrafficPairs pairs = skewed_pairs(packets);
  test::PcapBuilder file;
  for (size_t i = 0; i < packets; ++i)
    file.packet(ethernet_ipv4_packet(pairs.source[i], pairs.destination[i]),
                kStart_ns + static_cast<int64_t>(i) * 1000);
  return file.bytes();
}

PacketBytes pcapng_bytes(size_t packets) {
  const TrafficPairs pairs = skewed_pairs(packets);
  test::PcapngBuilder file;
  file.section().interface();
  for (size_t i = 0; i < packets; ++i)
    file.enhanced(0, kStart_ns / 1000 + i, ethernet_ipv4_packet(pairs.source[i], pairs.destination[i]));
  return file.bytes();
}

uint64_t walked(uint16_t link_type, const uint8_t* data, uint32_t captured) {
  const Walked packet = walk(link_type, data, captured);
  return packet.source + packet.destination;
}

void by_trama(benchmark::State& state, const Capture& capture, bool walk_too) {
  PacketBlock blocks[2];
  std::vector<Packet> packets(1024);
  for (auto iteration : state) {
    auto reader = CaptureReader::open(capture.path);
    size_t total = 0, count = 0;
    uint64_t sum = 0;
    for (unsigned turn = 0; reader->read(blocks[turn % 2], packets, count) != CaptureReader::Status::end; ++turn) {
      total += count;
      for (size_t i = 0; walk_too && i < count; ++i)
        sum += walked(packets[i].link_type, packets[i].data, packets[i].captured);
      benchmark::DoNotOptimize(packets.data());
    }
    benchmark::DoNotOptimize(sum);
    if (total != capture.packets) state.SkipWithError("packets are missing");
  }
  report_packets(state, capture.packets);
}

struct Seen {
  size_t packets = 0;
  uint64_t sum = 0;
  bool walk_too = false;
};

void see(u_char* user, const pcap_pkthdr* header, const u_char* data) {
  auto& seen = *reinterpret_cast<Seen*>(user);
  ++seen.packets;
  if (seen.walk_too) seen.sum += walked(kEthernetLink, data, header->caplen);
  benchmark::DoNotOptimize(header->ts);
}

void by_libpcap(benchmark::State& state, const Capture& capture, bool walk_too, bool dispatch) {
  for (auto iteration : state) {
    char error[PCAP_ERRBUF_SIZE];
    pcap_t* opened = pcap_open_offline(capture.path.c_str(), error);
    if (opened == nullptr) {
      state.SkipWithError(error);
      return;
    }
    Seen seen{.walk_too = walk_too};
    auto* user = reinterpret_cast<u_char*>(&seen);
    if (dispatch) {
      while (pcap_dispatch(opened, 1024, see, user) > 0) continue;
    } else {
      pcap_pkthdr* header = nullptr;
      const u_char* data = nullptr;
      while (pcap_next_ex(opened, &header, &data) == 1) see(user, header, data);
    }
    pcap_close(opened);
    benchmark::DoNotOptimize(seen.sum);
    if (seen.packets != capture.packets) state.SkipWithError("packets are missing");
  }
  report_packets(state, capture.packets);
}

void register_plain(const std::string& format, const Capture& capture) {
  for (const bool walk_too : {false, true}) {
    const std::string name = format + (walk_too ? "/walked" : "");
    benchmark::RegisterBenchmark((name + "/trama").c_str(), by_trama, capture, walk_too);
    benchmark::RegisterBenchmark((name + "/libpcap_next_ex").c_str(), by_libpcap, capture, walk_too, false);
    benchmark::RegisterBenchmark((name + "/libpcap_dispatch").c_str(), by_libpcap, capture, walk_too, true);
  }
}

void register_all() {
  register_plain("pcap", {pcap_bytes(kPackets), kPackets});
  register_plain("pcapng", {pcapng_bytes(kPackets), kPackets});
  const PacketBytes small = pcap_bytes(kPackedPackets);
  for (const InputCompression how : test::kCompressions) {
    const std::string name = "pcap." + std::string(to_string(how)) + "/trama";
    benchmark::RegisterBenchmark(name.c_str(), by_trama, Capture(test::compress(how, small), kPackedPackets), false);
  }
}

}  // namespace
}  // namespace trama

int main(int argc, char** argv) {
  if (!trama::initialize_interleaved(argc, argv)) return 2;
  trama::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
