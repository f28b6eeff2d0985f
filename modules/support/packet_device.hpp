// What a live source knows of the devices it receives from: queues that lend frames and want them back.
//
//   source (modules/dpdk.cpp, modules/af_xdp.cpp) -> LentBatches -> ReceiveQueue -> driver or kernel
//
// A device hands out frames where it has received them, and can receive no others there until it gets them back. So a
// frame is lent: it goes back when the batch that shows it has been let go. Drivers stand behind these two interfaces,
// and most of them in plug-ins (device_plugin.hpp), so that neither a source nor its tests need them.
//
// Calls: those of one queue come from one thread at a time, which may differ from call to call; nothing here throws,
// logs, allocates or waits after the device was opened.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/diagnostic.hpp"

namespace trama {

// A frame as it lies in the device's memory, or, when its headers lay in several pieces, joined.
struct LentFrame {
  const uint8_t* data = nullptr;  // from the first byte of the link layer
  uint32_t captured = 0;          // bytes at `data`
  uint32_t original = 0;          // bytes on the wire, as far as the device tells
  int64_t time_ns = 0;            // nanoseconds since the epoch, UTC; 0: the device doesn't tell
  uint64_t handle = 0;            // what it is given back by
};

// Where frames that arrive in pieces are joined: memory that lives as long as the batch they go into.
class JoinSpace {
 public:
  JoinSpace() = default;
  explicit JoinSpace(std::span<uint8_t> memory) : memory_(memory), left_(memory) {}
  std::span<uint8_t> left() const { return left_; }
  void use(size_t bytes) { left_ = left_.subspan(bytes); }
  void clear() { left_ = memory_; }

 private:
  std::span<uint8_t> memory_, left_;
};

class ReceiveQueue {
 public:
  virtual ~ReceiveQueue() = default;
  // The oldest frames that wait, at most frames.size(); 0: none now. Fewer than wait when `space` has run full.
  virtual size_t receive(std::span<LentFrame> frames, JoinSpace& space) noexcept = 0;
  virtual void give_back(std::span<const uint64_t> handles) noexcept = 0;

  // Nothing will ever come any more. Asked after receive() has given none.
  virtual bool ended() const noexcept { return false; }
  // So many frames are lent that it can't receive others. Asked after receive() has given none.
  virtual bool starved() const noexcept { return false; }
  // Frames that can wait in it at once: what may still be there after the device was stopped.
  virtual size_t depth() const noexcept = 0;

  // A descriptor that is readable when frames have come since arm(); -1: there is none, and the queue has to be asked
  // again and again. After arm() it must be asked once more before anybody sleeps.
  virtual int wait_fd() const noexcept { return -1; }
  virtual void arm() noexcept {}
};

// Frames lost before anybody could receive them, and those that filters in the kernel have removed.
struct DeviceLosses {
  uint64_t kernel = 0, nic = 0, ring = 0, removed_in_kernel = 0;
  DeviceLosses& operator+=(const DeviceLosses& other) {
    kernel += other.kernel;
    nic += other.nic;
    ring += other.ring;
    removed_in_kernel += other.removed_in_kernel;
    return *this;
  }
  bool operator==(const DeviceLosses&) const = default;
};

// A port or an interface. Closed by its destructor, when all frames are back.
class PacketDevice {
 public:
  virtual ~PacketDevice() = default;
  virtual const std::string& name() const noexcept = 0;
  virtual size_t queues() const noexcept = 0;
  virtual ReceiveQueue& queue(size_t number) noexcept = 0;
  // Since the last call. From any thread, but not from two at a time.
  virtual DeviceLosses take_losses() noexcept = 0;
  // All has been received that ever will be: the next call of take_losses() is the last one, and must be exact. May
  // wait.
  virtual void finish() {}
};

struct OpenedDevices {
  std::vector<std::unique_ptr<PacketDevice>> devices;
  Diagnostics remarks;  // notes and warnings for the user: what was chosen for want of something better
};

}  // namespace trama
