// Keys that addresses are anonymized under, and how the next one is put in force while running.
//
// A window holds on to its key until the manifest is written; when the last one that does is gone, so is the key.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "engine/diagnostic.hpp"
#include "modules/support/crypto_pan.hpp"

namespace trama {

class Key;
class RulesInForce;

// What others may know of a key.
struct KeyIdentity {
  std::string anonymization;                          // "crypto-pan-aes128" or "none"
  std::string fingerprint;                            // empty without a key
  std::function<std::string(std::string_view)> hmac;  // hexadecimal; empty without a key
};

// What a window's addresses are replaced by.
struct AnonymizationKey {
  KeyIdentity identity;                         // its hmac holds the key itself
  std::shared_ptr<const CryptoPan> crypto_pan;  // null: addresses stay as they are, as asked for
};

// Tables and identity of a key. Takes as long as CryptoPan's constructor.
std::shared_ptr<const AnonymizationKey> make_anonymization_key(Key key);

// Thread-safe. Made usable by the stage that anonymizes.
class KeyRotation {
 public:
  void allow(std::shared_ptr<RulesInForce> rules);

  // Puts another key in force, from a file or, without one, a key that is used and forgotten; the window being filled
  // is the last one under the old key. Gives the new key's fingerprint. Refused: a key file that can't be used, a graph
  // that doesn't anonymize.
  Expected<std::string> rotate(const std::optional<std::string>& file);

 private:
  std::mutex mutex_;
  std::shared_ptr<RulesInForce> rules_;  // null: not allowed
};

}  // namespace trama
