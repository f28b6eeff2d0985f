#include "modules/support/dpdk_queue.hpp"

#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "modules/support/dpdk_eal.hpp"

namespace trama {
namespace {

constexpr uint16_t kEthernet = 1;
constexpr size_t kAddressBytes = 12;  // before the tags
constexpr size_t kTagBytes = 4;

void write_tag(uint8_t* at, uint16_t type, uint16_t control) {
  at[0] = static_cast<uint8_t>(type >> 8);
  at[1] = static_cast<uint8_t>(type);
  at[2] = static_cast<uint8_t>(control >> 8);
  at[3] = static_cast<uint8_t>(control);
}

// The tags that the device has taken off, outermost first. Which types they had it doesn't tell: the standard ones.
size_t write_tags(const rte_mbuf& mbuf, uint8_t* at) {
  if ((mbuf.ol_flags & RTE_MBUF_F_RX_QINQ_STRIPPED) != 0) {
    write_tag(at, RTE_ETHER_TYPE_QINQ, mbuf.vlan_tci_outer);
    write_tag(at + kTagBytes, RTE_ETHER_TYPE_VLAN, mbuf.vlan_tci);
    return 2 * kTagBytes;
  }
  write_tag(at, RTE_ETHER_TYPE_VLAN, mbuf.vlan_tci);
  return kTagBytes;
}

// Puts tags back in the room before the frame. False: there is none, or somebody else uses the buffer too.
bool insert_in_place(rte_mbuf& mbuf, const uint8_t* tags, size_t bytes) {
  if (!RTE_MBUF_DIRECT(&mbuf) || rte_mbuf_refcnt_read(&mbuf) != 1 || mbuf.data_len < kAddressBytes) return false;
  char* const begin = rte_pktmbuf_prepend(&mbuf, static_cast<uint16_t>(bytes));
  if (!begin) return false;
  std::memmove(begin, begin + bytes, kAddressBytes);
  std::memcpy(begin + kAddressBytes, tags, bytes);
  mbuf.ol_flags &= ~(RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ_STRIPPED);
  return true;
}

Segment bytes_of(const rte_mbuf& mbuf) { return {rte_pktmbuf_mtod(&mbuf, const uint8_t*), mbuf.data_len}; }

}  // namespace

DpdkQueue::DpdkQueue(const DpdkQueueOptions& options)
    : options_(options),
      ends_in_file_(options.ends),
      most_lent_(options.mbufs - options.kept()),
      received_(options.burst) {
  segments_.reserve(kSegments);
}

DpdkQueue::~DpdkQueue() {
  if (events_ >= 0) close(events_);
}

// A driver whose descriptor is readable as long as frames wait (net_tap) has nothing to enable.
bool DpdkQueue::watch_interrupts() {
  events_ = epoll_create1(EPOLL_CLOEXEC);
  if (events_ < 0) return false;
  const int added = rte_eth_dev_rx_intr_ctl_q(options_.port, options_.number, events_, RTE_INTR_EVENT_ADD, nullptr);
  const int enabled = added == 0 ? rte_eth_dev_rx_intr_enable(options_.port, options_.number) : added;
  if (enabled == 0) rte_eth_dev_rx_intr_disable(options_.port, options_.number);
  if (added == 0 && (enabled == 0 || enabled == -ENOTSUP)) return true;
  close(events_);
  events_ = -1;
  return false;
}

void DpdkQueue::clear() noexcept {
  for (; next_ < count_; ++next_) {
    lent_ -= received_[next_]->nb_segs;
    rte_pktmbuf_free(received_[next_]);
  }
  if (armed_) disarm();
}

size_t DpdkQueue::receive(std::span<LentFrame> frames, JoinSpace& space) noexcept {
  register_eal_thread();
  size_t shown = 0;
  while (shown < frames.size()) {
    if (next_ == count_ && !poll(frames.size() - shown)) break;
    if (!show(*received_[next_], space, frames[shown])) break;
    ++next_;
    ++shown;
  }
  return shown;
}

bool DpdkQueue::poll(size_t most) noexcept {
  if (ended_ || starved()) return false;
  most = std::min<size_t>(most, options_.burst);
  next_ = 0;
  count_ = rte_eth_rx_burst(options_.port, options_.number, received_.data(), static_cast<uint16_t>(most));
  for (size_t i = 0; i < count_; ++i) lent_ += received_[i]->nb_segs;
  if (count_ > 0 && armed_) disarm();
  ended_ = ends_in_file_ && count_ == 0;
  return count_ > 0;
}

bool DpdkQueue::show(rte_mbuf& mbuf, JoinSpace& space, LentFrame& frame) noexcept {
  frame.handle = reinterpret_cast<uintptr_t>(&mbuf);
  frame.time_ns = 0;
  if (options_.time && (mbuf.ol_flags & options_.time->flag) != 0)
    frame.time_ns = static_cast<int64_t>(*RTE_MBUF_DYNFIELD(&mbuf, options_.time->offset, rte_mbuf_timestamp_t*)) *
                    options_.time->ns_per_unit;
  uint32_t tag_bytes = 0;
  Segment bytes = bytes_of(mbuf);
  const bool tagged = (mbuf.ol_flags & (RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ_STRIPPED)) != 0;
  if (tagged || mbuf.nb_segs > 1) [[unlikely]] {
    if (tagged) {
      tag_bytes = static_cast<uint32_t>(write_tags(mbuf, tags_));
      if (insert_in_place(mbuf, tags_, tag_bytes)) tag_bytes = 0;
    }
    cut_into_segments(mbuf, tag_bytes);
    const auto joined = join_headers(kEthernet, segments_, space);
    if (!joined) return false;
    bytes = *joined;
  }
  frame.data = bytes.data();
  frame.captured = static_cast<uint32_t>(bytes.size());
  frame.original = std::max(mbuf.pkt_len + tag_bytes, frame.captured);
  return true;
}

// With tags that could not be put back in place as segments of their own.
void DpdkQueue::cut_into_segments(const rte_mbuf& mbuf, size_t tag_bytes) noexcept {
  segments_.clear();
  Segment first = bytes_of(mbuf);
  if (tag_bytes > 0) {
    const size_t addresses = std::min(first.size(), kAddressBytes);
    segments_.push_back(first.first(addresses));
    segments_.push_back(Segment(tags_).first(tag_bytes));
    first = first.subspan(addresses);
  }
  segments_.push_back(first);
  for (const rte_mbuf* next = mbuf.next; next && segments_.size() < kSegments; next = next->next)
    segments_.push_back(bytes_of(*next));
}

void DpdkQueue::give_back(std::span<const uint64_t> handles) noexcept {
  constexpr size_t kAtOnce = 64;
  rte_mbuf* mbufs[kAtOnce];
  while (!handles.empty()) {
    const size_t count = std::min(handles.size(), kAtOnce);
    for (size_t i = 0; i < count; ++i) {
      mbufs[i] = reinterpret_cast<rte_mbuf*>(static_cast<uintptr_t>(handles[i]));
      __builtin_prefetch(mbufs[i], 1);
    }
    for (size_t i = 0; i < count; ++i) lent_ -= mbufs[i]->nb_segs;
    rte_pktmbuf_free_bulk(mbufs, static_cast<unsigned>(count));
    handles = handles.subspan(count);
  }
}

// An event that nobody slept for is taken away, or the next sleep would end at once.
void DpdkQueue::arm() noexcept {
  if (events_ < 0) return;
  rte_epoll_event event;
  if (armed_ && rte_epoll_wait(events_, &event, 1, 0) <= 0) return;
  rte_eth_dev_rx_intr_enable(options_.port, options_.number);
  armed_ = true;
}

void DpdkQueue::disarm() noexcept {
  rte_epoll_event event;
  rte_epoll_wait(events_, &event, 1, 0);
  rte_eth_dev_rx_intr_disable(options_.port, options_.number);
  armed_ = false;
}

}  // namespace trama
