// Receives packets with libpcap and only counts them: what live capture is measured beside.
//
//   count_packets INTERFACE RING_BYTES
//
// Says when it listens; ends at SIGTERM, when nothing more comes. Prints how many came and how many were dropped.
#include <pcap/pcap.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {
pcap_t* capture = nullptr;
void stop(int) { pcap_breakloop(capture); }
}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::fputs("count_packets INTERFACE RING_BYTES\n", stderr);
    return 2;
  }
  char error[PCAP_ERRBUF_SIZE] = "";
  capture = pcap_create(words[1], error);
  if (capture == nullptr || pcap_set_snaplen(capture, 512) != 0 || pcap_set_promisc(capture, 1) != 0 ||
      pcap_set_timeout(capture, 10) != 0 || pcap_set_buffer_size(capture, std::atoi(words[2])) != 0 ||
      pcap_activate(capture) < 0 || pcap_setdirection(capture, PCAP_D_IN) != 0) {
    std::fprintf(stderr, "%s: %s\n", words[1], capture != nullptr ? pcap_geterr(capture) : error);
    return 1;
  }
  std::signal(SIGTERM, stop);
  std::puts("listening");
  std::fflush(stdout);
  unsigned long long packets = 0;
  const auto one = [](u_char* all, const pcap_pkthdr*, const u_char*) {
    ++*reinterpret_cast<unsigned long long*>(all);
  };
  auto* const all = reinterpret_cast<u_char*>(&packets);
  while (pcap_dispatch(capture, -1, one, all) >= 0) {
  }
  // Told to end: what waits in the ring counts, too.
  pcap_setnonblock(capture, 1, error);
  while (pcap_dispatch(capture, -1, one, all) > 0) {
  }
  pcap_stat lost{};
  pcap_stats(capture, &lost);
  std::printf("%llu %u\n", packets, lost.ps_drop);
  pcap_close(capture);
}
