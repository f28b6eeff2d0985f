// Crypto-PAn: prefix-preserving anonymization of IPv4 addresses under a key.
//
// Two addresses that share exactly their first n bits are mapped to two that share exactly their first n bits; the
// mapping is a bijection. The function is that of Crypto-PAn 1.0 (Xu, Fan, Ammar, Moon: "Prefix-Preserving IP Address
// Anonymization", ICNP 2002), bit for bit; not that of cryptopANT, which differs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "modules/support/secret_memory.hpp"

namespace trama {

struct CryptoPanTables;

// Never changes once made: all replicas and threads share one. Its tables are as secret as the key; they are left out
// of core dumps and wiped in the end.
class CryptoPan {
 public:
  // `key` as in the original: 16 bytes AES-128 key, 16 bytes that are encrypted under it to make the pad. Takes some 20
  // ms (35 without VAES) and 2.3 MiB. Throws std::bad_alloc.
  explicit CryptoPan(std::span<const uint8_t, 32> key);

  // Addresses are numbers: 1.2.3.4 is 0x01020304. Reads in[0 .. n-1] and writes out[0 .. n-1], nothing else. The arrays
  // may be the same, but must not overlap otherwise. About 7 ns an address with AVX-512 and VAES, 15 without.
  void anonymize(const uint32_t* in, uint32_t* out, size_t n) const noexcept;

  // Whether this processor encrypts several blocks with one instruction (VAES): an address costs a third then.
  static bool has_wide_aes() noexcept;

  // The plain definition, 32 AES blocks: a reference for the above, and for single addresses.
  uint32_t anonymize_one(uint32_t address) const noexcept;

 private:
  const CryptoPanTables& tables() const;
  SecretMemory memory_;
};

}  // namespace trama
