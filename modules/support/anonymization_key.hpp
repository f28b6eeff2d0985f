// Keys that addresses are anonymized under, and how the next one is put in force while running.
//
// A window carries a small number for its key; what others may know of that key is looked up here when the manifest is
// written.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/diagnostic.hpp"
#include "modules/support/crypto_pan.hpp"

namespace trama {

class Key;
class RulesInForce;

// What others may know of a key. The key itself stays with whoever uses it.
struct KeyIdentity {
  std::string anonymization;                          // "crypto-pan-aes128" or "none"
  std::string fingerprint;                            // empty without a key
  std::function<std::string(std::string_view)> hmac;  // hexadecimal; empty without a key
};

// Thread-safe; written at setup and when a key changes.
class KeyIdentities {
 public:
  uint32_t add(KeyIdentity identity);
  KeyIdentity get(uint32_t id) const;

 private:
  mutable std::mutex mutex_;
  std::vector<KeyIdentity> identities_;
};

// What a window's addresses are replaced by.
struct AnonymizationKey {
  uint32_t id = 0;                              // in KeyIdentities
  std::shared_ptr<const CryptoPan> crypto_pan;  // null: addresses stay as they are, as asked for
};

// Tables and identity of a key. Takes as long as CryptoPan's constructor.
std::shared_ptr<const AnonymizationKey> make_anonymization_key(Key key, KeyIdentities& identities);

// Thread-safe. Made usable by the stage that anonymizes.
class KeyRotation {
 public:
  void allow(std::shared_ptr<KeyIdentities> identities, std::shared_ptr<RulesInForce> rules);

  // Puts another key in force, from a file or, without one, a key that is used and forgotten; the window being filled
  // is the last one under the old key. Gives the new key's fingerprint. Refused: a key file that can't be used, a graph
  // that doesn't anonymize.
  Expected<std::string> rotate(const std::optional<std::string>& file);

 private:
  std::mutex mutex_;
  std::shared_ptr<KeyIdentities> identities_;  // null: not allowed
  std::shared_ptr<RulesInForce> rules_;
};

}  // namespace trama
