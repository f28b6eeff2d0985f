// What CryptoPan keeps of a key, how it is laid out, and the plain definition. Only crypto_pan.cpp and
// crypto_pan_tables.cpp include this file.
//
// Let f(p) be the first bit of AES-128(p, then the pad's bits from there on), p being the first bits of an address. Bit
// i of the result is bit i of the address XOR f(its first i bits). So f of all prefixes of up to 23 bits is a binary
// trie of 2^24 - 1 bits, the same for all addresses, and it can be kept:
//
//   bits 0-15   one load: `top` holds the 16 values of f along the path to each /16
//   bits 16-23  one TrieBlock for each /16: f of the 255 prefixes of 16 to 23 bits within it
//   bits 24-31  not kept (that would be 512 MiB): 8 AES blocks an address
//
// Inside a block. Number the nodes of its 8 levels as in a heap: node 1 is the /16 itself, node h has the children 2h
// and 2h + 1, so level l holds the nodes 2^l .. 2^(l+1) - 1. Byte b of the address (bits 16-23) visits node (256 | b)
// >> (8 - l) on level l. Reading eight single bits would cost more than the AES hides, so that the first levels are
// read three at a time, and the two that take most of the room bit by bit:
//
//   levels 0-2  nodes 1-7      `top` again: bits 16-27 hold the three bits along the path, for each value of b >> 6
//   levels 3-5  nodes 8-63     subtree[b >> 5]: its 7 nodes, numbered again as a heap of their own, bit k is node k
//   level 6     nodes 64-127   level_6: bit h - 64 = b >> 2
//   level 7     nodes 128-255  level_7[b >> 7]: bit h mod 64 = (b >> 1) mod 64
//
// A subtree's bit 0 is free: in subtree[i] it is node i (i = 1..7). So a block is whole by itself, seen as 256 bits,
// and is made in one go; what `top` holds of it is a copy. (PEXT could collect the path out of one word, and is some 6
// % faster where it's fast; but it takes hundreds of cycles on some processors, and there is none on Arm.)
//
// The last 8 levels need less than 8 times 10 rounds of AES. What counts of a result is one bit, and the inputs of an
// address differ in their fourth byte only:
//
//   rounds 9, 10  the bit depends on one column of the state after round 9, and so on 4 bytes after round 8: those that
//                 ShiftRows brings to that column, a diagonal. Turned by j columns, a state has them on the diagonal j;
//                 AES does the same to a turned state if its round keys are turned as well. So four levels are turned
//                 by 0 .. 3, and their diagonals fit into one block, on which the last two rounds are done.
//   rounds 1, 2   round 1 takes the fourth byte to one column, which depends on nothing else but pads; round 2 maps
//                 each byte by itself, and XORs. So after two rounds the states of a level and of level 24 differ by
//                 what only the level and the bits of the fourth byte decide: `two_rounds`, one for each of the 255
//                 nodes of levels 24-31, numbered as in a heap. Where a vector holds several addresses, looking these
//                 up costs more than it saves.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace trama {

static_assert(std::endian::native == std::endian::little, "trie blocks are written as bytes and read as words");

inline constexpr size_t kAesBlock = 16;   // bytes
inline constexpr size_t kAesRounds = 10;  // of AES-128
inline constexpr size_t kPrefixes16 = 65536;
inline constexpr size_t kAddressesAtOnce = 4;  // their blocks fill a vector of 64 bytes
inline constexpr size_t kLastLevels = 8;       // that are computed for each address
inline constexpr size_t kTurns = 4;            // columns of a block, and ways to turn it

struct alignas(32) TrieBlock {
  uint8_t subtree[8];
  uint64_t level_6;
  uint64_t level_7[2];
};
static_assert(sizeof(TrieBlock) == 32, "two blocks a cache line");

struct CryptoPanTables {
  TrieBlock trie[kPrefixes16];
  uint32_t top[kPrefixes16];  // bits 0-15: levels 0-15 of the address, first level highest; bits 16-27: as above

  alignas(64) uint8_t round_key[kAesRounds + 1][kAesBlock];
  alignas(64) uint8_t pad[kAesBlock];

  // AES input of level i, first round key applied = (address AND level_mask[i]) XOR level_pad[i].
  alignas(64) uint8_t level_mask[32][kAesBlock];
  alignas(64) uint8_t level_pad[32][kAesBlock];

  // For the last 8 levels, level 24 + k turned by k mod 4 columns, as above.
  alignas(64) uint8_t turned_key[kAesRounds + 1][kTurns][kAesBlock];
  alignas(64) uint8_t packed_key[2][kAesBlock];  // of rounds 9 and 10: the first column in each column
  alignas(64) uint8_t turned_mask[kLastLevels][kAesBlock];
  alignas(64) uint8_t turned_pad[kLastLevels][kAesBlock];
  alignas(64) uint8_t two_rounds[256][kAesBlock];  // of each node; node 0 is none

  // AES inputs for the 256 bits of a trie block, first round key applied, for prefix 0: the prefix is XORed into the
  // first word. Ordered as they are encrypted: input [32 g + 4 k + j] gives bit 32 g + 8 j + 7 - k of the block.
  alignas(64) uint8_t node_input[256][kAesBlock];
};

// `key` as CryptoPan's constructor takes it. Writes all of `tables`.
void make_tables(std::span<const uint8_t, 32> key, CryptoPanTables& tables);

// By the definition, 32 AES blocks.
uint32_t anonymize_one(const CryptoPanTables& tables, uint32_t address);

// The node that bit 0 .. 255 of a block stands for. Bit 0 stands for none, and is never read: the answer is as good as
// any.
constexpr uint32_t node_of_block_bit(uint32_t bit) {
  if (bit >= 64) return bit;
  const uint32_t i = bit / 8, k = bit % 8;
  if (k == 0) return i == 0 ? 1 : i;
  const auto level = static_cast<uint32_t>(std::bit_width(k)) - 1;
  return (8 | i) << level | (k - (uint32_t{1} << level));
}

// The three bits along the path through a subtree, by its byte and the two bits of the address that choose the path.
constexpr std::array<std::array<uint8_t, 4>, 256> make_subtree_paths() {
  std::array<std::array<uint8_t, 4>, 256> paths{};
  for (uint32_t subtree = 0; subtree < 256; ++subtree) {
    for (uint32_t turns = 0; turns < 4; ++turns) {
      const uint32_t root = subtree >> 1 & 1, child = subtree >> (2 | turns >> 1) & 1,
                     leaf = subtree >> (4 | turns) & 1;
      paths[subtree][turns] = static_cast<uint8_t>(root << 2 | child << 1 | leaf);
    }
  }
  return paths;
}
inline constexpr auto kSubtreePaths = make_subtree_paths();

// Puts address j of four, big-endian, into the first word of block j, and zeros into the rest (for
// TableLookupBytesOr0).
alignas(64) inline constexpr uint8_t kSpreadAddresses[4][kAesBlock] = {
    {3, 2, 1, 0, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128},
    {7, 6, 5, 4, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128},
    {11, 10, 9, 8, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128},
    {15, 14, 13, 12, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128},
};

// The bytes that ShiftRows brings to column c: row r of column c + r.
constexpr std::array<std::array<uint8_t, kAesBlock>, kTurns> make_diagonals() {
  std::array<std::array<uint8_t, kAesBlock>, kTurns> diagonals{};
  for (size_t c = 0; c < kTurns; ++c)
    for (size_t row = 0; row < 4; ++row) diagonals[c][(c + row) % 4 * 4 + row] = 255;
  return diagonals;
}
alignas(64) inline constexpr auto kDiagonals = make_diagonals();

}  // namespace trama
