// The straightforward program: libpcap, GrB_Matrix_build, GxB_Matrix_serialize, and a TAR file with all windows.
//
//   plain_pcap2grb CAPTURE ARCHIVE.tar
//
// What file_to_archive.py measures beside `trama run`. It walks raw IPv4 (link type 101) only, does not anonymize, and
// leaves the last, partial window away, as such programs do.
#include <pcap/pcap.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "control/bench/graphblas.hpp"
#include "libclient/formats/tar_writer.hpp"

namespace trama {
namespace {

constexpr size_t kWindow = size_t{1} << 17;

uint32_t address_at(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

bool append(std::FILE* archive, size_t member, std::span<const uint8_t> blob) {
  const auto header = make_tar_header(window_member_name(member), blob.size(), 0);
  return !blob.empty() && header && std::fwrite(header->block.data(), header->block.size(), 1, archive) == 1 &&
         std::fwrite(blob.data(), blob.size(), 1, archive) == 1 &&
         std::fwrite(kTarEnd.data(), 1, header->padding_bytes, archive) == header->padding_bytes;
}

int convert(const char* capture, const char* archive_name) {
  char reason[PCAP_ERRBUF_SIZE] = "";
  const std::unique_ptr<pcap_t, void (*)(pcap_t*)> input(pcap_open_offline(capture, reason), pcap_close);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> archive(std::fopen(archive_name, "wb"), std::fclose);
  if (!input || !archive || pcap_datalink(input.get()) != DLT_RAW || !start_graphblas()) {
    std::fprintf(stderr, "plain_pcap2grb: can't begin: %s\n", reason);
    return 1;
  }
  tune_malloc();
  GraphBlasWindow window(kWindow);
  std::vector<uint64_t> source(kWindow), destination(kWindow);
  size_t packets = 0, windows = 0;
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  while (pcap_next_ex(input.get(), &header, &bytes) == 1) {
    if (header->caplen < 20 || bytes[0] >> 4 != 4) continue;
    source[packets] = address_at(bytes + 12);
    destination[packets] = address_at(bytes + 16);
    if (++packets < kWindow) continue;
    packets = 0;
    if (!window.build(source.data(), destination.data(), kWindow) ||
        !append(archive.get(), windows++, window.serialize()))
      return 1;
  }
  return std::fwrite(kTarEnd.data(), kTarEnd.size(), 1, archive.get()) == 1 ? 0 : 1;
}

}  // namespace
}  // namespace trama

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "plain_pcap2grb CAPTURE ARCHIVE.tar\n");
    return 2;
  }
  return trama::convert(arguments[1], arguments[2]);
}
