#include "modules/support/xdp_socket.hpp"

#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace trama {
namespace {

constexpr uint16_t kEthernet = 1;
constexpr uint32_t kHeadroom = 256;  // XDP_PACKET_HEADROOM: the kernel keeps it in front of each packet
constexpr uint32_t kSmallFrame = 2048, kLargeFrame = 4096;
constexpr uint32_t kLinkBytes = 14 + 2 * 4;  // an Ethernet header and two tags
constexpr uint32_t kMostPieces = 18;         // MAX_SKB_FRAGS, and the first

// Since Linux 6.6, and so not in Debian 12's headers (Documentation/networking/af_xdp.rst, "multi-buffer support").
constexpr uint32_t kUseSeveralBuffers = 1 << 4;  // XDP_USE_SG
constexpr uint32_t kPacketContinues = 1 << 0;    // XDP_PKT_CONTD

uint32_t frame_bytes_for(uint32_t mtu) {
  return mtu + kLinkBytes + kHeadroom <= kSmallFrame ? kSmallFrame : kLargeFrame;
}

}  // namespace

XdpSocket::Memory::~Memory() {
  if (begin) munmap(begin, bytes);
}

XdpSocket::XdpSocket(const XdpSocketSetup& setup)
    : frames_(setup.frames), frame_bytes_(frame_bytes_for(setup.mtu)), next_piece_(setup.frames) {
  segments_.reserve(kMostPieces);
}

Expected<std::unique_ptr<XdpSocket>> XdpSocket::open(const XdpSocketSetup& setup) {
  std::unique_ptr<XdpSocket> socket(new XdpSocket(setup));
  if (auto made = socket->make_umem(); !made) return tl::unexpected(std::move(made.error()));
  uint32_t flags = XDP_USE_NEED_WAKEUP;
  if (setup.copy == XdpSocketOptions::Copy::copy) flags |= XDP_COPY;
  if (setup.copy == XdpSocketOptions::Copy::zero_copy) flags |= XDP_ZEROCOPY;
  socket->longest_frame_ = socket->frame_bytes_ - kHeadroom;
  const bool too_long = setup.mtu + kLinkBytes > socket->longest_frame_;
  int error = too_long ? socket->bind(setup, flags | kUseSeveralBuffers) : -1;
  if (error == 0) socket->longest_frame_ = UINT32_MAX;
  if (error != 0) error = socket->bind(setup, flags);
  if (error != 0)
    return failure("AF_XDP can't receive from queue " + std::to_string(setup.queue) + " of " + setup.interface + ": " +
                       std::strerror(error),
                   error == EBUSY ? "another program receives from it"
                                  : (setup.copy == XdpSocketOptions::Copy::zero_copy ? "set copy = \"auto\"" : ""));
  xdp_options options{};
  socklen_t bytes = sizeof options;
  socket->zero_copy_ = getsockopt(socket->wait_fd(), SOL_XDP, XDP_OPTIONS, &options, &bytes) == 0 &&
                       (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
  socket->lost_ = GrowingCounter(socket->lost_so_far());
  return socket;
}

Expected<void> XdpSocket::make_umem() {
  const size_t bytes = size_t{frames_} * frame_bytes_;
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return failure("there is no memory for " + std::to_string(frames_) + " frames", "take fewer `frames`");
  memory_.begin = static_cast<uint8_t*>(mapped);
  memory_.bytes = bytes;
  xsk_umem_config config{};
  config.fill_size = frames_;
  config.comp_size = 64;  // of sent frames: none
  config.frame_size = frame_bytes_;
  const int status = xsk_umem__create(&umem_, mapped, bytes, &fill_, &completed_, &config);
  if (status == 0) {
    fill_all();
    return {};
  }
  umem_ = nullptr;
  return failure("AF_XDP can't have " + std::to_string(bytes >> 20) + " MiB of memory: " + std::strerror(-status),
                 status == -ENOBUFS ? "ulimit -l unlimited, or take fewer `frames`" : "");
}

int XdpSocket::bind(const XdpSocketSetup& setup, uint32_t flags) {
  xsk_socket_config config{};
  config.rx_size = frames_;
  config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
  config.bind_flags = static_cast<uint16_t>(flags);
  const int status =
      xsk_socket__create(&socket_, setup.interface.c_str(), setup.queue, umem_, &received_, nullptr, &config);
  if (status != 0) socket_ = nullptr;
  return -status;
}

void XdpSocket::fill_all() {
  uint32_t index = 0;
  xsk_ring_prod__reserve(&fill_, frames_, &index);
  for (uint32_t frame = 0; frame < frames_; ++frame)
    *xsk_ring_prod__fill_addr(&fill_, index + frame) = uint64_t{frame} * frame_bytes_;
  xsk_ring_prod__submit(&fill_, frames_);
}

XdpSocket::~XdpSocket() {
  if (socket_) xsk_socket__delete(socket_);
  if (umem_) xsk_umem__delete(umem_);
}

size_t XdpSocket::receive(std::span<LentFrame> frames, JoinSpace& space) noexcept {
  uint32_t index = 0;
  const auto wanted = static_cast<uint32_t>(frames.size()) + kMostPieces;  // the last packet is seen whole
  const uint32_t waiting = xsk_ring_cons__peek(&received_, wanted, &index);
  uint32_t used = 0;
  size_t shown = 0;
  while (shown < frames.size()) {
    const uint32_t pieces = pieces_of_frame(index + used, waiting - used);
    if (pieces == 0 || !show(index + used, pieces, space, frames[shown])) break;
    used += pieces;
    ++shown;
  }
  if (used < waiting) xsk_ring_cons__cancel(&received_, waiting - used);
  if (used > 0) xsk_ring_cons__release(&received_, used);
  return shown;
}

// 0: its end is not among those that wait.
uint32_t XdpSocket::pieces_of_frame(uint32_t first, uint32_t waiting) const noexcept {
  for (uint32_t pieces = 1; pieces <= waiting; ++pieces)
    if ((xsk_ring_cons__rx_desc(&received_, first + pieces - 1)->options & kPacketContinues) == 0) return pieces;
  return 0;
}

Segment XdpSocket::piece(uint32_t index) const noexcept {
  const xdp_desc* const description = xsk_ring_cons__rx_desc(&received_, index);
  return {memory_.begin + description->addr, description->len};
}

bool XdpSocket::show(uint32_t first, uint32_t pieces, JoinSpace& space, LentFrame& frame) noexcept {
  Segment bytes = piece(first);
  uint32_t all = 0;
  if (pieces == 1) [[likely]] {
    all = static_cast<uint32_t>(bytes.size());
  } else {
    segments_.clear();
    for (uint32_t i = 0; i < pieces; ++i) {
      if (segments_.size() < kMostPieces) segments_.push_back(piece(first + i));
      all += xsk_ring_cons__rx_desc(&received_, first + i)->len;
    }
    const auto joined = join_headers(kEthernet, segments_, space);
    if (!joined) return false;
    bytes = *joined;
  }
  const auto number = [&](uint32_t i) {
    return static_cast<uint32_t>(xsk_ring_cons__rx_desc(&received_, i)->addr / frame_bytes_);
  };
  for (uint32_t i = 0; i < pieces; ++i)
    next_piece_[number(first + i)] = i + 1 < pieces ? number(first + i + 1) : number(first + i);
  frame = {.data = bytes.data(),
           .captured = static_cast<uint32_t>(bytes.size()),
           .original = all,
           .time_ns = 0,
           .handle = number(first)};
  return true;
}

// The fill ring has room for all frames there are.
void XdpSocket::give_back(std::span<const uint64_t> handles) noexcept {
  uint32_t index = 0, given = 0;
  for (const uint64_t handle : handles) {
    auto frame = static_cast<uint32_t>(handle);
    for (;;) {
      if (xsk_ring_prod__reserve(&fill_, 1, &index) == 0) break;
      *xsk_ring_prod__fill_addr(&fill_, index) = uint64_t{frame} * frame_bytes_;
      ++given;
      if (next_piece_[frame] == frame) break;
      frame = next_piece_[frame];
    }
  }
  xsk_ring_prod__submit(&fill_, given);
  wake_driver();
}

// A driver that has run out of frames may have stopped looking for more (XDP_USE_NEED_WAKEUP).
void XdpSocket::wake_driver() noexcept {
  if (xsk_ring_prod__needs_wakeup(&fill_)) recvfrom(wait_fd(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
}

// Of each packet one of these two counts. Attempts to find a frame, which the kernel counts as well, are no packets.
uint64_t XdpSocket::lost_so_far() const noexcept {
  xdp_statistics statistics{};
  socklen_t bytes = sizeof statistics;
  if (getsockopt(xsk_socket__fd(socket_), SOL_XDP, XDP_STATISTICS, &statistics, &bytes) != 0) return 0;
  return statistics.rx_dropped + statistics.rx_ring_full;
}

uint64_t XdpSocket::take_lost() noexcept { return lost_.grown_to(lost_so_far()); }

}  // namespace trama
