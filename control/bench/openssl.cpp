#include "control/bench/openssl.hpp"

#include <algorithm>
#include <new>

namespace trama {

OpenSslCryptoPan::OpenSslCryptoPan(std::span<const uint8_t, 32> key)
    : context_(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free) {
  if (!context_ || EVP_EncryptInit_ex(context_.get(), EVP_aes_128_ecb(), nullptr, key.data(), nullptr) != 1)
    throw std::bad_alloc();
  EVP_CIPHER_CTX_set_padding(context_.get(), 0);
  std::array<uint8_t, kBlock> pad{};
  int size = 0;
  EVP_EncryptUpdate(context_.get(), pad.data(), &size, key.data() + kBlock, kBlock);
  for (size_t block = 0; block < kBlocks; ++block) std::copy(pad.begin(), pad.end(), &input_[kBlock * block]);
  for (size_t i = 0; i < 4; ++i) pad_ = pad_ << 8 | pad[i];
}

void OpenSslCryptoPan::anonymize(uint32_t& source, uint32_t& destination) {
  constexpr size_t kSecond = kBlocks / 2 * kBlock;
  fill(source, input_.data());
  fill(destination, input_.data() + kSecond);
  encrypt();
  source ^= first_bits(output_.data());
  destination ^= first_bits(output_.data() + kSecond);
}

void OpenSslCryptoPan::encrypt() {
  int size = 0;
  EVP_EncryptUpdate(context_.get(), output_.data(), &size, input_.data(), static_cast<int>(input_.size()));
}

void OpenSslCryptoPan::fill(uint32_t address, uint8_t* blocks) const {
  for (uint32_t level = 0; level < kBlocks / 2; ++level, blocks += kBlock) {
    const uint32_t mask = level == 0 ? 0 : ~uint32_t{0} << (32 - level);
    const uint32_t word = __builtin_bswap32((address & mask) | (pad_ & ~mask));
    std::copy_n(reinterpret_cast<const uint8_t*>(&word), sizeof word, blocks);
  }
}

uint32_t OpenSslCryptoPan::first_bits(const uint8_t* blocks) {
  uint32_t bits = 0;
  for (size_t level = 0; level < kBlocks / 2; ++level) bits = bits << 1 | blocks[kBlock * level] >> 7;
  return bits;
}

}  // namespace trama
