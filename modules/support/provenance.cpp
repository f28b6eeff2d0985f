#include "modules/support/provenance.hpp"

#include <algorithm>
#include <limits>
#include <utility>

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
  owners_[0].ranges = std::make_shared<const PrivacyRanges>();
  lists_[0].store(owners_[0].ranges.get(), std::memory_order_release);
}

ExclusionLists::Reader ExclusionLists::add_reader() {
  const std::lock_guard lock(mutex_);
  return Reader(readers_.emplace_back(0));
}

// Says first that a number is handed out and then looks whether it is still the one in force; free_unneeded() goes the
// other way round, with a number that is not in force any more. Sequentially consistent, so that one of them sees what
// the other has done.
uint32_t ExclusionLists::current() const noexcept {
  uint32_t id = current_.load();
  for (;;) {
    handed_out_[slot_of(id)].store(true);
    const uint32_t now = current_.load();
    if (now == id) return id;
    id = now;
  }
}

void ExclusionLists::free_unneeded(uint32_t in_force) {
  uint32_t oldest = readers_.empty() ? 0 : in_force;
  for (const auto& reader : readers_) oldest = std::min(oldest, reader.load(std::memory_order_acquire));
  for (uint32_t slot = 1; slot < kKept; ++slot) {
    Owner& owner = owners_[slot];
    if (!owner.ranges || slot == slot_of(in_force)) continue;
    const bool passed = owner.latest / kKept < oldest / kKept;
    if (!passed && handed_out_[slot].load()) continue;
    lists_[slot].store(nullptr, std::memory_order_release);
    owner = {};
  }
}

// Where the list is kept, or from now on will be. Null: there is no place.
ExclusionLists::Owner* ExclusionLists::place_for(std::shared_ptr<const PrivacyRanges> ranges, std::string canonical) {
  Owner* place = nullptr;
  for (Owner& owner : owners_) {
    if (owner.ranges && owner.canonical == canonical) return &owner;
    if (!owner.ranges && !place) place = &owner;
  }
  if (!place) return nullptr;
  const auto slot = static_cast<size_t>(place - owners_.data());
  handed_out_[slot].store(false);
  lists_[slot].store(ranges.get(), std::memory_order_release);
  *place = {std::move(ranges), std::move(canonical), 0, 0};
  return place;
}

Expected<bool> ExclusionLists::publish(std::shared_ptr<const PrivacyRanges> ranges) {
  const std::lock_guard lock(mutex_);
  const uint32_t before = current_.load();
  std::string canonical = ranges->canonical();
  if (canonical == owners_[slot_of(before)].canonical) return false;
  constexpr uint32_t kMostChanges = std::numeric_limits<uint32_t>::max() / kKept;
  if (before / kKept == kMostChanges) return failure("the exclusion list has changed too often", "start anew");
  free_unneeded(before);
  Owner* const place = place_for(std::move(ranges), std::move(canonical));
  if (!place)
    return failure("the exclusion list can't be changed: too many earlier ones are still in use",
                   "wait for the next window to be written; where no windows are written, start anew");
  place->latest = (before / kKept + 1) * kKept + static_cast<uint32_t>(place - owners_.data());
  if (place->first == 0 && place != owners_.data()) place->first = place->latest;
  current_.store(place->latest);
  free_unneeded(place->latest);
  return true;
}

std::string ExclusionLists::digest(uint32_t id, const KeyIdentity& key) const {
  std::string canonical;
  {
    const std::lock_guard lock(mutex_);
    const Owner& owner = owners_[slot_of(id)];
    if (!owner.ranges || id < owner.first || id > owner.latest) return "unknown";
    canonical = owner.canonical;
  }
  if (canonical.empty()) return "none";
  return key.hmac ? key.hmac(canonical).substr(0, 16) : "unkeyed";
}

uint32_t ExclusionLists::kept() const {
  const std::lock_guard lock(mutex_);
  const auto kept = [](const Owner& owner) { return owner.ranges != nullptr; };
  return static_cast<uint32_t>(std::count_if(owners_.begin(), owners_.end(), kept));
}

}  // namespace trama
