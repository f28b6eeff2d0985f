// Writes the inputs that mutation begins with: fuzz_seeds FOLDER makes FOLDER/TARGET/NUMBER for each fuzz target, from
// the frames of the header walk's tests and from small captures and blobs made here. None is from a real network.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "libclient/formats/blob.hpp"
#include "libclient/formats/compact.hpp"
#include "libclient/formats/stream_note.hpp"
#include "tests/fuzz/repack.hpp"
#include "tests/libclient/stream_cases.hpp"
#include "tests/modules/support/header_walk_cases.hpp"
#include "tests/support/capture_builder.hpp"
#include "tests/support/compress.hpp"

namespace trama::test {
namespace {

using Seeds = std::vector<PacketBytes>;

PacketBytes joined(std::initializer_list<PacketBytes> parts) {
  PacketBytes all;
  for (const PacketBytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Link type, the choice of segments, frame: header_walk_fuzz.cpp.
Seeds header_walk_seeds() {
  Seeds seeds;
  for (const WalkCase& one : walk_cases()) {
    PacketBytes seed = {static_cast<uint8_t>(one.link_type), static_cast<uint8_t>(one.link_type >> 8),
                        static_cast<uint8_t>(seeds.size())};
    seed.insert(seed.end(), one.frame.bytes().begin(), one.frame.bytes().end());
    seeds.push_back(seed);
  }
  return seeds;
}

void add_pcap_files(Seeds& files) {
  for (ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    for (uint32_t magic : {PcapVariant::kMicro, PcapVariant::kNano, PcapVariant::kModified}) {
      files.push_back(PcapBuilder({.order = order, .magic = magic})
                          .packet(patterned(20, magic), 1'000'000)
                          .packet({}, 2'000'000)
                          .packet(patterned(7, 2), 3'000'000, 1500)
                          .bytes());
    }
    for (uint16_t minor : {uint16_t{2}, uint16_t{3}}) {
      files.push_back(PcapBuilder({.order = order, .minor = minor, .link_word = 101})
                          .packet(patterned(20, minor), 5, 40)
                          .record(1, 2, 40, 20, patterned(20, 3))
                          .bytes());
    }
  }
}

PacketBytes mixed_pcapng(ByteOrder order) {
  PcapngBuilder file;
  file.section(order)
      .interface({.link_type = 1, .snap_length = 16, .resolution = 9, .comment_bytes = 5})
      .interface({.link_type = 101, .resolution = {}, .offset_s = -7});
  file.enhanced(0, 1'000'000'007, patterned(16, 1), 99)
      .simple(patterned(16, 2), 60)
      .obsolete(1, 12345, patterned(9, 3));
  file.block(0x0bad, file.body().u32(32473).u32(1).bytes());
  return file.enhanced(1, 77, patterned(3, 4), 0, 8).bytes();
}

void add_pcapng_files(Seeds& files) {
  const PacketBytes little = mixed_pcapng(ByteOrder::little), big = mixed_pcapng(ByteOrder::big);
  files.insert(files.end(), {little, big, joined({little, big})});
  for (uint8_t resolution : PacketBytes{0, 6, 12, 0x80, 0x8a, 0xbf}) {
    PcapngBuilder file;
    file.section().interface({.resolution = 6});
    // The builder knows decimal clocks only: the resolution's byte is put in behind the code and length of its option.
    PacketBytes bytes = file.enhanced(0, 1'234'567'890, patterned(4, resolution)).bytes();
    bytes[28 + 16 + 4] = resolution;
    files.push_back(bytes);
  }
}

// What takes more than one block to read, packed into little: many packets, and records beyond the longest packet.
Seeds long_files() {
  const PacketBytes zeros(300'000, 0);
  Seeds files = {PcapBuilder().packet(zeros, 1).packet(patterned(5, 1), 2).bytes()};
  PcapngBuilder file;
  file.section().interface();
  file.block(0x0bad, zeros).enhanced(0, 1, zeros).enhanced(0, 2, patterned(5, 2));
  files.push_back(file.bytes());
  PcapBuilder many;
  PcapngBuilder many_blocks;
  many_blocks.section(ByteOrder::big).interface();
  many.packet(PacketBytes(30'000, 1), 0);  // so that much is read ahead for the small ones
  many_blocks.enhanced(0, 0, PacketBytes(30'000, 1));
  for (uint32_t i = 0; i < 500; ++i) {
    many.packet(PacketBytes(40, static_cast<uint8_t>(i)), i);
    many_blocks.enhanced(0, i, PacketBytes(20, static_cast<uint8_t>(i)));
  }
  files.insert(files.end(), {many.bytes(), many_blocks.bytes()});
  return files;
}

constexpr size_t kLongest = 2048;  // of a packed file

// The choice of pieces and batches, then the file: capture_reader_fuzz.cpp.
Seeds capture_reader_seeds() {
  Seeds plain;
  add_pcap_files(plain);
  add_pcapng_files(plain);
  Seeds files = plain;
  for (InputCompression how : kCompressions) {
    for (const PacketBytes& file : plain) files.push_back(pack(how, file, kLongest));
    const std::span<const uint8_t> file = plain.front();
    files.push_back(
        joined({pack(how, file.first(30), kLongest), pack(how, {}, kLongest), compress(how, file.subspan(30))}));
  }
  for (const PacketBytes& file : long_files()) {
    for (size_t i = 0; i < 3; ++i)
      files.push_back(pack(InputCompression::zstd, file, kLongest));  // read in other batches
  }
  files.push_back(joined({{0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4}, zstd(plain.front())}));
  files.push_back(joined({gzip(plain.front()), PacketBytes(9, 0)}));
  Seeds seeds;
  for (const PacketBytes& file : files) seeds.push_back(joined({{static_cast<uint8_t>(seeds.size() * 61)}, file}));
  return seeds;
}

Seeds blob_seeds() {
  const std::vector<uint32_t> rows = {1, 5, 7, 0xfffffff0}, start = {0, 2, 3, 6, 7};
  const std::vector<uint32_t> columns = {0, 9, 3, 1, 2, 0xffffffff, 4};
  Seeds seeds;
  for (Compression compression : {Compression::none, Compression::lz4, Compression::zstd}) {
    for (const std::vector<uint32_t>& counts :
         {std::vector<uint32_t>{1, 2, 3, 4, 5, 6, 7}, std::vector<uint32_t>(7, 1)}) {
      BlobWriter writer(64, compression);
      PacketBytes blob(writer.bound());
      blob.resize(writer.write({rows, start, columns, counts}, blob));
      seeds.push_back(blob);
    }
  }
  return seeds;
}

Seeds compact_seeds() {
  const std::vector<uint32_t> rows = {1, 5, 7, 0xfffffff0}, start = {0, 2, 3, 6, 7};
  const std::vector<uint32_t> columns = {0, 9, 3, 1, 2, 0xffffffff, 4};
  Seeds seeds;
  for (const std::vector<uint32_t>& counts :
       {std::vector<uint32_t>{1, 2, 3, 400, 5, 0xffffffff, 7}, std::vector<uint32_t>(7, 1)}) {
    PacketBytes bytes(compact_bound(columns.size()));
    bytes.resize(write_compact({rows, start, columns, counts}, false, bytes));
    seeds.push_back(bytes);
  }
  return seeds;
}

// Envelopes of those matrices, and a note.
Seeds envelope_seeds() {
  Seeds seeds;
  for (const EnvelopeEncoding encoding : kWindowEncodings)
    for (const size_t packets : {size_t{1}, size_t{40}})
      seeds.push_back(enveloped(sample_window(seeds.size(), packets, encoding)->envelope));
  Envelope tail;
  tail.run = 1;
  seeds.push_back(enveloped(tail));
  std::array<uint8_t, kMostNoteBytes> note;
  const size_t size = write_note({.kind = NoteKind::subscribe, .text = "roof"}, note);
  seeds.emplace_back(note.begin(), note.begin() + static_cast<ptrdiff_t>(size));
  return seeds;
}

bool write_seeds(const std::filesystem::path& folder, const Seeds& seeds) {
  std::filesystem::create_directories(folder);
  for (size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream file(folder / std::to_string(i), std::ios::binary);
    file.write(reinterpret_cast<const char*>(seeds[i].data()), static_cast<std::streamsize>(seeds[i].size()));
    if (!file.flush()) return false;
  }
  return true;
}

}  // namespace
}  // namespace trama::test

int main(int argc, char** argv) {
  using namespace trama::test;
  if (argc != 2) {
    std::cerr << "usage: fuzz_seeds FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const bool written = write_seeds(folder / "header_walk", header_walk_seeds()) &&
                       write_seeds(folder / "capture_reader", capture_reader_seeds()) &&
                       write_seeds(folder / "blob", blob_seeds()) && write_seeds(folder / "compact", compact_seeds()) &&
                       write_seeds(folder / "envelope", envelope_seeds());
  if (!written) std::cerr << "fuzz_seeds: can't write into " << folder << "\n";
  return written ? 0 : 1;
}
