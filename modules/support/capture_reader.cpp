#include "modules/support/capture_reader.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace trama {
namespace {

constexpr size_t kReadBytes = 1 << 20;  // the most that is read ahead for one block
constexpr size_t kLeastReadBytes = 16 << 10;
// A read() that finds no packet in so many bytes returns all the same, so that its thread can be stopped.
constexpr uint64_t kLongStretch = 16 << 20;

}  // namespace

Expected<CaptureReader> CaptureReader::open(const std::string& path) {
  auto stream = ByteStream::open(path);
  if (!stream) return tl::unexpected(stream.error());
  return CaptureReader(std::move(*stream), path);
}

CaptureReader CaptureReader::from_fd(int fd, std::string name, bool owns_fd) {
  return {ByteStream(InputDescriptor(fd, owns_fd)), std::move(name)};
}

CaptureReader::CaptureReader(ByteStream stream, std::string name)
    : stream_(std::move(stream)), carry_(new uint8_t[PacketBlock::kBytes]) {
  report_.name = std::move(name);
}

// As many bytes as the batch will take, by the packets seen lately: what is read too much has to be copied, and a block
// that is no larger than it has to be stays in the cache.
size_t CaptureReader::wanted_bytes(size_t packets) const {
  const double estimate = std::min(bytes_per_packet_ * static_cast<double>(packets), double{kReadBytes});
  return std::max({static_cast<size_t>(estimate), kLeastReadBytes, need_});
}

// Adds to the block from the stream. `yes` when at least one byte came.
CaptureReader::Filled CaptureReader::append(std::span<uint8_t> room) {
  const ByteStream::Result result = stream_.read(room);
  report_.bytes = stream_.raw_bytes();
  switch (result.state) {
    case ByteStream::State::bytes: filled_ += result.bytes; return Filled::yes;
    case ByteStream::State::wait: return Filled::wait;
    default: no_more_ = true; return Filled::ended;
  }
}

// Drops some of what nobody needs; the block serves as a place to read it to.
CaptureReader::Filled CaptureReader::skip_some(PacketBlock& block) {
  filled_ = std::min<uint64_t>(skip_, carry_end_ - carry_begin_);
  carry_begin_ += filled_;
  if (filled_ == 0) {
    if (no_more_) return Filled::ended;
    const Filled more = append(block.bytes().first(std::min<uint64_t>(skip_, kReadBytes)));
    if (more != Filled::yes) return more;
  }
  skip_ -= filled_;
  position_ += filled_;
  return Filled::yes;
}

// Brings wanted_ bytes into the block, or as many as are there: first those that were carried over, then new ones.
// `wait` when these are too few, and no more than before.
CaptureReader::Filled CaptureReader::fill(PacketBlock& block) {
  const size_t carried = carry_end_ - carry_begin_;
  from_carry_ = std::min(carried, wanted_);
  filled_ = from_carry_;
  Filled last = Filled::yes;
  while (filled_ < wanted_ && last == Filled::yes && !no_more_) {
    last = append(block.bytes().subspan(filled_, wanted_ - filled_));
  }
  if (last == Filled::wait && filled_ < need_ && filled_ == from_carry_) return Filled::wait;
  std::memcpy(block.data(), carry_.get() + carry_begin_, from_carry_);
  return Filled::yes;
}

// Takes back what the packets of this block don't need.
void CaptureReader::keep_rest(PacketBlock& block, size_t used) {
  if (from_carry_ < carry_end_ - carry_begin_) {
    carry_begin_ += used;
    return;
  }
  carry_begin_ = 0;
  carry_end_ = filled_ - used;
  std::memcpy(carry_.get(), block.data() + used, carry_end_);
}

ParseProgress CaptureReader::parse(std::span<const uint8_t> bytes, std::span<Packet> packets) {
  if (!format_) {
    format_ = recognise_capture(bytes, no_more_, refusal_);
    if (!format_) {
      ParseProgress progress;
      progress.need = bytes.size() + 1;
      progress.failed = !refusal_.text.empty();
      return progress;
    }
  }
  const ParseProgress progress = format_->parse(bytes, position_, packets);
  report_.readable = format_->header_seen();
  return progress;
}

CaptureReader::Status CaptureReader::read(PacketBlock& block, std::span<Packet> packets, size_t& count) {
  assert(!packets.empty());
  count = 0;
  const uint64_t stretch_end = position_ + kLongStretch;
  while (!over_) {
    if (position_ >= stretch_end) return Status::packets;
    if (skip_ != 0) {
      const Filled skipped = skip_some(block);
      if (skipped == Filled::wait) return Status::wait;
      if (skipped == Filled::ended) finish(false);
      continue;
    }
    wanted_ = wanted_bytes(packets.size());
    if (fill(block) == Filled::wait) return Status::wait;
    const ParseProgress progress = parse(block.bytes().first(filled_), packets);
    // The stream may be over while the block holds only the first part of what was carried over.
    const bool all_in_block = from_carry_ == carry_end_ - carry_begin_;
    take(progress);
    keep_rest(block, progress.used);
    if (progress.failed || (no_more_ && all_in_block && progress.need != 0)) finish(progress.failed);
    count = progress.packets;
    if (count != 0) return Status::packets;
  }
  return Status::end;
}

// Notes how far a parse came.
void CaptureReader::take(const ParseProgress& progress) {
  position_ += progress.used;
  skip_ = progress.skip;
  need_ = progress.need;
  pending_ = progress.pending;
  report_.packets += progress.packets;
  if (progress.packets != 0) {
    const double bytes = static_cast<double>(progress.used) / static_cast<double>(progress.packets);
    bytes_per_packet_ += (bytes - bytes_per_packet_) / 4;
  }
}

// The input is over: by a failure of the format or of the stream, or because nothing more comes.
void CaptureReader::finish(bool format_failed) {
  const bool packed =
      stream_.compression() != InputCompression::none && stream_.compression() != InputCompression::undecided;
  const std::string where =
      packed ? " (of the content unpacked from " + std::string(to_string(stream_.compression())) + ")" : "";
  if (format_ && format_failed) {
    end_with({format_->failure().status, format_->failure().text + where});
    return;
  }
  if (no_more_ && stream_.failed()) {
    end_with(stream_.failure());
    return;
  }
  if (!format_) {
    end_with({refusal_.status, refusal_.text + where});
    return;
  }
  const uint64_t there = position_ + (carry_end_ - carry_begin_) - pending_.at;
  if (there >= pending_.bytes || (there == 0 && pending_.may_be_absent)) {
    over_ = true;
    return;
  }
  // How many bytes there should be stands in the file, and may be anything where that is damaged: it isn't told.
  end_with({InputStatus::truncated, "truncated at byte " + std::to_string(pending_.at) + ": only " +
                                        std::to_string(there) + " bytes of the " + pending_.what + " are there" +
                                        where});
}

void CaptureReader::end_with(const InputFailure& failure) {
  over_ = true;
  report_.status = failure.status;
  report_.detail = failure.text;
  // Not even one packet: how much of the file header there was depends on how the file is compressed.
  if (report_.packets == 0) report_.readable = false;
}

}  // namespace trama
