#include "modules/support/crypto_pan.hpp"

#include <cstring>
#include <new>

#include "modules/support/crypto_pan_tables.hpp"

// Highway compiles what stands between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once for each instruction set, by
// including this file again and again.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "modules/support/crypto_pan.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
//
#include <hwy/cache_control.h>
#include <hwy/highway.h>

// GCC keeps an array of vectors in registers only if the loops over it are unrolled, which -O2 alone doesn't do.
#define TRAMA_UNROLL_8 _Pragma("GCC unroll 8")

HWY_BEFORE_NAMESPACE();
namespace trama {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kLevels = 8;      // that are computed at once: enough independent AES blocks to fill the pipeline
constexpr size_t kAddresses = 4;   // that are computed at once: their blocks fill a vector of 64 bytes
constexpr size_t kLookahead = 32;  // addresses between prefetch and use; any distance from 16 to 128 does

using OneBlock = hn::FixedTag<uint8_t, kAesBlock>;

// Only AVX3_DL has AES on wide vectors. Elsewhere Highway would take them apart and join them again at every round.
#if HWY_TARGET == HWY_AVX3_DL
using Blocks = hn::FixedTag<uint8_t, kAddresses * kAesBlock>;
#else
using Blocks = OneBlock;
#endif
using BlockWords = hn::RepartitionToWide<hn::RepartitionToWide<Blocks>>;
constexpr size_t kBlocksPerVector = hn::MaxLanes(Blocks()) / kAesBlock;

hn::Vec<OneBlock> encrypt(const CryptoPanTables& tables, hn::Vec<OneBlock> block) {
  const OneBlock bytes;
  block = hn::Xor(block, hn::Load(bytes, tables.round_key[0]));
  for (size_t r = 1; r < kAesRounds; ++r) block = hn::AESRound(block, hn::Load(bytes, tables.round_key[r]));
  return hn::AESLastRound(block, hn::Load(bytes, tables.round_key[kAesRounds]));
}

// SubWord of FIPS 197. The last round does it to a block of four equal columns, which ShiftRows leaves as it is.
uint32_t substitute_word(uint32_t word) {
  const OneBlock bytes;
  const hn::RepartitionToWide<hn::RepartitionToWide<OneBlock>> words;
  return hn::GetLane(hn::BitCast(words, hn::AESLastRound(hn::BitCast(bytes, hn::Set(words, word)), hn::Zero(bytes))));
}

// KeyExpansion of FIPS 197 for AES-128, with words as a little-endian machine loads them.
void expand_key(const uint8_t* key, CryptoPanTables& tables) {
  constexpr size_t kKeyWords = 4;
  constexpr size_t kWords = kKeyWords * (kAesRounds + 1);
  auto* words = reinterpret_cast<uint32_t*>(tables.round_key);
  memcpy(words, key, kAesBlock);
  uint32_t round_constant = 1;
  for (size_t i = kKeyWords; i < kWords; ++i) {
    uint32_t word = words[i - 1];
    if (i % kKeyWords == 0) {
      word = substitute_word(word >> 8 | word << 24) ^ round_constant;
      round_constant = round_constant << 1 ^ (round_constant & 0x80 ? 0x11B : 0);
    }
    words[i] = words[i - kKeyWords] ^ word;
  }
}

// Encrypts 8 vectors of blocks whose first round key is already applied. Returns in each block's first word, at bits
// 8-15, the first bits of its 8 results, vector 0 highest; the other words mean nothing.
HWY_INLINE hn::Vec<BlockWords> first_bits(const CryptoPanTables& tables, hn::Vec<Blocks>* state) {
  const Blocks bytes;
  const BlockWords words;
  for (size_t r = 1; r < kAesRounds; ++r) {
    const auto round_key = hn::LoadDup128(bytes, tables.round_key[r]);
    TRAMA_UNROLL_8
    for (size_t k = 0; k < kLevels; ++k) state[k] = hn::AESRound(state[k], round_key);
  }
  const auto last_key = hn::LoadDup128(bytes, tables.round_key[kAesRounds]);
  const auto first_bit = hn::Set(words, 0x80);
  auto bits = hn::Zero(words);
  TRAMA_UNROLL_8
  for (size_t k = 0; k < kLevels; ++k) {
    bits = hn::OrAnd(hn::Add(bits, bits), hn::BitCast(words, hn::AESLastRound(state[k], last_key)), first_bit);
  }
  return hn::Add(bits, bits);  // from bits 7-14 to 8-15: a byte that can be loaded by itself
}

HWY_INLINE uint32_t result_byte(const uint32_t* bits, size_t block) {
  return reinterpret_cast<const uint8_t*>(bits)[kAesBlock * block + 1];
}

// For 4 addresses the bits to XOR on the levels level .. level + 7: result_byte(bits, 0 .. 3).
HWY_INLINE void eight_levels(const CryptoPanTables& tables, const uint32_t* addresses, size_t level, uint32_t* bits) {
  const Blocks bytes;
  const auto four = hn::LoadDup128(bytes, reinterpret_cast<const uint8_t*>(addresses));
  for (size_t j = 0; j < kAddresses; j += kBlocksPerVector) {
    const auto address = hn::TableLookupBytesOr0(four, hn::Load(bytes, kSpreadAddresses[j]));
    hn::Vec<Blocks> state[kLevels];
    TRAMA_UNROLL_8
    for (size_t k = 0; k < kLevels; ++k) {
      state[k] = hn::Xor(hn::And(address, hn::LoadDup128(bytes, tables.level_mask[level + k])),
                         hn::LoadDup128(bytes, tables.level_pad[level + k]));
    }
    hn::Store(first_bits(tables, state), BlockWords(), bits + 4 * j);
  }
}

// The 8 bits along the path of byte b, see crypto_pan_tables.hpp.
HWY_INLINE uint32_t trie_path(uint32_t top, const TrieBlock& block, uint32_t b) {
  const uint32_t levels_0_2 = top >> (16 + 3 * (b >> 6)) & 7;
  const uint32_t levels_3_5 = kSubtreePaths[block.subtree[b >> 5]][b >> 3 & 3];
  const auto level_6 = static_cast<uint32_t>(block.level_6 >> (b >> 2) & 1);
  const auto level_7 = static_cast<uint32_t>(block.level_7[b >> 7] >> (b >> 1 & 63) & 1);
  return levels_0_2 << 5 | levels_3_5 << 2 | level_6 << 1 | level_7;
}

HWY_INLINE void anonymize_four(const CryptoPanTables& tables, const uint32_t* in, uint32_t* out) {
  alignas(64) uint32_t bits[4 * kAddresses];
  eight_levels(tables, in, 24, bits);
  for (size_t j = 0; j < kAddresses; ++j) {
    const uint32_t address = in[j], prefix = address >> 16;
    const uint32_t top = tables.top[prefix];
    const uint32_t middle = trie_path(top, tables.trie[prefix], address >> 8 & 255);
    out[j] = address ^ (top << 16 | middle << 8 | result_byte(bits, j));
  }
}

void anonymize(const CryptoPanTables& tables, const uint32_t* in, uint32_t* out, size_t n) {
  size_t i = 0;
  for (; i + kLookahead + kAddresses <= n; i += kAddresses) {
    for (size_t j = 0; j < kAddresses; ++j) {
      const uint32_t prefix = in[i + kLookahead + j] >> 16;
      hwy::Prefetch(&tables.trie[prefix]);
      hwy::Prefetch(&tables.top[prefix]);
    }
    anonymize_four(tables, in + i, out + i);
  }
  for (; i + kAddresses <= n; i += kAddresses) anonymize_four(tables, in + i, out + i);
  if (i < n) {
    uint32_t rest[kAddresses] = {};
    memcpy(rest, in + i, (n - i) * sizeof(uint32_t));
    anonymize_four(tables, rest, rest);
    memcpy(out + i, rest, (n - i) * sizeof(uint32_t));
  }
}

bool has_wide_aes() { return kBlocksPerVector > 1; }

uint32_t anonymize_one(const CryptoPanTables& tables, uint32_t address) {
  const OneBlock bytes;
  uint32_t result = 0;
  for (size_t level = 0; level < 32; ++level) {
    uint8_t block[kAesBlock];
    for (size_t i = 0; i < kAesBlock; ++i) {
      const uint32_t from_address = i < 4 ? address >> (24 - 8 * i) & 255 : 0;
      const uint32_t mask = tables.level_mask[level][i];
      block[i] = static_cast<uint8_t>((from_address & mask) | (tables.pad[i] & ~mask & 255));
    }
    hn::StoreU(encrypt(tables, hn::LoadU(bytes, block)), bytes, block);
    result = result << 1 | block[0] >> 7;
  }
  return address ^ result;
}

// ---- Making the tables

uint32_t prefix_mask(size_t length) { return length == 0 ? 0 : ~uint32_t{0} << (32 - length); }

void store_big_endian(uint32_t word, uint8_t* to) {
  for (size_t i = 0; i < 4; ++i) to[i] = static_cast<uint8_t>(word >> (24 - 8 * i));
}

uint32_t load_big_endian(const uint8_t* from) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) word = word << 8 | from[i];
  return word;
}

// The AES input for a prefix: its bits, then the pad's; first round key applied.
void make_input(const CryptoPanTables& tables, uint32_t prefix, size_t length, uint8_t* input) {
  const uint32_t mask = prefix_mask(length);
  memcpy(input, tables.pad, kAesBlock);
  store_big_endian((prefix & mask) | (load_big_endian(tables.pad) & ~mask), input);
  for (size_t i = 0; i < kAesBlock; ++i) input[i] ^= tables.round_key[0][i];
}

void make_inputs(CryptoPanTables& tables) {
  for (size_t level = 0; level < 32; ++level) {
    store_big_endian(prefix_mask(level), tables.level_mask[level]);
    make_input(tables, 0, level, tables.level_pad[level]);
  }
  for (uint32_t input = 0; input < 256; ++input) {
    const uint32_t group = input / 32, k = input / 4 % 8, j = input % 4;
    const uint32_t node = node_of_block_bit(32 * group + 8 * j + 7 - k);
    const auto level = static_cast<uint32_t>(std::bit_width(node)) - 1;
    const uint32_t path = node - (uint32_t{1} << level);
    make_input(tables, path << (16 - level), 16 + level, tables.node_input[input]);
  }
}

void fill_top(CryptoPanTables& tables, uint32_t first_prefix) {
  alignas(64) uint32_t bits[2][4 * kAddresses];
  uint32_t addresses[kAddresses];
  for (uint32_t j = 0; j < kAddresses; ++j) addresses[j] = (first_prefix + j) << 16;
  eight_levels(tables, addresses, 0, bits[0]);
  eight_levels(tables, addresses, 8, bits[1]);
  for (size_t j = 0; j < kAddresses; ++j) {
    tables.top[first_prefix + j] = result_byte(bits[0], j) << 8 | result_byte(bits[1], j);
  }
}

void fill_trie_block(CryptoPanTables& tables, uint32_t prefix) {
  const Blocks bytes;
  const BlockWords words;
  alignas(64) uint8_t prefix_word[4 * kAesBlock] = {};
  for (size_t j = 0; j < 4; ++j) store_big_endian(prefix << 16, prefix_word + kAesBlock * j);
  const auto prefix_blocks = hn::Load(bytes, prefix_word);
  alignas(64) uint32_t bits[4 * kAddresses];
  uint8_t block[32];
  for (size_t group = 0; group < 8; ++group) {
    for (size_t j = 0; j < 4; j += kBlocksPerVector) {
      hn::Vec<Blocks> state[kLevels];
      TRAMA_UNROLL_8
      for (size_t k = 0; k < kLevels; ++k) {
        state[k] = hn::Xor(hn::Load(bytes, tables.node_input[32 * group + 4 * k + j]), prefix_blocks);
      }
      hn::Store(first_bits(tables, state), words, bits + 4 * j);
    }
    for (size_t j = 0; j < 4; ++j) block[4 * group + j] = static_cast<uint8_t>(result_byte(bits, j));
  }
  memcpy(&tables.trie[prefix], block, sizeof block);
}

// Levels 16-18 of a /16 once more, in the word that is loaded anyway.
void copy_first_levels(CryptoPanTables& tables, uint32_t prefix) {
  const uint8_t* node = tables.trie[prefix].subtree;  // bit 0 of byte h is node h
  for (uint32_t turns = 0; turns < 4; ++turns) {
    const uint32_t root = node[1] & 1, child = node[2 | turns >> 1] & 1, leaf = node[4 | turns] & 1;
    tables.top[prefix] |= (root << 2 | child << 1 | leaf) << (16 + 3 * turns);
  }
}

void make_tables(const uint8_t* key, CryptoPanTables& tables) {
  const OneBlock bytes;
  expand_key(key, tables);
  hn::Store(encrypt(tables, hn::LoadU(bytes, key + kAesBlock)), bytes, tables.pad);
  make_inputs(tables);
  for (uint32_t prefix = 0; prefix < kPrefixes16; prefix += kAddresses) fill_top(tables, prefix);
  for (uint32_t prefix = 0; prefix < kPrefixes16; ++prefix) {
    fill_trie_block(tables, prefix);
    copy_first_levels(tables, prefix);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace trama
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trama {
namespace {
HWY_EXPORT(make_tables);
HWY_EXPORT(anonymize);
HWY_EXPORT(anonymize_one);
HWY_EXPORT(has_wide_aes);
}  // namespace

CryptoPan::CryptoPan(std::span<const uint8_t, 32> key) : memory_(sizeof(CryptoPanTables), true) {
  HWY_DYNAMIC_DISPATCH(make_tables)(key.data(), *new (memory_.data()) CryptoPanTables);
}

const CryptoPanTables& CryptoPan::tables() const {
  return *std::launder(reinterpret_cast<const CryptoPanTables*>(memory_.data()));
}

void CryptoPan::anonymize(const uint32_t* in, uint32_t* out, size_t n) const noexcept {
  HWY_DYNAMIC_DISPATCH(anonymize)(tables(), in, out, n);
}

bool CryptoPan::has_wide_aes() noexcept { return HWY_DYNAMIC_DISPATCH(has_wide_aes)(); }

uint32_t CryptoPan::anonymize_one(uint32_t address) const noexcept {
  return HWY_DYNAMIC_DISPATCH(anonymize_one)(tables(), address);
}

}  // namespace trama
#endif
