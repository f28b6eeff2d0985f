// An AF_XDP socket: one receive queue of an interface, with the memory that it receives into (UMEM).
//
// Frames of the UMEM are lent by the kernel with each packet and go back to it through the fill ring
// (Documentation/networking/af_xdp.rst). Both rings have room for all frames: what is lost is lost for want of frames.
#pragma once
#include <xdp/xsk.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "modules/support/growing_counter.hpp"
#include "modules/support/packet_device.hpp"
#include "modules/support/segment_join.hpp"
#include "modules/support/xdp_socket_options.hpp"

namespace trama {

struct XdpSocketSetup {
  std::string interface;
  uint32_t queue = 0;
  uint32_t mtu = 1500;
  uint32_t frames = 16384;  // a power of two
  XdpSocketOptions::Copy copy = XdpSocketOptions::Copy::automatic;
};

class XdpSocket final : public ReceiveQueue {
 public:
  // Refused: what the kernel refuses, in its words.
  static Expected<std::unique_ptr<XdpSocket>> open(const XdpSocketSetup& setup);
  ~XdpSocket() override;

  bool zero_copy() const noexcept { return zero_copy_; }
  // A frame longer than this is lost; UINT32_MAX: it comes in pieces.
  uint32_t longest_frame() const noexcept { return longest_frame_; }
  // Puts this socket into an XSKMAP, at its queue's number. False: the kernel refuses.
  bool enter(int sockets) noexcept { return xsk_socket__update_xskmap(socket_, sockets) == 0; }
  uint64_t take_lost() noexcept;  // since the last call

  size_t receive(std::span<LentFrame> frames, JoinSpace& space) noexcept override;
  void give_back(std::span<const uint64_t> handles) noexcept override;
  size_t depth() const noexcept override { return frames_; }
  int wait_fd() const noexcept override { return xsk_socket__fd(socket_); }
  void arm() noexcept override { wake_driver(); }

 private:
  struct Memory {
    uint8_t* begin = nullptr;
    size_t bytes = 0;
    Memory() = default;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory();
  };

  explicit XdpSocket(const XdpSocketSetup& setup);
  Expected<void> make_umem();
  int bind(const XdpSocketSetup& setup, uint32_t flags);
  void fill_all();
  uint32_t pieces_of_frame(uint32_t first, uint32_t waiting) const noexcept;
  bool show(uint32_t first, uint32_t pieces, JoinSpace& space, LentFrame& frame) noexcept;
  Segment piece(uint32_t index) const noexcept;
  uint64_t lost_so_far() const noexcept;
  void wake_driver() noexcept;

  const uint32_t frames_, frame_bytes_;
  uint32_t longest_frame_ = 0;
  bool zero_copy_ = false;
  Memory memory_;
  xsk_umem* umem_ = nullptr;
  xsk_socket* socket_ = nullptr;
  xsk_ring_prod fill_{};
  xsk_ring_cons completed_{}, received_{};
  std::vector<uint32_t> next_piece_;  // of a packet in several frames: the frame behind each one, or itself at the end
  std::vector<Segment> segments_;
  GrowingCounter lost_;
};

}  // namespace trama
