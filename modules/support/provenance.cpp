#include "modules/support/provenance.hpp"

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

ExclusionLists::ExclusionLists() {
  owners_[0] = std::make_shared<const PrivacyRanges>();
  lists_[0].store(owners_[0].get(), std::memory_order_release);
  canonical_.emplace_back();
}

Expected<uint32_t> ExclusionLists::publish(std::shared_ptr<const PrivacyRanges> ranges) {
  const std::lock_guard lock(mutex_);
  const uint32_t id = current_.load(std::memory_order_relaxed) + 1;
  if (id - passed_.load(std::memory_order_acquire) >= kKept)
    return failure("the exclusion list has changed " + std::to_string(kKept) + " times within a few packets",
                   "change it again in a moment");
  canonical_.push_back(ranges->canonical());
  lists_[id % kKept].store(ranges.get(), std::memory_order_release);
  owners_[id % kKept] = std::move(ranges);
  current_.store(id, std::memory_order_release);
  return id;
}

std::string ExclusionLists::digest(uint32_t id, const KeyIdentity& key) const {
  std::string canonical;
  {
    const std::lock_guard lock(mutex_);
    canonical = canonical_.at(id);
  }
  if (canonical.empty()) return "none";
  return key.hmac ? key.hmac(canonical).substr(0, 16) : "unkeyed";
}

}  // namespace trama
