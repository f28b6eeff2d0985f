// Archives in the making: a `.tar.part` with its journal, as the archive stage writes them.
#pragma once
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "libclient/formats/blob.hpp"
#include "libclient/formats/manifest.hpp"
#include "libclient/formats/tar_writer.hpp"
#include "tests/libclient/matrices.hpp"
#include "tests/support/scratch_folder.hpp"

namespace trama::test {

inline constexpr const char* kArchiveName = "20231114-221320-000000.8388608.tar";

struct SampleArchive {
  Manifest manifest;
  std::vector<uint8_t> tar;         // without end blocks
  std::vector<size_t> content_end;  // of each window, without its padding
  std::vector<Matrix> matrices;

  std::string journal() const {
    std::string text = to_journal_header(manifest.header);
    for (const ManifestWindow& window : manifest.windows) text += to_journal_line(window);
    return text;
  }
  std::vector<uint8_t> finished() const {
    auto whole = tar;
    whole.insert(whole.end(), kTarEnd.begin(), kTarEnd.end());
    return whole;
  }
};

// `windows` windows of 500 packets, the last one of 321.
inline SampleArchive sample_archive(size_t windows) {
  constexpr size_t kPackets = 500;
  std::mt19937_64 random(99);
  SampleArchive sample;
  sample.manifest.header = {"roof", std::string(64, 'a'), kPackets, "numeric", "lz4", "crypto-pan-aes128"};
  BlobWriter writer(kPackets);
  std::vector<uint8_t> blob(writer.bound());
  for (size_t i = 0; i < windows; ++i) {
    const bool last = i + 1 == windows;
    const auto w = random_window(random, last ? 321 : kPackets, i % 2 != 0 ? Traffic::uniform : Traffic::skewed);
    const std::span<const uint8_t> bytes = std::span(blob).first(writer.write(w.view(), blob));
    ManifestWindow window;
    window.seq = i;
    window.member = window_member_name(i);
    window.bytes = bytes.size();
    window.xxh3_128 = xxh3_128_hex(bytes);
    window.packets = std::accumulate(w.count.begin(), w.count.end(), uint64_t{0});
    window.links = w.column.size();
    window.first_ns = 1'700'000'000'000'000'000 + static_cast<int64_t>(i) * 1'000'000;
    window.last_ns = window.first_ns + 999'999;
    window.closed_by = last ? ClosedBy::end : ClosedBy::full;
    window.key = "0123456789abcdef";
    window.verdicts.counted = window.packets;
    window.verdicts.ipv6 = i;
    window.dropped.ring = 2 * i;
    const auto header = make_tar_header(window.member, bytes.size(), 1'700'000'000);
    sample.tar.insert(sample.tar.end(), header->block.begin(), header->block.end());
    sample.tar.insert(sample.tar.end(), bytes.begin(), bytes.end());
    sample.content_end.push_back(sample.tar.size());
    sample.tar.resize(sample.tar.size() + header->padding_bytes);
    sample.manifest.windows.push_back(window);
    sample.matrices.push_back(w.matrix());
  }
  sample.manifest.tail.not_ip = 4;
  return sample;
}

}  // namespace trama::test
