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

constexpr size_t kLookahead = 32;  // addresses between prefetch and use; any distance from 16 to 128 does

// Only AVX3_DL has AES on wide vectors. Elsewhere Highway would take them apart and join them again at every round.
#if HWY_TARGET == HWY_AVX3_DL
using Blocks = hn::FixedTag<uint8_t, kAddressesAtOnce * kAesBlock>;
#else
using Blocks = hn::FixedTag<uint8_t, kAesBlock>;
#endif
using BlockWords = hn::RepartitionToWide<hn::RepartitionToWide<Blocks>>;
using BlockHalves = hn::RepartitionToWide<BlockWords>;
using Block = hn::Vec<Blocks>;
constexpr size_t kBlocksPerVector = hn::MaxLanes(Blocks()) / kAesBlock;
constexpr size_t kVectors = kAddressesAtOnce / kBlocksPerVector;  // that are computed at once

// A block with its columns moved up by 0 .. 3.
HWY_INLINE void turn(Block block, Block* turned) {
  const Blocks bytes;
  const auto words = hn::BitCast(BlockWords(), block);
  turned[0] = block;
  turned[1] = hn::BitCast(bytes, hn::Shuffle2103(words));
  turned[2] = hn::BitCast(bytes, hn::Shuffle1032(words));
  turned[3] = hn::BitCast(bytes, hn::Shuffle0321(words));
}

// What the states of an address on the last 8 levels are made from, `address` being big-endian in the first word; and
// these states, turned, before round kFirstRound.
#if HWY_TARGET == HWY_AVX3_DL
constexpr size_t kFirstRound = 1;

HWY_INLINE Block base_of(const CryptoPanTables&, Block address) { return address; }

HWY_INLINE void start_levels(const CryptoPanTables& tables, Block base, uint32_t, Block* state) {
  const Blocks bytes;
  Block turned[kTurns];
  turn(base, turned);
  TRAMA_UNROLL_8
  for (size_t k = 0; k < kLastLevels; ++k) {
    const auto mask = hn::LoadDup128(bytes, tables.turned_mask[k]);
    state[k] = hn::Xor(hn::And(turned[k % kTurns], mask), hn::LoadDup128(bytes, tables.turned_pad[k]));
  }
}
#else
constexpr size_t kFirstRound = 3;

HWY_INLINE Block base_of(const CryptoPanTables& tables, Block address) {
  const Blocks bytes;
  auto base = hn::Xor(hn::And(address, hn::Load(bytes, tables.level_mask[24])), hn::Load(bytes, tables.level_pad[24]));
  base = hn::AESRound(base, hn::Load(bytes, tables.turned_key[1][0]));
  return hn::AESRound(base, hn::Load(bytes, tables.turned_key[2][0]));
}

HWY_INLINE void start_levels(const CryptoPanTables& tables, Block base, uint32_t last_byte, Block* state) {
  Block turned[kTurns];
  turn(base, turned);
  state[0] = base;
  TRAMA_UNROLL_8
  for (size_t k = 1; k < kLastLevels; ++k) {
    const uint32_t node = (256 | last_byte) >> (kLastLevels - k);
    state[k] = hn::Xor(turned[k % kTurns], hn::Load(Blocks(), tables.two_rounds[node]));
  }
}
#endif

// The bytes of four turned states that decide on their bits.
HWY_INLINE Block pack(const Block* state) {
  const Blocks bytes;
  auto packed = hn::And(state[0], hn::LoadDup128(bytes, kDiagonals[0].data()));
  TRAMA_UNROLL_8
  for (size_t j = 1; j < kTurns; ++j) packed = hn::OrAnd(packed, state[j], hn::LoadDup128(bytes, kDiagonals[j].data()));
  return packed;
}

// The two last rounds of four packed levels: the bit of each is bit 7 of a word.
HWY_INLINE hn::Vec<BlockWords> last_rounds(const CryptoPanTables& tables, Block packed) {
  const Blocks bytes;
  packed = hn::AESRound(packed, hn::LoadDup128(bytes, tables.packed_key[0]));
  return hn::BitCast(BlockWords(), hn::AESLastRound(packed, hn::LoadDup128(bytes, tables.packed_key[1])));
}

// In the first byte of each block the 8 bits, the first level highest.
HWY_INLINE hn::Vec<BlockWords> join_bits(hn::Vec<BlockWords> first_four, hn::Vec<BlockWords> last_four) {
  const BlockWords words;
  const BlockHalves halves;
  const auto levels_0_3 = hn::And(first_four, hn::Set(words, 0x80));
  const auto levels_4_7 = hn::And(hn::ShiftRight<4>(last_four), hn::Set(words, 0x08));
  // The bits of column c stand at 7 and 3, and belong at 7 - c and 3 - c: one to the right from column to column.
  const auto columns = hn::BitCast(halves, hn::Or(levels_0_3, levels_4_7));
  const auto pairs = hn::BitCast(words, hn::Or(columns, hn::ShiftRight<33>(columns)));
  return hn::Or(pairs, hn::ShiftRight<2>(hn::Shuffle1032(pairs)));
}

// For 4 addresses the bits to XOR on the levels 24 .. 31, in the lowest byte of bits[0], [4], [8], [12]. Each step is
// done for all of them before the next, since the first and the last steps are short of independent blocks.
HWY_INLINE void last_levels(const CryptoPanTables& tables, const uint32_t* addresses, uint32_t* bits) {
  const Blocks bytes;
  const auto four = hn::LoadDup128(bytes, reinterpret_cast<const uint8_t*>(addresses));
  Block base[kVectors], packed[kVectors][2];
  TRAMA_UNROLL_8
  for (size_t v = 0; v < kVectors; ++v) {
    const auto spread = hn::Load(bytes, kSpreadAddresses[v * kBlocksPerVector]);
    base[v] = base_of(tables, hn::TableLookupBytesOr0(four, spread));
  }
  for (size_t v = 0; v < kVectors; ++v) {
    Block state[kLastLevels];
    start_levels(tables, base[v], addresses[v] & 255, state);
    for (size_t r = kFirstRound; r <= kAesRounds - 2; ++r) {
      TRAMA_UNROLL_8
      for (size_t k = 0; k < kLastLevels; ++k)
        state[k] = hn::AESRound(state[k], hn::LoadDup128(bytes, tables.turned_key[r][k % kTurns]));
    }
    packed[v][0] = pack(state);
    packed[v][1] = pack(state + kTurns);
  }
  TRAMA_UNROLL_8
  for (size_t v = 0; v < kVectors; ++v) {
    const auto joined = join_bits(last_rounds(tables, packed[v][0]), last_rounds(tables, packed[v][1]));
    hn::Store(joined, BlockWords(), bits + 4 * kBlocksPerVector * v);
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
  alignas(64) uint32_t bits[4 * kAddressesAtOnce];
  last_levels(tables, in, bits);
  for (size_t j = 0; j < kAddressesAtOnce; ++j) {
    const uint32_t address = in[j], prefix = address >> 16;
    const uint32_t top = tables.top[prefix];
    const uint32_t middle = trie_path(top, tables.trie[prefix], address >> 8 & 255);
    out[j] = address ^ (top << 16 | middle << 8 | (bits[4 * j] & 255));
  }
}

void anonymize(const CryptoPanTables& tables, const uint32_t* in, uint32_t* out, size_t n) {
  size_t i = 0;
  for (; i + kLookahead + kAddressesAtOnce <= n; i += kAddressesAtOnce) {
    for (size_t j = 0; j < kAddressesAtOnce; ++j) {
      const uint32_t prefix = in[i + kLookahead + j] >> 16;
      hwy::Prefetch(&tables.trie[prefix]);
      hwy::Prefetch(&tables.top[prefix]);
    }
    anonymize_four(tables, in + i, out + i);
  }
  for (; i + kAddressesAtOnce <= n; i += kAddressesAtOnce) anonymize_four(tables, in + i, out + i);
  if (i < n) {
    uint32_t rest[kAddressesAtOnce] = {};
    memcpy(rest, in + i, (n - i) * sizeof(uint32_t));
    anonymize_four(tables, rest, rest);
    memcpy(out + i, rest, (n - i) * sizeof(uint32_t));
  }
}

bool has_wide_aes() { return kBlocksPerVector > 1; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace trama
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trama {
namespace {
HWY_EXPORT(anonymize);
HWY_EXPORT(has_wide_aes);
}  // namespace

CryptoPan::CryptoPan(std::span<const uint8_t, 32> key) : memory_(sizeof(CryptoPanTables), true) {
  make_tables(key, *new (memory_.data()) CryptoPanTables);
}

const CryptoPanTables& CryptoPan::tables() const {
  return *std::launder(reinterpret_cast<const CryptoPanTables*>(memory_.data()));
}

void CryptoPan::anonymize(const uint32_t* in, uint32_t* out, size_t n) const noexcept {
  HWY_DYNAMIC_DISPATCH(anonymize)(tables(), in, out, n);
}

bool CryptoPan::has_wide_aes() noexcept { return HWY_DYNAMIC_DISPATCH(has_wide_aes)(); }

uint32_t CryptoPan::anonymize_one(uint32_t address) const noexcept { return trama::anonymize_one(tables(), address); }

}  // namespace trama
#endif
