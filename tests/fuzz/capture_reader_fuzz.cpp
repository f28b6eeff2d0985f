// Fuzz target of the capture reader. Input: one byte that chooses pieces and batches, then the file: pcap, pcapng, or
// either compressed, by its content.
// Beside what the sanitizers see it checks that the parser, fed in pieces from memory that ends exactly at the last
// byte, and the reader describe the same packets, also when the reader has to unpack them first, and that the reader's
// report fits what it handed out. Mutation reaches into compressed files: they are unpacked, changed and packed again.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "modules/support/capture_reader.hpp"
#include "tests/fuzz/guarded_arena.hpp"
#include "tests/fuzz/repack.hpp"
#include "tests/support/compress.hpp"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace trama {
namespace {

using Bytes = std::span<const uint8_t>;

// A few hundred bytes can unpack to gigabytes. More content than this shows nothing new.
constexpr size_t kMostContent = 1 << 20;

void require(bool holds) {
  if (!holds) std::abort();
}

// What two ways of reading have to agree on.
struct Trace {
  size_t packets = 0, bytes = 0;
  uint64_t digest = 14695981039346656037u;  // as FNV-1a, on words
  void add(const Packet& packet) {
    require(packet.captured <= kMaxCaptured && packet.verdict == Verdict::counted);
    ++packets;
    bytes += packet.captured;
    number(static_cast<uint64_t>(packet.time_ns));
    number(packet.original);
    number(packet.link_type);
    number(packet.captured);
    for (uint32_t at = 0; at < packet.captured; at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, packet.data + at, std::min<size_t>(sizeof word, packet.captured - at));
      number(word);
    }
  }
  void number(uint64_t value) { digest = (digest ^ value) * 1099511628211u; }
  bool operator==(const Trace&) const = default;
};

// A file in memory, the same one for every run.
int file_with(Bytes bytes) {
  static const int fd = memfd_create("capture", MFD_CLOEXEC);
  require(pwrite(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  require(ftruncate(fd, static_cast<off_t>(bytes.size())) == 0 && lseek(fd, 0, SEEK_SET) == 0);
  return fd;
}

struct ReaderRun {
  Trace trace;
  InputReport report;
  bool stopped = false;  // there was more than kMostContent
};

ReaderRun read_by_reader(Bytes bytes, std::span<Packet> packets) {
  static PacketBlock block;
  CaptureReader reader = CaptureReader::from_fd(file_with(bytes), "fuzz", false);
  ReaderRun run;
  for (size_t count = 0; !run.stopped;) {
    const CaptureReader::Status status = reader.read(block, packets, count);
    if (status == CaptureReader::Status::end) break;
    require(status == CaptureReader::Status::packets && count <= packets.size());
    for (const Packet& packet : packets.first(count)) run.trace.add(packet);
    run.stopped = count == 0 || run.trace.bytes > kMostContent;  // no packets: a long stretch without any
  }
  run.report = reader.report();
  require(run.report.packets == run.trace.packets && run.report.bytes <= bytes.size());
  require((run.report.status == InputStatus::ok) == run.report.detail.empty());
  require(run.report.readable || run.trace.packets == 0);
  require(run.report.readable || run.report.status != InputStatus::ok || run.stopped);
  return run;
}

Trace read_by_parser(CaptureFormat& format, Bytes bytes, size_t piece, std::span<Packet> packets) {
  static test::GuardedArena memory(2 * kMostContent);
  constexpr size_t kLongContent = 16 << 10;  // what has to be there at once is copied for each piece
  if (bytes.size() > kLongContent) piece = bytes.size() / 4;
  Trace trace;
  size_t begin = 0, end = 0;
  for (;;) {
    memory.clear();
    const ParseProgress progress = format.parse(memory.copy(bytes.subspan(begin, end - begin)), begin, packets);
    require(progress.used <= end - begin && progress.packets <= packets.size() && progress.need <= kMaxNeed);
    require(progress.skip == 0 || progress.used == end - begin);
    for (const Packet& packet : packets.first(progress.packets)) trace.add(packet);
    begin += progress.used;
    if (progress.failed) return trace;
    if (progress.packets == packets.size() && progress.skip == 0) continue;
    require(progress.skip != 0 || progress.need > end - begin);
    if (progress.skip > bytes.size() - begin || (progress.skip == 0 && end == bytes.size())) return trace;
    begin += progress.skip;
    end = std::min(bytes.size(), std::max(begin, end) + piece);
  }
}

void check_parser(Bytes content, size_t piece, std::span<Packet> packets, const Trace& expected) {
  InputFailure failure;
  const std::unique_ptr<CaptureFormat> format = recognise_capture(content, true, failure);
  require(format != nullptr || !failure.text.empty());
  require((format ? read_by_parser(*format, content, piece, packets) : Trace()) == expected);
}

void check(uint8_t choice, Bytes file) {
  static std::array<Packet, 16 * 3 + 1> all_packets;
  const size_t piece = choice % 16 == 15 ? 4096 : choice % 16 * 11 + 1;
  const std::span<Packet> packets = std::span(all_packets).first(choice / 16 * 3 + 1);
  const ReaderRun run = read_by_reader(file, packets);
  const InputCompression how = recognise_compression(file, true);
  if (how == InputCompression::none) {
    check_parser(file, piece, packets, run.trace);
    return;
  }
  if (run.stopped) return;
  const test::Unpacked content = test::unpack(how, file, kMostContent);
  // A damaged stream may give more or fewer of its bytes before the damage, depending on how much is asked for.
  if (content.whole) check_parser(content.bytes, piece, packets, run.trace);
}

InputCompression nth_compression(size_t n) { return test::kCompressions[n % std::size(test::kCompressions)]; }

// Replaces the file behind the first byte by `file`, packed; 0 if it has no room.
size_t put_packed(InputCompression how, Bytes file, std::span<uint8_t> data) {
  const std::vector<uint8_t> packed = test::pack(how, file, data.size() - 1);
  if (packed.empty()) return 0;
  std::copy(packed.begin(), packed.end(), data.begin() + 1);
  return 1 + packed.size();
}

// A change of what is packed, or of how: `data` has room for more than its first `size` bytes. 0 if it can't be done.
size_t mutate_packed(InputCompression how, std::span<uint8_t> data, size_t size, unsigned choice) {
  constexpr size_t kMostUnpacked = 64 << 10, kRoom = 256;
  std::vector<uint8_t> content = test::unpack(how, data.first(size).subspan(1), kMostUnpacked).bytes;
  if (content.size() > kMostUnpacked) return 0;
  if (choice % 8 == 0) return put_packed(nth_compression(choice / 8), content, data);
  const size_t before = content.size();
  content.resize(before + kRoom);
  content.resize(LLVMFuzzerMutate(content.data(), before, content.size()));
  return put_packed(how, content, data);
}

size_t mutate(std::span<uint8_t> data, size_t size, unsigned choice) {
  if (size < 2) return 0;
  const Bytes file = data.first(size).subspan(1);
  const InputCompression how = recognise_compression(file, true);
  if (how != InputCompression::none) return choice % 4 == 0 ? 0 : mutate_packed(how, data, size, choice / 4);
  if (choice % 256 != 0) return 0;
  return put_packed(nth_compression(choice / 256), std::vector<uint8_t>(file.begin(), file.end()), data);
}

}  // namespace
}  // namespace trama

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  const size_t mutated = trama::mutate({data, max_size}, size, seed);
  return mutated != 0 ? mutated : LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) trama::check(data[0], std::span(data, size).subspan(1));
  return 0;
}
