// Crypto-PAn by its definition, done with OpenSSL a packet at a time: 32 blocks for each of two addresses, and one call
// that encrypts them. The baseline for anonymizing in `trama bench` and in tests/bench.
#pragma once
#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace trama {

class OpenSslCryptoPan {
 public:
  explicit OpenSslCryptoPan(std::span<const uint8_t, 32> key);  // as CryptoPan has it

  // Replaces both addresses by their images. 1.2.3.4 is 0x01020304.
  void anonymize(uint32_t& source, uint32_t& destination);
  // The blocks of one packet, whatever stands there: no way through OpenSSL is faster than this.
  void encrypt();

 private:
  static constexpr size_t kBlock = 16, kBlocks = 64;

  void fill(uint32_t address, uint8_t* blocks) const;
  static uint32_t first_bits(const uint8_t* blocks);

  std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context_;
  std::array<uint8_t, kBlocks * kBlock> input_{}, output_{};
  uint32_t pad_ = 0;
};

}  // namespace trama
