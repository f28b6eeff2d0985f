// Sends frames of 64 bytes with random addresses from an interface, as fast as one thread can.
//
//   frame_sender INTERFACE FRAMES
//
// Prints how many went out, how many the interface had no room for, and the seconds it took.
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace {

constexpr size_t kBurst = 64, kFrameBytes = 60;  // without the checksum
constexpr size_t kDifferent = 1 << 16;

using Frame = std::array<uint8_t, kFrameBytes>;

std::vector<Frame> make_frames() {
  constexpr uint8_t kStart[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, kFrameBytes - 14};
  std::mt19937 random(1);
  std::vector<Frame> frames(kDifferent);
  for (Frame& frame : frames) {
    frame = {};
    std::memcpy(frame.data(), kStart, sizeof kStart);
    frame[22] = 64;   // time to live
    frame[23] = 253;  // for experiments (RFC 3692)
    for (size_t at = 26; at < 34; ++at) frame[at] = static_cast<uint8_t>(random());
  }
  return frames;
}

int open_interface(const char* name) {
  const int line = socket(AF_PACKET, SOCK_RAW, 0);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(if_nametoindex(name));
  const int on = 1;
  if (line < 0 || address.sll_ifindex == 0 || bind(line, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      setsockopt(line, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on) != 0) {
    std::perror(name);
    std::exit(1);
  }
  return line;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::fputs("frame_sender INTERFACE FRAMES\n", stderr);
    return 2;
  }
  const int line = open_interface(words[1]);
  const uint64_t wanted = std::strtoull(words[2], nullptr, 10);
  std::vector<Frame> frames = make_frames();
  std::vector<iovec> parts(kDifferent);
  std::vector<mmsghdr> messages(kDifferent);
  for (size_t i = 0; i < kDifferent; ++i) {
    parts[i] = {frames[i].data(), kFrameBytes};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  uint64_t sent = 0, refused = 0;
  const auto started = std::chrono::steady_clock::now();
  while (sent + refused < wanted) {
    const size_t first = (sent + refused) % kDifferent;
    const size_t burst = std::min({kBurst, kDifferent - first, static_cast<size_t>(wanted - sent - refused)});
    const int gone = sendmmsg(line, &messages[first], static_cast<unsigned>(burst), 0);
    if (gone > 0) {
      sent += static_cast<uint64_t>(gone);
    } else if (errno == ENOBUFS || errno == EAGAIN) {
      ++refused;
    } else {
      std::perror("sendmmsg");
      return 1;
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
  std::printf("%llu %llu %.6f\n", static_cast<unsigned long long>(sent), static_cast<unsigned long long>(refused),
              seconds.count());
}
