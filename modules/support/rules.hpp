// What packets are judged and anonymized by, and how it changes while running.
//
// Everything that may change is in force together, under one number. A batch takes a share in the rules when it enters;
// it is judged by them, and the window being filled is closed where the number changes. So new rules hold from one
// batch on, whatever the schedule, and stages never wait: taking and giving back a share takes no lock and no memory.
// Rules are kept until others are in force and no message has a share in them any more.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/diagnostic.hpp"
#include "libclient/formats/manifest.hpp"
#include "modules/support/anonymization_key.hpp"
#include "modules/support/privacy_ranges.hpp"

namespace trama {

// What a filter module judges by; the stage that runs modules knows more of it.
struct ModuleRules {
  virtual ~ModuleRules() = default;
  // Where others than stages judge by them, tells these; before the rules are in force in the engine. Says what refused
  // it: then all stays as it was.
  virtual Diagnostics tell_others() const { return {}; }

  std::string canonical;  // its ranges and map contents, the same text for the same contents
};

struct Rules {
  std::shared_ptr<const PrivacyRanges> ranges = std::make_shared<const PrivacyRanges>();  // never null
  std::vector<std::shared_ptr<const ModuleRules>> modules;  // by RulesInForce::add_module()
  std::shared_ptr<const AnonymizationKey> key;              // null where no stage anonymizes
  uint64_t flushes = 0;                                     // how often somebody wanted the window being filled closed

  std::string canonical() const;  // of ranges and modules; empty when nothing is excluded by a list

  // What the manifest says: the first 16 hexadecimal digits of an HMAC-SHA256 of the sorted ranges under the key;
  // "none" for an empty list, "unkeyed" when there is no key.
  std::string digest(const KeyIdentity& key) const;
};

// A place where rules are kept; never moves.
struct KeptRules {
  std::atomic<uint32_t> shares{0};
  uint32_t id = 0;
  std::shared_ptr<const Rules> rules;  // null: the place is free
  std::string canonical;
};

// A share in rules. Each belongs to one message or one stage; taken and given back by any thread.
class RulesShare {
 public:
  RulesShare() = default;
  RulesShare(const RulesShare& other) noexcept : kept_(other.kept_) {
    if (kept_) kept_->shares.fetch_add(1, std::memory_order_relaxed);
  }
  RulesShare(RulesShare&& other) noexcept : kept_(std::exchange(other.kept_, nullptr)) {}
  RulesShare& operator=(RulesShare other) noexcept {
    std::swap(kept_, other.kept_);
    return *this;
  }
  ~RulesShare() { give_back(); }

  void give_back() noexcept {
    if (kept_) kept_->shares.fetch_sub(1, std::memory_order_release);
    kept_ = nullptr;
  }
  explicit operator bool() const noexcept { return kept_ != nullptr; }
  // Grows with each change; 0: no share, as in graphs whose sources know of no rules.
  uint32_t id() const noexcept { return kept_ ? kept_->id : 0; }
  const Rules& operator*() const noexcept { return *kept_->rules; }
  const Rules* operator->() const noexcept { return kept_->rules.get(); }

 private:
  friend class RulesInForce;
  explicit RulesShare(KeptRules& kept) noexcept : kept_(&kept) {}  // of a share that was counted already
  KeptRules* kept_ = nullptr;
};

// Why a window ends where `later` follows `earlier`.
ClosedBy difference(const RulesShare& earlier, const RulesShare& later) noexcept;

class RulesInForce {
 public:
  static constexpr uint32_t kKept = 256;

  RulesInForce();

  // --- setup, before any batch enters.
  // One more stage whose judgement follows the rules. A batch counts those it has met, so that nobody is told it was
  // judged by rules that it went around.
  void add_judge();
  // Where a module's rules stand in Rules::modules. It judges as well.
  size_t add_module(std::shared_ptr<const ModuleRules> rules);
  uint32_t judges() const noexcept { return judges_.load(std::memory_order_relaxed); }

  // --- a source, for each batch.
  RulesShare current() const noexcept;
  uint32_t id() const noexcept { return id_.load(std::memory_order_acquire); }  // of the rules in force

  // --- control: any thread. These put other rules in force, and say whether they are others than before. They fail
  // when kKept different ones are still needed.
  Expected<bool> set_ranges(std::shared_ptr<const PrivacyRanges> ranges);
  // Closes the window being filled, if there is anything in it.
  Expected<bool> flush();
  // Frees former rules, and with them keys, that no message has a share in any more; changes do so, too.
  void forget_former();
  // `edit` changes a copy of the rules in force.
  Expected<bool> change(const std::function<void(Rules&)>& edit);

  uint32_t kept() const;  // how many are in memory

 private:
  void free_unneeded();

  mutable std::mutex mutex_;  // control only
  mutable std::array<KeptRules, kKept> places_;
  std::atomic<KeptRules*> current_;
  std::atomic<uint32_t> judges_{0};
  std::atomic<uint32_t> id_{1};
};

}  // namespace trama
