// Ways to read a capture that lies in memory: from a file, from a pipe whose writer stalls, and by the bare parser with
// heap blocks that end exactly where its bytes end. All have to give the same.
#pragma once
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "modules/support/capture_reader.hpp"
#include "tests/support/capture_builder.hpp"

namespace trama::test {

struct CaptureRead {
  std::vector<BuiltPacket> packets;
  InputReport report;
};

inline BuiltPacket copy_of(const Packet& packet) {
  return {PacketBytes(packet.data, packet.data + packet.captured), packet.time_ns, packet.original, packet.link_type};
}

// How many bytes come next, of so many that are left; at least 1.
using Pieces = std::function<size_t(size_t left)>;
inline Pieces pieces_of(size_t bytes) {
  return [bytes](size_t) { return bytes; };
}

// Calls read() until the end, with a few blocks in turn; the packets of each block have to stay as they are until it is
// used again. `on_wait` has to make bytes, or the end, come.
inline CaptureRead read_all(CaptureReader& reader, size_t batch, const std::function<void()>& on_wait) {
  constexpr size_t kBlocks = 3;
  struct Batch {
    PacketBlock block;
    std::vector<Packet> packets;
    size_t count = 0;
  };
  CaptureRead result;
  std::deque<Batch> alive(kBlocks);
  const auto collect = [&](Batch& oldest) {
    for (size_t i = 0; i < oldest.count; ++i) result.packets.push_back(copy_of(oldest.packets[i]));
    oldest.count = 0;
  };
  for (size_t turn = 0;; ++turn) {
    Batch& next = alive[turn % kBlocks];
    collect(next);
    next.packets.resize(batch);
    const CaptureReader::Status status = reader.read(next.block, next.packets, next.count);
    if (status == CaptureReader::Status::end) {
      EXPECT_EQ(next.count, 0u);
      for (size_t i = 1; i < kBlocks; ++i) collect(alive[(turn + i) % kBlocks]);
      break;
    }
    if (status == CaptureReader::Status::wait) {
      EXPECT_EQ(next.count, 0u);
      on_wait();
    }
  }
  result.report = reader.report();
  EXPECT_EQ(result.report.packets, result.packets.size());
  return result;
}

// A file in memory: its descriptor stands at its beginning.
inline int memory_file(std::span<const uint8_t> bytes) {
  const int fd = memfd_create("capture", MFD_CLOEXEC);
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t written = write(fd, bytes.data() + at, bytes.size() - at);
    if (written <= 0) std::abort();
    at += static_cast<size_t>(written);
  }
  lseek(fd, 0, SEEK_SET);
  return fd;
}

inline CaptureRead read_from_file(std::span<const uint8_t> bytes, size_t batch = 1024) {
  CaptureReader reader = CaptureReader::from_fd(memory_file(bytes), "capture", true);
  return read_all(reader, batch, [] { FAIL() << "a regular file never makes anybody wait"; });
}

// The writer stalls after each piece (at most 4096 bytes) until the reader says that it waits.
inline CaptureRead read_from_pipe(std::span<const uint8_t> bytes, const Pieces& pieces, size_t batch = 1024) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  CaptureReader reader = CaptureReader::from_fd(ends[0], "capture", true);
  bool open = true;
  const auto on_wait = [&] {
    pollfd asked{reader.wait_fd(), POLLIN, 0};
    EXPECT_EQ(poll(&asked, 1, 0), 0) << "the reader waits, but bytes are there";
    if (bytes.empty()) {
      EXPECT_TRUE(open) << "the reader waits, but its pipe is closed";
      if (open) close(ends[1]);
      open = false;
      return;
    }
    const size_t count = std::clamp<size_t>(pieces(bytes.size()), 1, std::min<size_t>(bytes.size(), 4096));
    if (write(ends[1], bytes.data(), count) != static_cast<ssize_t>(count)) std::abort();
    bytes = bytes.subspan(count);
  };
  CaptureRead result = read_all(reader, batch, on_wait);
  if (open) close(ends[1]);
  return result;
}

// The bare parser. `skip` is honoured, `need` is checked: fewer bytes must not be of use, more must be.
inline CaptureRead read_by_parser(std::span<const uint8_t> bytes, const Pieces& pieces, size_t batch = 1024) {
  CaptureRead result;
  InputFailure refusal;
  const std::unique_ptr<CaptureFormat> format = recognise_capture(bytes, true, refusal);
  if (!format) {
    result.report.status = refusal.status;
    return result;
  }
  std::vector<Packet> packets(batch);
  size_t begin = 0, end = 0;
  for (;;) {
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[end - begin]);
    std::copy_n(bytes.data() + begin, end - begin, exact.get());
    const ParseProgress progress = format->parse({exact.get(), end - begin}, begin, packets);
    for (size_t i = 0; i < progress.packets; ++i) result.packets.push_back(copy_of(packets[i]));
    begin += progress.used;
    if (progress.failed) {
      result.report.status = format->failure().status;
      result.report.detail = format->failure().text;
      break;
    }
    if (progress.need == 0 && progress.skip == 0 && progress.packets == batch) continue;
    if (progress.skip == 0 && progress.need <= end - begin) {
      ADD_FAILURE() << "the parser needs what it has";
      break;
    }
    if (progress.skip > bytes.size() - begin || (progress.skip == 0 && end == bytes.size())) {
      const uint64_t there = bytes.size() - progress.pending.at;
      const bool whole = there >= progress.pending.bytes || (there == 0 && progress.pending.may_be_absent);
      result.report.status = whole ? InputStatus::ok : InputStatus::truncated;
      break;
    }
    begin += progress.skip;
    end = std::max(begin, end);
    if (end < bytes.size()) end += std::clamp<size_t>(pieces(bytes.size() - end), 1, bytes.size() - end);
  }
  result.report.packets = result.packets.size();
  result.report.readable = format->header_seen();
  return result;
}

}  // namespace trama::test
