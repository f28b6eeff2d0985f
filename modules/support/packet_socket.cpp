#include "modules/support/packet_socket.hpp"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "modules/support/packet_socket_frame.hpp"

namespace trama {
namespace {

template <class T>
bool set(int fd, int option, const T& value) {
  return setsockopt(fd, SOL_PACKET, option, &value, sizeof value) == 0;
}

sock_filter statement(uint16_t code, uint32_t k) { return {code, 0, 0, k}; }
sock_filter jump(uint32_t k, uint8_t if_equal, uint8_t else_) {
  return {BPF_JMP | BPF_JEQ | BPF_K, if_equal, else_, k};
}
sock_filter load(int32_t offset) {
  return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(SKF_AD_OFF + offset));
}
sock_filter take(uint64_t bytes) { return statement(BPF_RET | BPF_K, static_cast<uint32_t>(bytes)); }

const std::array<sock_filter, 1> kNothing = {take(0)};

// What is captured of which packets. On a loopback interface each packet is seen on its way out and once more on its
// way in; only one of them counts, the second unless the first was asked for.
std::vector<sock_filter> admission(const PacketSocketOptions& options) {
  const auto outgoing = uint32_t{PACKET_OUTGOING}, loopback = uint32_t{ARPHRD_LOOPBACK};
  switch (options.direction) {
    case PacketDirection::in: return {load(SKF_AD_PKTTYPE), jump(outgoing, 1, 0), take(options.snap_bytes), take(0)};
    case PacketDirection::out: return {load(SKF_AD_PKTTYPE), jump(outgoing, 0, 1), take(options.snap_bytes), take(0)};
    case PacketDirection::both: break;
  }
  return {load(SKF_AD_PKTTYPE), jump(outgoing, 0, 2),     load(SKF_AD_HATYPE),
          jump(loopback, 1, 0), take(options.snap_bytes), take(0)};
}

int fanout_type(PacketFanout fanout) {
  switch (fanout) {
    case PacketFanout::hash: return PACKET_FANOUT_HASH;
    case PacketFanout::balance: return PACKET_FANOUT_LB;
    case PacketFanout::cpu: return PACKET_FANOUT_CPU;
    case PacketFanout::queue: return PACKET_FANOUT_QM;
  }
  return PACKET_FANOUT_HASH;
}

std::string own_path() {
  char path[4096];
  const ssize_t bytes = readlink("/proc/self/exe", path, sizeof path);
  return bytes > 0 ? std::string(path, static_cast<size_t>(bytes)) : "trama";
}

tl::unexpected<Diagnostic> not_allowed(const NetworkInterface& interface) {
  return failure("capturing from " + interface.name + " is not allowed to this user",
                 "give the program the right to it with `sudo setcap cap_net_raw=ep " + own_path() +
                     "`, or start it with sudo (--user NAME goes on as somebody else)");
}

}  // namespace

// Blocks small enough to be in a cache when they are read, and enough of them that the kernel has one while others are
// read.
PacketRingForm packet_ring_form(uint64_t ring_bytes) {
  constexpr uint64_t kLeastBlock = 64 << 10, kMostBlock = 256 << 10, kBlocks = 16;
  ring_bytes = std::clamp(ring_bytes, kLeastRingBytes, kMostRingBytes);
  const uint64_t block = std::clamp(std::bit_floor(ring_bytes / kBlocks), kLeastBlock, kMostBlock);
  return {static_cast<uint32_t>(block), static_cast<uint32_t>(ring_bytes / block)};
}

Expected<PacketSocket> PacketSocket::open(const NetworkInterface& interface, const PacketSocketOptions& options) {
  // Without a protocol nothing is received yet.
  const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (fd < 0 && (errno == EPERM || errno == EACCES)) return not_allowed(interface);
  if (fd < 0)
    return failure("no packet socket for " + interface.name + ": " + std::strerror(errno),
                   errno == EAFNOSUPPORT ? "the kernel needs CONFIG_PACKET, or the module af_packet" : "");
  PacketSocket opened(fd, options);
  if (const char* what = opened.set_up(interface)) {
    const std::string hint =
        errno == ENOMEM ? "the kernel has no memory for the ring: lower ring_bytes of the stage af_packet" : "";
    return failure("can't capture from " + interface.name + ": " + what + ": " + std::strerror(errno), hint);
  }
  return opened;
}

// Which step the system refused; null: none.
const char* PacketSocket::set_up(const NetworkInterface& interface) {
  if (!set(fd_, PACKET_VERSION, int{TPACKET_V3})) return "the kernel is too old (TPACKET_V3)";
  if (!set(fd_, PACKET_RESERVE, kFrameReserveBytes)) return "room in front of frames";
  if (!admit() || !attach(kNothing)) return "the socket's filter";
  if (const char* what = map_ring()) return what;

  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = interface.index;
  if (bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return "binding to it";
  if (options_.promiscuous && interface.index != 0) {
    packet_mreq membership{};
    membership.mr_ifindex = interface.index;
    membership.mr_type = PACKET_MR_PROMISC;
    if (!set(fd_, PACKET_ADD_MEMBERSHIP, membership)) return "the promiscuous mode";
  }
  return nullptr;
}

const char* PacketSocket::map_ring() {
  const auto [block_bytes, blocks] = packet_ring_form(options_.ring_bytes);
  tpacket_req3 request{};
  request.tp_block_size = block_bytes;
  request.tp_block_nr = blocks;
  request.tp_frame_size = block_bytes;  // frames have the size they need; this only has to divide the block
  request.tp_frame_nr = blocks;
  request.tp_retire_blk_tov = static_cast<unsigned>(options_.block_timeout_ms);
  if (!set(fd_, PACKET_RX_RING, request)) return "a receive ring";
  memory_bytes_ = size_t{block_bytes} * blocks;
  void* const memory = mmap(nullptr, memory_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) return "mapping the receive ring";
  memory_ = static_cast<uint8_t*>(memory);
  ring_.emplace(memory_, block_bytes, blocks);
  return nullptr;
}

PacketSocket::PacketSocket(PacketSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      options_(other.options_),
      memory_(std::exchange(other.memory_, nullptr)),
      memory_bytes_(other.memory_bytes_),
      ring_(std::move(other.ring_)) {}

PacketSocket::~PacketSocket() {
  if (memory_ != nullptr) munmap(memory_, memory_bytes_);
  if (fd_ >= 0) close(fd_);
}

Expected<uint16_t> PacketSocket::join(PacketFanout fanout, std::optional<uint16_t> group) {
  // The kernel finds a number for the group that nobody else has.
  const uint32_t flags = group ? 0 : PACKET_FANOUT_FLAG_UNIQUEID;
  const uint32_t wanted = (static_cast<uint32_t>(fanout_type(fanout)) | flags) << 16 | group.value_or(0);
  uint32_t given = 0;
  socklen_t bytes = sizeof given;
  if (!set(fd_, PACKET_FANOUT, wanted) || getsockopt(fd_, SOL_PACKET, PACKET_FANOUT, &given, &bytes) != 0)
    return failure(std::string("several replicas can't share its packets: ") + std::strerror(errno),
                   "older kernels want the interface to be up for that; or set replicas = 1");
  return static_cast<uint16_t>(given);
}

bool PacketSocket::attach(std::span<const sock_filter> program) noexcept {
  sock_fprog attached{};
  attached.len = static_cast<unsigned short>(program.size());
  attached.filter = const_cast<sock_filter*>(program.data());
  return setsockopt(fd_, SOL_SOCKET, SO_ATTACH_FILTER, &attached, sizeof attached) == 0;
}

bool PacketSocket::admit() noexcept { return attach(admission(options_)); }
void PacketSocket::shut() noexcept { attach(kNothing); }

// The kernel sets its counters to zero as it tells them; its first one includes the drops.
PacketSocket::Counts PacketSocket::take_counts() noexcept {
  tpacket_stats_v3 statistics{};
  socklen_t bytes = sizeof statistics;
  if (getsockopt(fd_, SOL_PACKET, PACKET_STATISTICS, &statistics, &bytes) != 0) return {};
  return {statistics.tp_packets - statistics.tp_drops, statistics.tp_drops};
}

PacketSocket::State PacketSocket::take_state() noexcept {
  // The kernel takes the interface out of the address when it is no more, also if another has its name by now.
  sockaddr_ll address{};
  socklen_t bytes = sizeof address;
  if (getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &bytes) == 0 && address.sll_ifindex < 0)
    return State::gone;
  int error = 0;
  bytes = sizeof error;
  const bool asked = getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0;
  return asked && error != 0 ? State::down : State::sound;
}

PacketsUnderWay::PacketsUnderWay() : fd_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {}

// Closing a packet socket, any of them, waits for the packets that are under way (synchronize_net() in the kernel's
// packet_release()).
void PacketsUnderWay::wait() noexcept {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

}  // namespace trama
