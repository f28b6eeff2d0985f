// Runs each kernel of the main job, with each set of vector instructions that there is, on input that is the same on
// every run, for instruction_counts.py, which has callgrind count what happens inside trama_counted():
//
//   valgrind --tool=callgrind --toggle-collect=trama_counted --dump-after=trama_counted kernel_counts
//
// The first line names what made it: the compiler, and the version of Highway, whose sort is one of the kernels. Then a
// line for each call of trama_counted, "TARGET KERNEL TRAFFIC PACKETS". With --version there is the first line only.
#include <hwy/highway.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "control/vector_targets.hpp"
#include "libclient/formats/compact.hpp"
#include "libclient/formats/lz4_emitter.hpp"
#include "modules/support/crypto_pan.hpp"
#include "modules/support/header_walk.hpp"
#include "modules/support/matrix_sorter.hpp"
#include "modules/support/traffic_matrix.hpp"
#include "tests/bench/traffic_pairs.hpp"
#include "tests/support/packet_builder.hpp"

// Called through a name that the linker keeps and the optimizer doesn't look into.
extern "C" __attribute__((noipa)) void trama_counted(const std::function<void()>& kernel, int times) {
  while (times-- > 0) kernel();
}

namespace trama {
namespace {

constexpr size_t kWindow = size_t{1} << 15;
constexpr size_t kPackets = 4096;
constexpr size_t kPacketBytes = 64;
constexpr int kTimes = 3;  // Highway's sort draws its pivots, and takes some more steps now and some less then

// One kernel's run on some packets. The first call prepares what is prepared once in a process: dispatch, the linker's
// tables, memory.
void count(const char* kernel, const char* traffic, size_t packets, const std::function<void()>& run) {
  run();
  std::printf("%s %s %s %zu\n", usable_vector_targets().front().c_str(), kernel, traffic, kTimes * packets);
  trama_counted(run, kTimes);
}

// A finished matrix into bytes, and back.
void count_encodings(const char* traffic, const HyperCsr& matrix) {
  std::vector<uint8_t> block(lz4_index_bound(kWindow + 1) + lz4_counts_bound(kWindow));
  count("lz4", traffic, kWindow, [&] {
    emit_index(matrix.start, block.data());
    emit_index(matrix.row, block.data());
    emit_column(matrix.column, block.data());
    emit_counts(matrix.count, block.data());
  });
  std::vector<uint8_t> compact(compact_bound(kWindow));
  size_t bytes = 0;
  count("compact", traffic, kWindow, [&] { bytes = write_compact(matrix, false, compact); });
  CompactReader reader;
  count("read-compact", traffic, kWindow, [&] {
    if (!reader.read({compact.data(), bytes})) std::abort();
  });
}

// Packets anonymized, then built.
void count_pairs(const CryptoPan& pan, const char* traffic, const TrafficPairs& pairs) {
  std::vector<uint32_t> source(kWindow), destination(kWindow);
  count("anonymize", traffic, kWindow, [&] {
    pan.anonymize(pairs.source.data(), source.data(), kWindow);
    pan.anonymize(pairs.destination.data(), destination.data(), kWindow);
  });
  MatrixBuilder builder(kWindow);
  MatrixStorage matrix(kWindow);
  count("build", traffic, kWindow,
        [&] { builder.build(source.data(), destination.data(), kWindow, IndexOrder::numeric, matrix); });
  count_encodings(traffic, matrix.view());
}

// A window summed first: its sources and links anonymized once, put back into order.
void count_links(const CryptoPan& pan, const char* traffic, const TrafficPairs& pairs) {
  MatrixBuilder builder(kWindow);
  MatrixStorage summed(kWindow), matrix(kWindow);
  builder.build(pairs.source.data(), pairs.destination.data(), kWindow, IndexOrder::numeric, summed);
  pan.anonymize(summed.row(), summed.row(), summed.view().rows());
  pan.anonymize(summed.column(), summed.column(), summed.view().links());
  MatrixSorter sorter(kWindow);
  count("reorder", traffic, kWindow, [&] { sorter.sort(summed.view(), IndexOrder::numeric, matrix); });
}

void count_walk(const char* traffic, uint16_t link_type, const TrafficPairs& pairs, const PacketBuilder& headers) {
  std::vector<PacketBytes> packets;
  for (size_t i = 0; i < kPackets; ++i) {
    PacketBuilder packet = headers;
    packet.ipv4(pairs.source[i], pairs.destination[i]);
    packets.push_back(packet.payload(kPacketBytes - packet.size()).bytes());
  }
  uint32_t sum = 0;
  count("walk", traffic, kPackets, [&] {
    for (const PacketBytes& packet : packets) {
      const Walked walked = walk(link_type, packet.data(), static_cast<uint32_t>(packet.size()));
      sum += walked.source ^ walked.destination;
    }
  });
  if (sum == 0) std::puts("no packet was counted");
}

void count_all() {
  const uint8_t key[32] = {1, 2, 3};
  const CryptoPan pan(key);  // once: its tables, the same on all targets, take valgrind longer than all the rest
  const TrafficPairs uniform = uniform_pairs(kWindow), skewed = skewed_pairs(kWindow);
  for (const std::string& target : usable_vector_targets()) {
    if (!limit_vector_targets(target)) std::abort();
    count_pairs(pan, "U", uniform);
    count_pairs(pan, "Z", skewed);
    count_links(pan, "Z", skewed);
  }
  // Plain code, for the least that there is.
  count_walk("raw", kRawLink, uniform, PacketBuilder());
  count_walk("ethernet", kEthernetLink, uniform, PacketBuilder().ethernet(kIpv4Type));
  count_walk("vlan", kEthernetLink, uniform, PacketBuilder().ethernet(kVlanType).vlan(5, kIpv4Type));
}

}  // namespace
}  // namespace trama

int main(int argc, char** argv) {
  std::printf("g++ %s, highway %d.%d.%d\n", __VERSION__, HWY_MAJOR, HWY_MINOR, HWY_PATCH);
  if (argc == 2 && std::string(argv[1]) == "--version") return 0;
  trama::count_all();
}
