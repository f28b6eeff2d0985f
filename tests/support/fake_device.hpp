// A device of packets without a driver, for tests of what stands on devices: what waits in its queues, what is lent and
// what it has lost are in the hands of the test.
//
// Every frame is a heap block of its own that ends at its last byte and is freed when it is given back: whoever looks
// at it later is seen by AddressSanitizer.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "modules/support/packet_device.hpp"
#include "tests/support/packet_builder.hpp"

namespace trama::test {

class FakeQueue final : public ReceiveQueue {
 public:
  // `time_ns` 0: the device doesn't stamp.
  void arrive(const PacketBytes& bytes, int64_t time_ns = 0) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::make_unique<CapturedPacket>(bytes), time_ns});
  }
  size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }
  size_t lent() const {
    const std::lock_guard lock(mutex_);
    return lent_.size();
  }
  size_t most_lent = SIZE_MAX;
  size_t waits_at_most = 16;  // depth()
  bool over = false;          // ended() when nothing waits
  int descriptor = -1;
  std::function<void()> while_receiving;  // called at the beginning of each receive()
  size_t armed = 0;
  size_t arrive_when_armed = 0;  // frames that come between the last look and arm()

  size_t receive(std::span<LentFrame> frames, JoinSpace&) noexcept override {
    if (while_receiving) while_receiving();
    const std::lock_guard lock(mutex_);
    size_t count = 0;
    for (; count < frames.size() && !waiting_.empty() && lent_.size() < most_lent; ++count) {
      Waiting& first = waiting_.front();
      const uint64_t handle = ++last_handle_;
      frames[count] = {first.packet->data(), first.packet->captured(), first.packet->captured(), first.time_ns, handle};
      lent_[handle] = std::move(first.packet);
      waiting_.pop_front();
    }
    return count;
  }
  void give_back(std::span<const uint64_t> handles) noexcept override {
    const std::lock_guard lock(mutex_);
    for (const uint64_t handle : handles) EXPECT_EQ(lent_.erase(handle), 1u) << "a frame that was not lent";
  }
  bool ended() const noexcept override { return over && waiting() == 0; }
  bool starved() const noexcept override { return lent() >= most_lent; }
  size_t depth() const noexcept override { return waits_at_most; }
  int wait_fd() const noexcept override { return descriptor; }
  void arm() noexcept override {
    ++armed;
    for (; arrive_when_armed > 0; --arrive_when_armed) arrive(ethernet_ipv4_packet(1, 2));
  }

 private:
  struct Waiting {
    std::unique_ptr<CapturedPacket> packet;
    int64_t time_ns;
  };
  mutable std::mutex mutex_;
  std::deque<Waiting> waiting_;
  std::map<uint64_t, std::unique_ptr<CapturedPacket>> lent_;
  uint64_t last_handle_ = 0;
};

class FakeDevice final : public PacketDevice {
 public:
  FakeDevice(std::string name, size_t queues) : name_(std::move(name)) {
    for (size_t i = 0; i < queues; ++i) queues_.push_back(std::make_unique<FakeQueue>());
  }
  ~FakeDevice() override {
    for (const auto& queue : queues_) EXPECT_EQ(queue->lent(), 0u) << name_ << " is closed while frames are out";
  }
  DeviceLosses losses;  // since they were last asked for

  const std::string& name() const noexcept override { return name_; }
  size_t queues() const noexcept override { return queues_.size(); }
  FakeQueue& queue(size_t number) noexcept override { return *queues_[number]; }
  DeviceLosses take_losses() noexcept override { return std::exchange(losses, {}); }

 private:
  const std::string name_;
  std::vector<std::unique_ptr<FakeQueue>> queues_;
};

}  // namespace trama::test
