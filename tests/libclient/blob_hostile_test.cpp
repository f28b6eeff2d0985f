// Blobs that are not what they say: every one must end in an error or in a matrix that keeps the rules.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "libclient/formats/blob.hpp"
#include "tests/libclient/matrices.hpp"

namespace trama {
namespace {

using Blob = std::vector<uint8_t>;

Blob blob_of(const test::WindowArrays& w, Compression compression, Lz4Writer writer = Lz4Writer::library) {
  BlobWriter blob_writer(std::max<size_t>(w.column.size(), 1), compression, writer);
  Blob out(blob_writer.bound());
  out.resize(blob_writer.write(w.view(), out));
  return out;
}

// An exact copy, so that ASan sees a read behind its end.
FormatExpected<Matrix> read_blob_exactly(const Blob& blob) {
  auto copy = std::make_unique<uint8_t[]>(blob.size());
  if (!blob.empty()) std::memcpy(copy.get(), blob.data(), blob.size());
  return read_blob({copy.get(), blob.size()});
}

bool blob_keeps_the_rules(const Matrix& m) {
  if (m.start.size() != m.rows() + 1 || m.start[0] != 0 || m.start.back() != m.links()) return false;
  if (m.count.size() != m.links()) return false;
  for (size_t i = 0; i < m.rows(); ++i) {
    if (m.start[i] >= m.start[i + 1] || (i > 0 && m.row[i] <= m.row[i - 1])) return false;
    for (size_t j = static_cast<size_t>(m.start[i]) + 1; j < m.start[i + 1]; ++j) {
      if (m.column[j] <= m.column[j - 1]) return false;
    }
  }
  return std::find(m.count.begin(), m.count.end(), 0U) == m.count.end();
}

template <class T>
Blob patched_blob(Blob blob, size_t offset, T value) {
  std::memcpy(blob.data() + offset, &value, sizeof value);
  return blob;
}

// Where the fields of the header lie (blob_header.hpp).
enum Offset : size_t {
  kBytes = 0,
  kType = 8,
  kVersion = 12,
  kLength = 16,
  kRows = 24,
  kVectorCount = 32,
  kNonempty = 40,
  kEntries = 48,
  kValueBytes = 56,
  kStartsBytes = 64,
  kVectorsBytes = 72,
  kBitmapBytes = 80,
  kIndicesBytes = 88,
  kValuesBytes = 96,
  kForm = 116,
  kStartsBlocks = 120,
  kStartsMethod = 124,
  kVectorsBlocks = 128,
  kBitmapBlocks = 136,
  kIndicesBlocks = 144,
  kIndicesMethod = 148,
  kValuesBlocks = 152,
  kFirstEnd = 160,
};

TEST(HostileBlob, HeadersThatLie) {
  std::mt19937_64 random(1);
  const Blob good = blob_of(test::random_window(random, 400, test::Traffic::uniform), Compression::lz4);
  ASSERT_TRUE(read_blob_exactly(good));
  const uint64_t huge = uint64_t{1} << 62;
  const struct {
    const char* what;
    Blob blob;
  } cases[] = {
      {"length", patched_blob(good, kBytes, uint64_t{good.size() + 1})},
      {"type 0", patched_blob(good, kType, 0U)},
      {"type 15", patched_blob(good, kType, 15U)},
      {"user-defined type", patched_blob(good, kType, 14U)},
      {"32-bit flags before 10", patched_blob(good, kType, 7U | 1U << 4)},
      {"unknown flags", patched_blob(patched_blob(good, kType, 7U | 2U << 8), kVersion, 10'000'000)},
      {"version 4", patched_blob(good, kVersion, 4'999'999)},
      {"version 11", patched_blob(good, kVersion, 11'000'000)},
      {"negative version", patched_blob(good, kVersion, -7'004'000)},
      {"vector length", patched_blob(good, kLength, huge)},
      {"vector length 0", patched_blob(good, kLength, uint64_t{0})},
      {"rows", patched_blob(good, kRows, uint64_t{100})},
      {"vectors", patched_blob(good, kVectorCount, huge)},
      {"all ones", patched_blob(good, kVectorCount, ~uint64_t{0})},
      {"nonempty", patched_blob(good, kNonempty, huge)},
      {"entries", patched_blob(good, kEntries, uint64_t{399})},
      {"value bytes", patched_blob(good, kValueBytes, uint64_t{8})},
      {"starts bytes", patched_blob(good, kStartsBytes, uint64_t{8})},
      {"vectors bytes", patched_blob(good, kVectorsBytes, huge)},
      {"bitmap bytes", patched_blob(good, kBitmapBytes, uint64_t{8})},
      {"indices bytes", patched_blob(good, kIndicesBytes, uint64_t{8 * 400 + 1})},
      {"values bytes", patched_blob(good, kValuesBytes, uint64_t{1600})},
      {"full", patched_blob(good, kForm, 8U * 4 + 2)},
      {"sparse", patched_blob(good, kForm, 2U * 4 + 2)},
      {"no form", patched_blob(good, kForm, 2U)},
      {"not iso", patched_blob(good, kForm, 4U)},
      {"negative blocks", patched_blob(good, kStartsBlocks, -1)},
      {"very many blocks", patched_blob(good, kIndicesBlocks, INT32_MAX)},
      {"one more block", patched_blob(good, kIndicesBlocks, 2)},
      {"no blocks", patched_blob(good, kIndicesBlocks, 0)},
      {"blocks of nothing", patched_blob(good, kBitmapBlocks, 1)},
      {"plain", patched_blob(good, kIndicesMethod, -1)},
      {"unknown method", patched_blob(good, kIndicesMethod, 4000)},
      {"zstd", patched_blob(good, kIndicesMethod, 3001)},
      {"block end", patched_blob(good, kFirstEnd, huge)},
      {"block end 0", patched_blob(good, kFirstEnd, uint64_t{0})},
      {"block end -1", patched_blob(good, kFirstEnd, ~uint64_t{0})},
  };
  for (const auto& lie : cases) {
    SCOPED_TRACE(lie.what);
    EXPECT_FALSE(read_blob_exactly(lie.blob));
  }
}

TEST(HostileBlob, EveryCutIsAnError) {
  std::mt19937_64 random(2);
  for (const Compression compression : {Compression::none, Compression::lz4, Compression::zstd}) {
    const Blob good = blob_of(test::random_window(random, 60, test::Traffic::uniform), compression);
    for (size_t length = 0; length < good.size(); ++length) {
      SCOPED_TRACE(length);
      Blob cut(good.begin(), good.begin() + static_cast<ptrdiff_t>(length));
      EXPECT_FALSE(read_blob_exactly(cut));
      if (length < sizeof(uint64_t)) continue;
      EXPECT_FALSE(read_blob_exactly(patched_blob(cut, kBytes, uint64_t{length})));  // and one that admits its length
    }
  }
}

// A few bytes that claim to be millions of rows must not take memory for them.
TEST(HostileBlob, ClaimsBeyondTheBytesGiven) {
  std::mt19937_64 random(3);
  for (const Compression compression : {Compression::lz4, Compression::zstd}) {
    Blob blob = blob_of(test::random_window(random, 100, test::Traffic::uniform), compression);
    const uint64_t rows = kMaxBlobLinks;
    blob = patched_blob(patched_blob(blob, kVectorCount, rows), kVectorsBytes, 8 * rows);
    blob = patched_blob(blob, kStartsBytes, 8 * (rows + 1));
    const auto read = read_blob_exactly(blob);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().text.find("beyond"), std::string::npos) << read.error().text;
  }
}

TEST(HostileBlob, LimitOfTheCaller) {
  std::mt19937_64 random(4);
  const auto w = test::random_window(random, 1000, test::Traffic::uniform);
  const Blob blob = blob_of(w, Compression::lz4);
  EXPECT_TRUE(read_blob(blob, w.column.size()));
  EXPECT_FALSE(read_blob(blob, w.column.size() - 1));
}

void mutate_blob(Blob& blob, std::mt19937_64& random) {
  const size_t changes = 1 + random() % 4;
  for (size_t i = 0; i < changes; ++i) {
    // Half of them in the header and the block ends, where the lengths are.
    const size_t reach = random() % 2 != 0 ? std::min<size_t>(blob.size(), 192) : blob.size();
    const size_t at = 8 + random() % (reach - 8);
    switch (random() % 4) {
      case 0: blob[at] = static_cast<uint8_t>(random()); break;
      case 1: blob[at] ^= static_cast<uint8_t>(1U << random() % 8); break;
      case 2: blob[at] = random() % 2 != 0 ? 0xff : 0; break;
      default:
        if (at + 8 <= blob.size()) blob = patched_blob(std::move(blob), at, random() >> random() % 64);
    }
  }
  if (random() % 8 == 0) blob.resize(8 + random() % blob.size());
  if (random() % 2 != 0) blob = patched_blob(std::move(blob), kBytes, uint64_t{blob.size()});
}

TEST(HostileBlob, MutationsNeverBreakTheReader) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<Blob> seeds{blob_of({}, Compression::lz4)};
  for (const size_t packets : {1, 3, 40, 700, 9000}) {
    for (const auto traffic : {test::Traffic::uniform, test::Traffic::skewed}) {
      const auto w = test::random_window(random, packets, traffic);
      for (const auto compression : {Compression::none, Compression::lz4, Compression::zstd}) {
        seeds.push_back(blob_of(w, compression));
      }
    }
  }
  size_t errors = 0;
  for (size_t i = 0; i < 20000; ++i) {
    Blob blob = seeds[random() % seeds.size()];
    mutate_blob(blob, random);
    const auto read = read_blob_exactly(blob);
    if (read) {
      ASSERT_TRUE(blob_keeps_the_rules(*read)) << "mutation " << i;
    } else {
      ++errors;
      ASSERT_FALSE(read.error().text.empty());
    }
  }
  EXPECT_GT(errors, 10000U);
}

// GraphBLAS 10 may store 32-bit arrays and appends two names: made here by hand from a plain blob.
TEST(HostileBlob, GraphBlas10) {
  std::mt19937_64 random(5);
  const auto w = test::random_window(random, 300, test::Traffic::skewed);
  const Blob plain = blob_of(w, Compression::none);
  BlobHeader header;
  std::memcpy(&header, plain.data(), sizeof header);
  header.version = 10'003'001;
  header.type_code = 7U | 1U << 4 | 1U << 8 | 1U << 12;
  const size_t array_count = header.blocks[kValues].blocks == 1 ? 4 : 3;
  Blob blob(sizeof header + array_count * 8);
  size_t end_at = sizeof header;
  const auto append = [&](BlobArray array, const std::vector<uint32_t>& values) {
    header.array_bytes[array] = values.size() * 4;
    const uint64_t end = values.size() * 4;
    std::memcpy(blob.data() + end_at, &end, sizeof end);
    end_at += sizeof end;
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    blob.insert(blob.end(), bytes, bytes + end);
  };
  append(kStarts, w.start);
  append(kVectors, w.row);
  append(kIndices, w.column);
  append(kValues, (header.form & 2) != 0 ? std::vector<uint32_t>{w.count[0]} : w.count);
  const char names[] = "window\0uint32_t";
  blob.insert(blob.end(), names, names + sizeof names);
  header.bytes = blob.size();
  std::memcpy(blob.data(), &header, sizeof header);

  const auto read = read_blob_exactly(blob);
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(*read, w.matrix());
  blob.pop_back();
  EXPECT_FALSE(read_blob_exactly(patched_blob(blob, kBytes, uint64_t{blob.size()})));
  blob.insert(blob.end(), {0, 'x'});
  EXPECT_FALSE(read_blob_exactly(patched_blob(blob, kBytes, uint64_t{blob.size()})));
}

// What is wrong with the starts is found before the other arrays are decompressed: those of a short blob may be long.
TEST(HostileBlob, StartsAreJudgedFirst) {
  std::mt19937_64 random(6);
  const auto w = test::random_window(random, 4000, test::Traffic::uniform);
  auto wrong = w;
  wrong.start[1] = wrong.start[2] + 1;
  Blob blob = blob_of(wrong, Compression::lz4);
  blob.back() ^= 0xff;  // of the values, at the end
  for (size_t i = blob.size() / 2; i < blob.size(); ++i) blob[i] = 0xff;
  const auto read = read_blob_exactly(blob);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().text, "damaged blob: starts go backwards");
}

TEST(HostileBlob, NoMoreLinksThanAreWritten) {
  std::mt19937_64 random(7);
  Blob blob = blob_of(test::random_window(random, 100, test::Traffic::uniform), Compression::lz4);
  for (const uint64_t entries : {uint64_t{kMaxBlobLinks}, uint64_t{kMaxBlobLinks} + 1}) {
    blob = patched_blob(patched_blob(patched_blob(blob, kEntries, entries), kIndicesBytes, 8 * entries), kValuesBytes,
                        4 * entries);
    const auto read = read_blob_exactly(patched_blob(blob, kForm, 4U));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().text.find("more rows or entries") != std::string::npos, entries > kMaxBlobLinks)
        << read.error().text;
  }
}

}  // namespace
}  // namespace trama
