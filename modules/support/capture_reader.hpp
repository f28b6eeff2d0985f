// Reads captures: pcap and pcapng in every variant, compressed or not, from files, pipes, FIFOs and standard input.
//
// The reader never waits. It takes what bytes are there, describes the whole packets in them, and can be called again
// after a writer stalled between any two bytes. Its memory is fixed when it is made, except for the interface table of
// a pcapng section, a decompressor when the input turns out to be compressed, and the text of the report at the end.
//
// Packets point into the block that was handed to read(), and stay valid until that block is handed to read() again.
// Payload is copied only where a packet straddles two blocks.
//
//   auto reader = CaptureReader::open("day.pcapng.zst");
//   PacketBlock block;
//   std::vector<Packet> packets(1024);
//   for (size_t count;;) {
//     const auto status = reader->read(block, packets, count);
//     if (status == CaptureReader::Status::end) break;
//     if (status == CaptureReader::Status::wait) wait_until_readable(reader->wait_fd());
//     use(std::span(packets).first(count));
//   }
//   std::cout << reader->report().detail;
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/diagnostic.hpp"
#include "modules/support/byte_stream.hpp"
#include "modules/support/capture_format.hpp"
#include "modules/support/input_report.hpp"
#include "modules/support/packet.hpp"

namespace trama {

// Memory that the packets of one batch point into. Belongs to the batch, and is reused with it.
class PacketBlock {
 public:
  static constexpr size_t kBytes = (1 << 20) + size_t{kMaxCaptured};
  static_assert(kBytes >= kMaxNeed);

  PacketBlock() : memory_(new uint8_t[kBytes]) {}
  uint8_t* data() { return memory_.get(); }
  std::span<uint8_t> bytes() { return {memory_.get(), kBytes}; }

 private:
  std::unique_ptr<uint8_t[]> memory_;  // not cleared: pages that are never used are never touched
};

// Movable; used by one thread at a time.
class CaptureReader {
 public:
  enum class Status {
    packets,  // `count` of them; 0 only after a long stretch without packets: call again
    wait,     // no whole packet is there: call again when wait_fd() is readable
    end,      // the input is over: report() says how
  };

  // `path` "-" is standard input. Fails if the file can't be opened or is a directory; whether it is a capture turns
  // out in read(), for its first bytes may come late.
  static Expected<CaptureReader> open(const std::string& path);
  static CaptureReader from_fd(int fd, std::string name, bool owns_fd);

  // Describes up to packets.size() (at least 1) packets in `block`.
  Status read(PacketBlock& block, std::span<Packet> packets, size_t& count);
  // From here on read() shows what was read so far and, of a pipe, what waits in it; then it says `wait`, or `end`
  // where there is nothing else.
  void stop_reading() { stream_.stop_reading(); }
  int wait_fd() const { return stream_.fd(); }
  const InputReport& report() const { return report_; }

 private:
  enum class Filled { yes, wait, ended };

  CaptureReader(ByteStream stream, std::string name);
  Filled fill(PacketBlock& block);
  Filled skip_some(PacketBlock& block);
  Filled append(std::span<uint8_t> room);
  size_t wanted_bytes(size_t packets) const;
  ParseProgress parse(std::span<const uint8_t> bytes, std::span<Packet> packets);
  void keep_rest(PacketBlock& block, size_t used);
  void take(const ParseProgress& progress);
  void finish(bool format_failed);
  void end_with(const InputFailure& failure);

  ByteStream stream_;
  std::unique_ptr<CaptureFormat> format_;  // null until the first bytes are there
  InputFailure refusal_;                   // why it stays null
  InputReport report_;
  bool over_ = false;     // report_ is final
  bool no_more_ = false;  // the stream has ended or failed

  // Bytes that were read but belong to no packet handed out: the head of a straddling record, or what was read too
  // much.
  std::unique_ptr<uint8_t[]> carry_;
  size_t carry_begin_ = 0, carry_end_ = 0;
  size_t from_carry_ = 0, filled_ = 0;  // bytes in the block being filled: from the carry, and altogether

  uint64_t position_ = 0;         // offset in the content of the first byte that is not done with
  uint64_t skip_ = 0;             // bytes from there on that nobody needs
  size_t need_ = 0;               // bytes in a row without which the format can't go on
  size_t wanted_ = 0;             // bytes to have in the block before it is parsed, if they are there
  CaptureItem pending_;           // what stands there
  double bytes_per_packet_ = 96;  // recently, headers included
};

}  // namespace trama
