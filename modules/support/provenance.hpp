// Which key and which exclusion list a window was made under: small numbers travel with the messages, and what they
// stand for is looked up here when the manifest is written.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/diagnostic.hpp"
#include "modules/support/privacy_ranges.hpp"

namespace trama {

// What others may know of a key. The key itself stays with the stage that uses it.
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

// The exclusion list in force, and those before it that batches or windows under way still need.
//
// A batch gets the number of the list in force when it enters; it is judged by that list, and the window being filled
// is closed where the number changes. So a new list holds from one batch on, whatever the schedule, and stages never
// wait: current(), list() and passed() take no lock and no memory. Number 0 is the list that excludes nothing.
//
// A list is kept until another one is in force and nobody can ask for it any more: because no source has handed out its
// number, or because every reader has passed it. Readers are the stages that see numbers in the order in which batches
// entered, behind the stage that judges: the one that cuts windows, and those that write them.
class ExclusionLists {
 public:
  static constexpr uint32_t kKept = 256;

  class Reader {
   public:
    // It will ask for no list older than this one. 0 frees nothing.
    void passed(uint32_t id) noexcept { oldest_->store(id, std::memory_order_release); }

   private:
    friend class ExclusionLists;
    explicit Reader(std::atomic<uint32_t>& oldest) : oldest_(&oldest) {}
    std::atomic<uint32_t>* oldest_;  // in the ExclusionLists, which must live as long
  };

  ExclusionLists();

  // At setup, before any batch enters. Without readers every list that was handed out is kept.
  Reader add_reader();

  // Makes a list the one in force; says whether it is another one than before. Any thread. Fails when kKept different
  // lists are still needed.
  Expected<bool> publish(std::shared_ptr<const PrivacyRanges> ranges);

  uint32_t current() const noexcept;  // a source, for each batch
  const PrivacyRanges& list(uint32_t id) const noexcept { return *lists_[slot_of(id)].load(std::memory_order_acquire); }

  // What the manifest says: the first 16 hexadecimal digits of an HMAC-SHA256 of the sorted ranges under the key;
  // "none" for an empty list, "unkeyed" when there is no key, "unknown" for a list that is no longer kept.
  std::string digest(uint32_t id, const KeyIdentity& key) const;
  uint32_t kept() const;  // lists in memory, with the one of number 0

 private:
  // Numbers grow with each change; their low bits say where the list is kept. Place 0 is that of the empty list, and
  // stays.
  static uint32_t slot_of(uint32_t id) noexcept { return id % kKept; }
  struct Owner {
    std::shared_ptr<const PrivacyRanges> ranges;  // null: the place is free
    std::string canonical;
    // Its first and latest number: a list that comes back while it is kept gets a new one.
    uint32_t first = 0, latest = 0;
  };
  void free_unneeded(uint32_t in_force);
  Owner* place_for(std::shared_ptr<const PrivacyRanges> ranges, std::string canonical);

  mutable std::mutex mutex_;
  std::array<Owner, kKept> owners_;
  std::array<std::atomic<const PrivacyRanges*>, kKept> lists_{};
  mutable std::array<std::atomic<bool>, kKept> handed_out_{};
  std::deque<std::atomic<uint32_t>> readers_;  // the oldest number that each may still ask for
  std::atomic<uint32_t> current_{0};
};

}  // namespace trama
