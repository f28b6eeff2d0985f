#include "tests/support/network_namespace.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>

namespace trama::test {
namespace {

constexpr const char* kOwnNamespace = "/proc/thread-self/ns/net";

}  // namespace

NetworkNamespace::NetworkNamespace() {
  // In a thread that ends, so that this one stays where it is.
  std::thread([this] {
    if (::unshare(CLONE_NEWNET) != 0)
      why_not_ = std::string("no network namespace can be made here: ") + std::strerror(errno);
    else
      descriptor_ = ::open(kOwnNamespace, O_RDONLY | O_CLOEXEC);
  }).join();
  if (descriptor_ < 0) {
    if (why_not_.empty()) why_not_ = std::string("no network namespace can be opened here: ") + std::strerror(errno);
    return;
  }
  const Inside inside(*this);
  if (std::system("ip link set dev lo up 2>/dev/null") != 0) why_not_ = "`ip` (Debian's iproute2) doesn't work here";
  for (const char* which : {"all", "default"}) {
    const std::string path = std::string("/proc/sys/net/ipv6/conf/") + which + "/disable_ipv6";
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) continue;  // a kernel without IPv6
    EXPECT_EQ(::write(file, "1", 1), 1) << path;
    ::close(file);
  }
}

NetworkNamespace::~NetworkNamespace() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

NetworkNamespace::Inside::Inside(const NetworkNamespace& network)
    : outside_(::open(kOwnNamespace, O_RDONLY | O_CLOEXEC)) {
  EXPECT_GE(outside_, 0);
  EXPECT_EQ(::setns(network.descriptor_, CLONE_NEWNET), 0) << std::strerror(errno);
}

NetworkNamespace::Inside::~Inside() {
  EXPECT_EQ(::setns(outside_, CLONE_NEWNET), 0) << std::strerror(errno);
  ::close(outside_);
}

std::string NetworkNamespace::run(const std::string& command) const {
  const Inside inside(*this);
  std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "re");
  if (pipe == nullptr) {
    ADD_FAILURE() << command << ": " << std::strerror(errno);
    return "";
  }
  std::string printed;
  std::array<char, 4096> piece;
  while (const size_t got = std::fread(piece.data(), 1, piece.size(), pipe)) printed.append(piece.data(), got);
  EXPECT_EQ(::pclose(pipe), 0) << command << ": " << printed;
  return printed;
}

void NetworkNamespace::add_pair(const std::string& first, const std::string& second, uint32_t mtu,
                                const std::string& more) const {
  const std::string like = " mtu " + std::to_string(mtu) + " " + more;
  run("ip link add name " + first + like + " type veth peer name " + second + like);
  run("ip link set dev " + first + " up");
  run("ip link set dev " + second + " up");
}

FrameSocket::FrameSocket(const std::string& interface)
    : descriptor_(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(::if_nametoindex(interface.c_str()));
  EXPECT_NE(address.sll_ifindex, 0) << "there is no interface " << interface;
  const int on = 1, room_bytes = 8 << 20;
  EXPECT_EQ(::setsockopt(descriptor_, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on), 0);
  EXPECT_EQ(::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUFFORCE, &room_bytes, sizeof room_bytes), 0);
  EXPECT_EQ(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0)
      << std::strerror(errno);
}

FrameSocket::~FrameSocket() { ::close(descriptor_); }

void FrameSocket::send(std::span<const uint8_t> frame) {
  EXPECT_TRUE(try_send(frame)) << std::strerror(errno) << ", " << frame.size() << " bytes";
}

bool FrameSocket::try_send(std::span<const uint8_t> frame) {
  return ::send(descriptor_, frame.data(), frame.size(), 0) == static_cast<ssize_t>(frame.size());
}

std::optional<std::vector<uint8_t>> FrameSocket::receive(std::chrono::milliseconds limit) {
  pollfd wanted{descriptor_, POLLIN, 0};
  if (::poll(&wanted, 1, static_cast<int>(limit.count())) <= 0) return std::nullopt;
  std::vector<uint8_t> frame(1 << 16);
  const ssize_t got = ::recv(descriptor_, frame.data(), frame.size(), 0);
  if (got < 0) return std::nullopt;
  frame.resize(static_cast<size_t>(got));
  return frame;
}

}  // namespace trama::test
