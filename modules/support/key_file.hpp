// The key of an anonymization, and the file it lives in.
//
// A key file holds 64 hexadecimal digits, of either case, and an optional newline: the 16 bytes of an AES-128 key, then
// the 16 of the pad, as in the original Crypto-PAn. Nothing is guessed: raw bytes, other lengths, carriage returns,
// spaces and second lines are refused, for a key read differently from how it was meant gives results that match
// nobody's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/diagnostic.hpp"
#include "modules/support/secret_memory.hpp"

namespace trama {

// 32 secret bytes, left out of core dumps and wiped in the end. Moves, but doesn't copy; a key that was moved from can
// only be destroyed or assigned to.
class Key {
 public:
  static constexpr size_t kBytes = 32;

  // Reads a key file. The file, or what a symbolic link leads to, must be a regular file, or a pipe as the shell makes
  // it for --key <(pass show site), which is read to its end. It must be closed to group and others, and belong to the
  // user, to root, or to whoever called sudo. No error tells anything of the contents but their number and kind.
  static Expected<Key> load(const std::string& path);

  // From the kernel's random numbers.
  static Expected<Key> random();

  // Exactly 32 bytes, AES key first.
  explicit Key(std::span<const uint8_t, kBytes> bytes);

  std::span<const uint8_t, kBytes> bytes() const { return std::span<const uint8_t, kBytes>(memory_.data(), kBytes); }

  // Makes a new file of mode 0600; never over a file or through a link. It is on the disk when this returns, or not
  // there at all.
  Expected<void> save_new(const std::string& path) const;

  // The first 16 hexadecimal digits of the SHA-256 of the text "trama-key/1" and the 32 bytes: tells keys apart, and
  // tells nothing else. Throws std::runtime_error if OpenSSL can't do SHA-256.
  std::string fingerprint() const;

  // HMAC-SHA256 (RFC 2104) of `text` under the 32 bytes, as 64 hexadecimal digits. Throws as fingerprint() does.
  std::string hmac_sha256_hex(std::string_view text) const;

 private:
  Key();
  SecretMemory memory_;
};

}  // namespace trama
