#include "modules/support/crypto_pan_tables.hpp"

#include <cstring>

// Highway compiles what stands between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once for each instruction set, by
// including this file again and again.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "modules/support/crypto_pan_tables.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
//
#include <hwy/highway.h>

// As in crypto_pan.cpp.
#define TRAMA_UNROLL_8 _Pragma("GCC unroll 8")

HWY_BEFORE_NAMESPACE();
namespace trama {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kVectors = 8;  // of blocks at once: enough independent ones to fill the pipeline

using OneBlock = hn::FixedTag<uint8_t, kAesBlock>;

// As in crypto_pan.cpp: only AVX3_DL has AES on wide vectors.
#if HWY_TARGET == HWY_AVX3_DL
using Blocks = hn::FixedTag<uint8_t, kAddressesAtOnce * kAesBlock>;
#else
using Blocks = OneBlock;
#endif
using BlockWords = hn::RepartitionToWide<hn::RepartitionToWide<Blocks>>;
constexpr size_t kBlocksPerVector = hn::MaxLanes(Blocks()) / kAesBlock;

hn::Vec<OneBlock> load(const uint8_t* block) { return hn::LoadU(OneBlock(), block); }

hn::Vec<OneBlock> encrypt(const CryptoPanTables& tables, hn::Vec<OneBlock> block) {
  block = hn::Xor(block, load(tables.round_key[0]));
  for (size_t r = 1; r < kAesRounds; ++r) block = hn::AESRound(block, load(tables.round_key[r]));
  return hn::AESLastRound(block, load(tables.round_key[kAesRounds]));
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
// 0-7, the first bits of its 8 results, vector 0 highest; the other words and bits mean nothing.
HWY_INLINE hn::Vec<BlockWords> first_bits(const CryptoPanTables& tables, hn::Vec<Blocks>* state) {
  const Blocks bytes;
  const BlockWords words;
  for (size_t r = 1; r < kAesRounds; ++r) {
    const auto round_key = hn::LoadDup128(bytes, tables.round_key[r]);
    TRAMA_UNROLL_8
    for (size_t k = 0; k < kVectors; ++k) state[k] = hn::AESRound(state[k], round_key);
  }
  const auto last_key = hn::LoadDup128(bytes, tables.round_key[kAesRounds]);
  const auto first_bit = hn::Set(words, 0x80);
  auto bits = hn::Zero(words);
  TRAMA_UNROLL_8
  for (size_t k = 0; k < kVectors; ++k) {
    bits = hn::OrAnd(hn::Add(bits, bits), hn::BitCast(words, hn::AESLastRound(state[k], last_key)), first_bit);
  }
  return hn::ShiftRight<7>(bits);
}

HWY_INLINE uint32_t result_byte(const uint32_t* bits, size_t block) { return bits[4 * block] & 255; }

// For 4 addresses the bits to XOR on the levels level .. level + 7: result_byte(bits, 0 .. 3).
void eight_levels(const CryptoPanTables& tables, const uint32_t* addresses, size_t level, uint32_t* bits) {
  const Blocks bytes;
  const auto four = hn::LoadDup128(bytes, reinterpret_cast<const uint8_t*>(addresses));
  for (size_t j = 0; j < kAddressesAtOnce; j += kBlocksPerVector) {
    const auto address = hn::TableLookupBytesOr0(four, hn::Load(bytes, kSpreadAddresses[j]));
    hn::Vec<Blocks> state[kVectors];
    TRAMA_UNROLL_8
    for (size_t k = 0; k < kVectors; ++k) {
      state[k] = hn::Xor(hn::And(address, hn::LoadDup128(bytes, tables.level_mask[level + k])),
                         hn::LoadDup128(bytes, tables.level_pad[level + k]));
    }
    hn::Store(first_bits(tables, state), BlockWords(), bits + 4 * j);
  }
}

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

// The block with its columns moved up by `turn`, 0 .. 3.
void turn_block(const uint8_t* block, size_t turn, uint8_t* turned) {
  for (size_t i = 0; i < kAesBlock; ++i) turned[(i + 4 * turn) % kAesBlock] = block[i];
}

void make_last_levels(CryptoPanTables& tables) {
  const OneBlock bytes;
  for (size_t r = 0; r <= kAesRounds; ++r)
    for (size_t turn = 0; turn < kTurns; ++turn) turn_block(tables.round_key[r], turn, tables.turned_key[r][turn]);
  for (size_t column = 0; column < 4; ++column) {
    memcpy(tables.packed_key[0] + 4 * column, tables.round_key[kAesRounds - 1], 4);
    memcpy(tables.packed_key[1] + 4 * column, tables.round_key[kAesRounds], 4);
  }
  for (size_t k = 0; k < kLastLevels; ++k) {
    turn_block(tables.level_mask[24 + k], k % kTurns, tables.turned_mask[k]);
    turn_block(tables.level_pad[24 + k], k % kTurns, tables.turned_pad[k]);
  }
  const auto two_rounds = [&](uint32_t node, size_t level) {
    uint8_t input[kAesBlock];
    make_input(tables, (node - (uint32_t{1} << level)) << (kLastLevels - level), 24 + level, input);
    return hn::AESRound(hn::AESRound(load(input), load(tables.round_key[1])), load(tables.round_key[2]));
  };
  const auto first = two_rounds(1, 0);
  for (uint32_t node = 1; node < 256; ++node) {
    const auto level = static_cast<size_t>(std::bit_width(node)) - 1;
    uint8_t difference[kAesBlock];
    hn::StoreU(hn::Xor(two_rounds(node, level), first), bytes, difference);
    turn_block(difference, level % kTurns, tables.two_rounds[node]);
  }
}

void fill_top(CryptoPanTables& tables, uint32_t first_prefix) {
  alignas(64) uint32_t bits[2][4 * kAddressesAtOnce];
  alignas(16) uint32_t addresses[kAddressesAtOnce];
  for (uint32_t j = 0; j < kAddressesAtOnce; ++j) addresses[j] = (first_prefix + j) << 16;
  eight_levels(tables, addresses, 0, bits[0]);
  eight_levels(tables, addresses, 8, bits[1]);
  for (size_t j = 0; j < kAddressesAtOnce; ++j) {
    tables.top[first_prefix + j] = result_byte(bits[0], j) << 8 | result_byte(bits[1], j);
  }
}

void fill_trie_block(CryptoPanTables& tables, uint32_t prefix) {
  const Blocks bytes;
  const BlockWords words;
  alignas(64) uint8_t prefix_word[4 * kAesBlock] = {};
  for (size_t j = 0; j < 4; ++j) store_big_endian(prefix << 16, prefix_word + kAesBlock * j);
  const auto prefix_blocks = hn::Load(bytes, prefix_word);
  alignas(64) uint32_t bits[4 * kAddressesAtOnce];
  uint8_t block[32];
  for (size_t group = 0; group < 8; ++group) {
    for (size_t j = 0; j < 4; j += kBlocksPerVector) {
      hn::Vec<Blocks> state[kVectors];
      TRAMA_UNROLL_8
      for (size_t k = 0; k < kVectors; ++k) {
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
  hn::Store(encrypt(tables, load(key + kAesBlock)), bytes, tables.pad);
  make_inputs(tables);
  make_last_levels(tables);
  for (uint32_t prefix = 0; prefix < kPrefixes16; prefix += kAddressesAtOnce) fill_top(tables, prefix);
  for (uint32_t prefix = 0; prefix < kPrefixes16; ++prefix) {
    fill_trie_block(tables, prefix);
    copy_first_levels(tables, prefix);
  }
}

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
    hn::StoreU(encrypt(tables, load(block)), bytes, block);
    result = result << 1 | block[0] >> 7;
  }
  return address ^ result;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace trama
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trama {
namespace {
HWY_EXPORT(make_tables);
HWY_EXPORT(anonymize_one);
}  // namespace

void make_tables(std::span<const uint8_t, 32> key, CryptoPanTables& tables) {
  HWY_DYNAMIC_DISPATCH(make_tables)(key.data(), tables);
}

uint32_t anonymize_one(const CryptoPanTables& tables, uint32_t address) {
  return HWY_DYNAMIC_DISPATCH(anonymize_one)(tables, address);
}

}  // namespace trama
#endif
