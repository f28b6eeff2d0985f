// Which key and which exclusion list a window was made under: small numbers travel with the messages, and what they
// stand for is looked up here when the manifest is written.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
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

// The exclusion list in force, and those before it that batches under way still need.
//
// A batch gets the number of the list in force when it enters; every stage judges it by that list, and the window being
// filled is closed where the number changes. So a new list holds from one batch on, whatever the schedule, and readers
// never wait. List 0 is empty.
class ExclusionLists {
 public:
  ExclusionLists();

  // Makes a list the one in force. Any thread. Fails when kKept lists were published since the oldest batch that is
  // still under way: try again.
  Expected<uint32_t> publish(std::shared_ptr<const PrivacyRanges> ranges);

  uint32_t current() const noexcept { return current_.load(std::memory_order_acquire); }  // a source, for each batch
  const PrivacyRanges& list(uint32_t id) const noexcept { return *lists_[id % kKept].load(std::memory_order_acquire); }
  // The stage that cuts windows has seen a batch with this number: no older list is needed any more.
  void passed(uint32_t id) noexcept { passed_.store(id, std::memory_order_release); }

  // What the manifest says: the first 16 hexadecimal digits of an HMAC-SHA256 of the sorted ranges under the key;
  // "none" for an empty list, "unkeyed" when there is no key.
  std::string digest(uint32_t id, const KeyIdentity& key) const;

 private:
  static constexpr uint32_t kKept = 64;
  mutable std::mutex mutex_;
  std::array<std::shared_ptr<const PrivacyRanges>, kKept> owners_;
  std::array<std::atomic<const PrivacyRanges*>, kKept> lists_{};
  std::vector<std::string> canonical_;  // of every list ever published
  std::atomic<uint32_t> current_{0}, passed_{0};
};

}  // namespace trama
