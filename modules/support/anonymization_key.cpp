#include "modules/support/anonymization_key.hpp"

#include <utility>

#include "modules/support/key_file.hpp"
#include "modules/support/rules.hpp"

namespace trama {

std::shared_ptr<const AnonymizationKey> make_anonymization_key(Key key) {
  const auto shared = std::make_shared<const Key>(std::move(key));
  auto crypto_pan = std::make_shared<const CryptoPan>(shared->bytes());
  return std::make_shared<const AnonymizationKey>(
      AnonymizationKey{{"crypto-pan-aes128", shared->fingerprint(),
                        [shared](std::string_view text) { return shared->hmac_sha256_hex(text); }},
                       std::move(crypto_pan)});
}

void KeyRotation::allow(std::shared_ptr<RulesInForce> rules) {
  const std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
}

Expected<std::string> KeyRotation::rotate(const std::optional<std::string>& file) {
  const std::lock_guard lock(mutex_);
  if (!rules_) return failure("there is no key to rotate: this graph doesn't anonymize", "");
  auto key = file ? Key::load(*file) : Key::random();
  if (!key) return tl::unexpected(std::move(key.error()));
  std::string fingerprint = key->fingerprint();
  auto next = make_anonymization_key(std::move(*key));
  if (auto changed = rules_->change([&](Rules& rules) { rules.key = std::move(next); }); !changed)
    return tl::unexpected(std::move(changed.error()));
  return fingerprint;
}

}  // namespace trama
