#include "modules/support/lent_batches.hpp"

#include <algorithm>

#include "modules/support/capture_format.hpp"

namespace trama {

LentBatches::LentBatches(std::vector<ReceiveQueue*> queues, const Options& options)
    : queues_(std::move(queues)),
      options_(options),
      memory_(options.batches * LazyMemory::bytes_of<uint8_t>(kMaxCaptured)),
      slots_(new Slot[options.batches]),
      frames_(options.batch_items),
      received_(queues_.size()) {
  free_.reserve(options.batches);
  out_.reserve(options.batches);
  for (size_t i = 0; i < options.batches; ++i) {
    Slot& slot = slots_[i];
    slot.handles.reserve(options.batch_items);
    slot.runs.reserve(queues_.size());
    slot.joined = JoinSpace({memory_.take<uint8_t>(kMaxCaptured), kMaxCaptured});
    free_.push_back(&slot);
  }
}

LentBatches::~LentBatches() {
  for (Slot* slot : out_) give_back(*slot);
}

LentBatches::Filled LentBatches::fill(std::span<Packet> packets, int64_t time_ns) noexcept {
  Filled filled;
  if (free_.empty()) return filled;
  Slot& slot = *free_.back();
  packets = packets.first(std::min(packets.size(), options_.batch_items));
  for (size_t i = 0; i < queues_.size() && filled.packets < packets.size(); ++i) {
    const size_t queue = (next_queue_ + i) % queues_.size();
    const ReceivedCount taken = take_from(queue, packets.subspan(filled.packets), time_ns, slot);
    received_[queue] += taken;
    filled.packets += taken.packets;
    filled.bytes += taken.bytes;
  }
  if (!queues_.empty()) next_queue_ = (next_queue_ + 1) % queues_.size();
  if (filled.packets == 0) return filled;
  slot.lease.store(1, std::memory_order_relaxed);
  filled.lease = &slot.lease;
  free_.pop_back();
  out_.push_back(&slot);
  return filled;
}

ReceivedCount LentBatches::take_from(size_t queue, std::span<Packet> packets, int64_t time_ns, Slot& slot) noexcept {
  ReceivedCount taken;
  const size_t count = queues_[queue]->receive(std::span(frames_).first(packets.size()), slot.joined);
  for (size_t i = 0; i < count; ++i) {
    const LentFrame& frame = frames_[i];
    packets[i] = {.data = frame.data,
                  .time_ns = frame.time_ns != 0 ? frame.time_ns : time_ns,
                  .captured = std::min(frame.captured, options_.snap_bytes),
                  .original = frame.original,
                  .link_type = options_.link_type,
                  .verdict = Verdict::counted};
    taken.bytes += frame.original;
    slot.handles.push_back(frame.handle);
  }
  if (count > 0) slot.runs.push_back({queue, count});
  taken.packets = count;
  return taken;
}

// In any order: a batch that is held up further on holds up only its own frames.
void LentBatches::reclaim() noexcept {
  for (size_t i = 0; i < out_.size();) {
    Slot* slot = out_[i];
    if (slot->lease.load(std::memory_order_acquire) != 0) {
      ++i;
      continue;
    }
    give_back(*slot);
    free_.push_back(slot);
    out_[i] = out_.back();
    out_.pop_back();
  }
}

void LentBatches::give_back(Slot& slot) noexcept {
  std::span<const uint64_t> handles = slot.handles;
  for (const Run& run : slot.runs) {
    queues_[run.queue]->give_back(handles.first(run.frames));
    handles = handles.subspan(run.frames);
  }
  slot.handles.clear();
  slot.runs.clear();
  slot.joined.clear();
}

bool LentBatches::starved() const noexcept {
  return free_.empty() ||
         std::any_of(queues_.begin(), queues_.end(), [](const ReceiveQueue* queue) { return queue->starved(); });
}

bool LentBatches::ended() const noexcept {
  return std::all_of(queues_.begin(), queues_.end(), [](const ReceiveQueue* queue) { return queue->ended(); });
}

size_t LentBatches::depth() const noexcept {
  size_t depth = 0;
  for (const ReceiveQueue* queue : queues_) depth += queue->depth();
  return depth;
}

}  // namespace trama
