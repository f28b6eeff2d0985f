#include "modules/support/anonymization_key.hpp"

#include <utility>

#include "modules/support/key_file.hpp"
#include "modules/support/rules.hpp"

namespace trama {

uint32_t KeyIdentities::add(KeyIdentity identity) {
  const std::lock_guard lock(mutex_);
  identities_.push_back(std::move(identity));
  return static_cast<uint32_t>(identities_.size() - 1);
}

KeyIdentity KeyIdentities::get(uint32_t id) const {
  const std::lock_guard lock(mutex_);
  return identities_.at(id);
}

std::shared_ptr<const AnonymizationKey> make_anonymization_key(Key key, KeyIdentities& identities) {
  const auto shared = std::make_shared<const Key>(std::move(key));
  auto crypto_pan = std::make_shared<const CryptoPan>(shared->bytes());
  const uint32_t id = identities.add({"crypto-pan-aes128", shared->fingerprint(),
                                      [shared](std::string_view text) { return shared->hmac_sha256_hex(text); }});
  return std::make_shared<const AnonymizationKey>(AnonymizationKey{id, std::move(crypto_pan)});
}

void KeyRotation::allow(std::shared_ptr<KeyIdentities> identities, std::shared_ptr<RulesInForce> rules) {
  const std::lock_guard lock(mutex_);
  identities_ = std::move(identities);
  rules_ = std::move(rules);
}

Expected<std::string> KeyRotation::rotate(const std::optional<std::string>& file) {
  const std::lock_guard lock(mutex_);
  if (!identities_) return failure("there is no key to rotate: this graph doesn't anonymize", "");
  auto key = file ? Key::load(*file) : Key::random();
  if (!key) return tl::unexpected(std::move(key.error()));
  std::string fingerprint = key->fingerprint();
  auto next = make_anonymization_key(std::move(*key), *identities_);
  if (auto changed = rules_->change([&](Rules& rules) { rules.key = std::move(next); }); !changed)
    return tl::unexpected(std::move(changed.error()));
  return fingerprint;
}

}  // namespace trama
