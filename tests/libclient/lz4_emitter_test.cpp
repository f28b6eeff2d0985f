#include "libclient/formats/lz4_emitter.hpp"

#include <gtest/gtest.h>
#include <lz4.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/highway_targets.hpp"

namespace trama {
namespace {

using Numbers = std::vector<uint32_t>;
using Bytes = std::vector<uint8_t>;
using Random = std::mt19937_64;

constexpr uint32_t kLast = 0xFFFFFFFF;

uint32_t any(Random& random) { return static_cast<uint32_t>(random()); }

struct Emitter {
  const char* name;
  size_t element_bytes;
  size_t (*bound)(size_t);
  size_t (*emit)(std::span<const uint32_t>, uint8_t*) noexcept;
};

const Emitter kEmitters[] = {{"index", 8, lz4_index_bound, emit_index},
                             {"column", 8, lz4_index_bound, emit_column},
                             {"counts", 4, lz4_counts_bound, emit_counts}};

struct Shape {
  const char* name;
  bool sorted;
  std::function<uint32_t(Random&, size_t)> number;  // of a place
};

// One in two has the top 16 bits of one of 64 networks, which are spread over all addresses.
uint32_t often_in_a_network(Random& random) {
  const uint32_t number = any(random);
  return number % 2 == 0 ? number : (number / 2 % 64 * 0x9E3779B1u & 0xFFFF0000) | number >> 16;
}

// Top bits that are seen only once in so many elements.
uint32_t top_bits_after(size_t period, Random& random, size_t i) {
  return (i % period == 7 ? 0xC0A80000 : 0) | any(random) % 65536;
}

const Shape kShapes[] = {
    {"random", false, [](Random& r, size_t) { return any(r); }},
    {"random, sorted", true, [](Random& r, size_t) { return any(r); }},
    {"zeros", false, [](Random&, size_t) { return 0u; }},
    {"last number", false, [](Random&, size_t) { return kLast; }},
    {"extremes", false, [](Random& r, size_t) { return any(r) % 2 * kLast; }},
    {"extremes in turn", false, [](Random&, size_t i) { return static_cast<uint32_t>(i) % 2 * kLast; }},
    {"counting", true, [](Random&, size_t i) { return static_cast<uint32_t>(i); }},
    {"counting down", false, [](Random&, size_t i) { return kLast - static_cast<uint32_t>(i); }},
    {"one changed bit", false, [](Random& r, size_t) { return 0x5A5A5A5Au ^ 1u << any(r) % 32; }},
    {"small", false, [](Random& r, size_t) { return any(r) % 3 + 1; }},
    {"mostly one", false, [](Random& r, size_t) { return any(r) % 8 == 0 ? any(r) % 1000 : 1; }},
    {"runs of 100", false, [](Random&, size_t i) { return static_cast<uint32_t>(i / 100 * 0x9E3779B1); }},
    {"runs of 2000 and noise", false,
     [](Random& r, size_t i) { return i / 2000 % 2 == 0 ? static_cast<uint32_t>(i / 2000) : any(r); }},
    {"one /8", false, [](Random& r, size_t) { return 0x2C000000 | (any(r) & 0xFFFFFF); }},
    {"one /16", false, [](Random& r, size_t) { return 0x2C120000 | (any(r) & 0xFFFF); }},
    {"64 networks and noise", false, [](Random& r, size_t) { return often_in_a_network(r); }},
    // At the reach of an offset, 8191 elements, and where positions wrap, 65536.
    {"top bits return after 8191", false, [](Random& r, size_t i) { return top_bits_after(8191, r, i); }},
    {"top bits return after 8192", false, [](Random& r, size_t i) { return top_bits_after(8192, r, i); }},
    {"top bits return after 8193", false, [](Random& r, size_t i) { return top_bits_after(8193, r, i); }},
    {"top bits return after 8192, of noise", false,
     [](Random& r, size_t i) { return i % 8192 == 7 ? 0xC0A80000 | any(r) % 65536 : any(r) & 0x7FFFFFFF; }},
    {"top bits return after 65536", false, [](Random& r, size_t i) { return top_bits_after(65536, r, i); }},
    // Matches of 4 bytes after literals of every length: the most a sequence can cost.
    {"pairs after long literals", false,
     [](Random&, size_t i) { return static_cast<uint32_t>((i % 64 == 63 ? i - 1 : i) * 2654435761u); }},
};

Numbers make_numbers(const Shape& shape, size_t n, uint64_t seed) {
  Random random(seed);
  Numbers numbers;
  for (size_t i = 0; i < n; ++i) numbers.push_back(shape.number(random, i));
  if (shape.sorted) std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// Input and output are blocks that end where they must, so that AddressSanitizer sees an access beyond.
Bytes emit(const Emitter& emitter, const Numbers& numbers) {
  const size_t n = numbers.size();
  const size_t bound = emitter.bound(n);
  const std::unique_ptr<uint32_t[]> in(new uint32_t[n]);
  const std::unique_ptr<uint8_t[]> out(new uint8_t[bound]);
  std::copy(numbers.begin(), numbers.end(), in.get());
  const size_t length = emitter.emit({in.get(), n}, out.get());
  EXPECT_LE(length, bound);
  return {out.get(), out.get() + std::min(length, bound)};
}

Bytes decoded(const Bytes& block, size_t bytes) {
  Bytes data(bytes + 1);  // room for one too many
  const int length =
      LZ4_decompress_safe(reinterpret_cast<const char*>(block.data()), reinterpret_cast<char*>(data.data()),
                          static_cast<int>(block.size()), static_cast<int>(data.size()));
  data.resize(length < 0 ? 0 : static_cast<size_t>(length));
  return data;
}

Bytes little_endian(const Numbers& numbers, size_t element_bytes) {
  Bytes bytes;
  for (const uint32_t number : numbers) {
    for (size_t byte = 0; byte < element_bytes; ++byte) {
      bytes.push_back(byte < 4 ? static_cast<uint8_t>(number >> 8 * byte) : uint8_t{0});
    }
  }
  return bytes;
}

struct Sequence {
  size_t literals, match, offset;
};

// The sequences of a block; the last one has no match. Empty if the block isn't well formed.
std::vector<Sequence> parse_block(const Bytes& block) {
  std::vector<Sequence> sequences;
  size_t at = 0;
  const auto byte = [&] { return at < block.size() ? block[at++] : (at = block.size() + 1, uint8_t{0}); };
  const auto length = [&](size_t nibble) {
    if (nibble < 15) return nibble;
    for (uint8_t more = 255; more == 255; nibble += more) more = byte();
    return nibble;
  };
  while (at < block.size()) {
    const uint8_t token = byte();
    const size_t literals = length(token >> 4);
    at += literals;
    if (at == block.size()) {
      sequences.push_back({literals, 0, 0});
      return sequences;
    }
    const size_t low = byte();
    const size_t offset = low | static_cast<size_t>(byte()) << 8;
    sequences.push_back({literals, length(token & 15) + 4, offset});
  }
  return {};
}

// The rules of lz4_Block_format.md, which decoders may rely on without testing them.
void expect_block_rules(const Bytes& block, size_t bytes) {
  const std::vector<Sequence> sequences = parse_block(block);
  ASSERT_FALSE(sequences.empty());
  size_t done = 0;
  for (size_t i = 0; i + 1 < sequences.size(); ++i) {
    done += sequences[i].literals;
    ASSERT_GE(sequences[i].offset, 1u);
    ASSERT_LE(sequences[i].offset, done);
    const bool last_match = i + 2 == sequences.size();
    ASSERT_LE(done + (last_match ? 12 : 0), bytes) << "the last match starts too late";
    done += sequences[i].match;
  }
  ASSERT_EQ(done + sequences.back().literals, bytes);
  ASSERT_GE(sequences.back().literals, sequences.size() > 1 ? 5u : 0u);
}

std::vector<size_t> sizes() {
  std::vector<size_t> sizes = {511, 1000, 2047, 4095, 8195, 20001, 70001};
  for (size_t n = 0; n <= 300; ++n) sizes.push_back(n);
  return sizes;
}

TEST(Lz4EmitterTest, EveryBlockDecodesToTheArray) {
  for (const Emitter& emitter : kEmitters) {
    for (const Shape& shape : kShapes) {
      for (const size_t n : sizes()) {
        SCOPED_TRACE(testing::Message() << emitter.name << ", " << shape.name << ", seed = n = " << n);
        const Numbers numbers = make_numbers(shape, n, n);
        const Bytes expected = little_endian(numbers, emitter.element_bytes);
        const Bytes block = emit(emitter, numbers);
        ASSERT_NO_FATAL_FAILURE(expect_block_rules(block, expected.size()));
        ASSERT_EQ(decoded(block, expected.size()), expected);
      }
    }
  }
}

TEST(Lz4EmitterTest, EveryTargetWritesTheSameBytes) {
  std::vector<Bytes> of_the_first;
  for (const int64_t target : highway_targets()) {
    const ForcedTarget forced(target);
    size_t blocks = 0;
    for (const Emitter& emitter : kEmitters) {
      for (const Shape& shape : kShapes) {
        for (const size_t n : sizes()) {
          SCOPED_TRACE(testing::Message() << emitter.name << ", " << shape.name << ", seed = n = " << n);
          const Bytes block = emit(emitter, make_numbers(shape, n, n));
          if (blocks == of_the_first.size()) of_the_first.push_back(block);
          ASSERT_EQ(block, of_the_first[blocks++]) << hwy::TargetName(target);
        }
      }
    }
  }
}

// Runs of all lengths at all places, the last elements among them.
TEST(Lz4EmitterTest, RunsMayBeginAndEndAnywhere) {
  constexpr uint64_t kSeed = 20231114;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  for (int round = 0; round < 3000; ++round) {
    Numbers numbers;
    const size_t n = any(random) % 400;
    while (numbers.size() < n) {
      const uint32_t number = any(random) % 3 == 0 ? any(random) : any(random) % 600;
      const size_t run = any(random) % 4 == 0 ? any(random) % 200 : 1;
      numbers.insert(numbers.end(), std::min(run, n - numbers.size()), number);
    }
    for (const Emitter& emitter : kEmitters) {
      SCOPED_TRACE(testing::Message() << emitter.name << ", round " << round);
      const Bytes expected = little_endian(numbers, emitter.element_bytes);
      const Bytes block = emit(emitter, numbers);
      ASSERT_NO_FATAL_FAILURE(expect_block_rules(block, expected.size()));
      ASSERT_EQ(decoded(block, expected.size()), expected);
    }
  }
}

TEST(Lz4EmitterTest, StructureMakesBlocksShort) {
  struct Case {
    const char* shape;
    const Emitter& emitter;
    size_t most_bytes_per_thousand;
  };
  const Case cases[] = {
      {"counting", kEmitters[0], 4020},  // one literal each
      {"random, sorted", kEmitters[0], 5900},
      {"random", kEmitters[1], 6100},  // the top byte has been seen
      {"one /8", kEmitters[1], 5300},  // and the second mostly too
      {"one /16", kEmitters[1], 5020},
      {"64 networks and noise", kEmitters[1], 5550},  // a third byte for the noise only
      {"zeros", kEmitters[0], 40},
      {"zeros", kEmitters[1], 40},
      {"zeros", kEmitters[2], 20},
      {"mostly one", kEmitters[2], 2500},
  };
  constexpr size_t kNumbers = 20000;
  for (const Case& test : cases) {
    const auto* shape = std::find_if(std::begin(kShapes), std::end(kShapes),
                                     [&](const Shape& s) { return std::string(s.name) == test.shape; });
    ASSERT_NE(shape, std::end(kShapes));
    const size_t length = emit(test.emitter, make_numbers(*shape, kNumbers, 1)).size();
    EXPECT_LE(length, kNumbers / 1000 * test.most_bytes_per_thousand) << test.emitter.name << ", " << test.shape;
  }
}

// A golden block, byte for byte: 10, 20, 0x1234, 7, 7 as 64-bit numbers.
TEST(Lz4EmitterTest, WritesTheBlockThatTheFormatSays) {
  const Numbers numbers = {10, 20, 0x1234, 7, 7};
  const Bytes expected = {
      0xC0, 10,   0,    0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 8, 0,          // 12 literals, 4 from 8 back
      0x22, 0x34, 0x12, 8, 0,                                         // 2 literals, 6 from 8 back
      0xF0, 1,    7,    0, 0, 0, 0, 0, 0, 0,  7, 0, 0, 0, 0, 0, 0, 0  // 15 + 1 literals
  };
  EXPECT_EQ(emit(kEmitters[0], numbers), expected);
}

}  // namespace
}  // namespace trama
