// Fuzz target of the capture reader. Input: one byte that chooses pieces and batches, then the file: pcap, pcapng, or
// either compressed, by its content.
// Beside what the sanitizers see it checks that the parser, fed in pieces from blocks that end exactly at the last
// byte, and the reader describe the same packets, and that the reader's report fits what it handed out.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "modules/support/capture_reader.hpp"

namespace trama {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// What two ways of reading have to agree on.
struct Trace {
  size_t packets = 0;
  uint64_t digest = 14695981039346656037u;  // FNV-1a
  void add(const Packet& packet) {
    require(packet.captured <= kMaxCaptured && packet.verdict == Verdict::counted);
    ++packets;
    number(static_cast<uint64_t>(packet.time_ns));
    number(packet.original);
    number(packet.link_type);
    for (uint32_t i = 0; i < packet.captured; ++i) digest = (digest ^ packet.data[i]) * 1099511628211u;
  }
  void number(uint64_t value) { digest = (digest ^ value) * 1099511628211u; }
  bool operator==(const Trace&) const = default;
};

Trace read_by_reader(std::span<const uint8_t> bytes, size_t batch) {
  static PacketBlock block;
  const int fd = memfd_create("capture", MFD_CLOEXEC);
  require(write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  lseek(fd, 0, SEEK_SET);
  CaptureReader reader = CaptureReader::from_fd(fd, "fuzz", true);
  std::vector<Packet> packets(batch);
  Trace trace;
  size_t count = 0;
  for (;;) {
    const CaptureReader::Status status = reader.read(block, packets, count);
    if (status == CaptureReader::Status::end) break;
    require(status == CaptureReader::Status::packets && count <= batch);
    for (size_t i = 0; i < count; ++i) trace.add(packets[i]);
    if (trace.packets > 1'000'000) break;  // a decompression bomb
  }
  const InputReport& report = reader.report();
  require(report.packets == trace.packets && report.bytes <= bytes.size());
  require((report.status == InputStatus::ok) == report.detail.empty());
  require(report.readable || trace.packets == 0);
  require(report.readable || report.status != InputStatus::ok || trace.packets > 1'000'000);
  return trace;
}

Trace read_by_parser(CaptureFormat& format, std::span<const uint8_t> bytes, size_t piece, size_t batch) {
  std::vector<Packet> packets(batch);
  Trace trace;
  size_t begin = 0, end = 0;
  for (;;) {
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[end - begin]);
    std::copy_n(bytes.data() + begin, end - begin, exact.get());
    const ParseProgress progress = format.parse({exact.get(), end - begin}, begin, packets);
    require(progress.used <= end - begin && progress.packets <= batch && progress.need <= kMaxNeed);
    require(progress.skip == 0 || progress.used == end - begin);
    for (size_t i = 0; i < progress.packets; ++i) trace.add(packets[i]);
    begin += progress.used;
    if (progress.failed) return trace;
    if (progress.packets == batch && progress.skip == 0) continue;
    require(progress.skip != 0 || progress.need > end - begin);
    if (progress.skip > bytes.size() - begin || (progress.skip == 0 && end == bytes.size())) return trace;
    begin += progress.skip;
    end = std::min(bytes.size(), std::max(begin, end) + piece);
  }
}

}  // namespace
}  // namespace trama

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trama;
  if (size == 0) return 0;
  const size_t piece = data[0] % 16 == 15 ? 4096 : data[0] % 16 * 11 + 1;
  const size_t batch = data[0] / 16 * 3 + 1;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  const Trace read = read_by_reader(bytes, batch);
  InputFailure failure;
  const std::unique_ptr<CaptureFormat> format = recognise_capture(bytes, true, failure);
  require(format != nullptr || !failure.text.empty());
  if (format) require(read_by_parser(*format, bytes, piece, batch) == read);
  return 0;
}
