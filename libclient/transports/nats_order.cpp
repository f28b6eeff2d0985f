#include "libclient/transports/nats_order.hpp"

#include <algorithm>
#include <utility>

namespace trama {
namespace {

constexpr int64_t kAnswerNs = 2'000'000'000;  // an answer that hasn't come by then is not coming
constexpr int64_t kAgainNs = 200'000'000;     // what the store hasn't got yet

}  // namespace

void NatsOrder::begin(uint64_t number) {
  slots_.clear();
  next_ = number;
  head_ = settled_ = 0;
  gone_ = 0;
}

void NatsOrder::ask_again() {
  std::erase_if(slots_, [](const auto& slot) { return slot.second.what != What::came; });
}

void NatsOrder::settled(uint64_t below) {
  if (below <= settled_) return;
  settled_ = below;
  for (auto& [number, slot] : slots_)
    if (slot.what == What::unknown && number < settled_) slot.since_ns = 0;  // now the answer will be final
}

bool NatsOrder::keep(uint64_t number, NatsWindow window) {
  published(number + 1);
  if (number < next_ || number - next_ >= ahead_) return false;
  Slot& slot = slots_[number];
  if (slot.what == What::came) return false;
  slot.what = What::came;
  slot.window = std::move(window);
  return true;
}

void NatsOrder::absent(uint64_t number, int64_t now_ns, bool final) {
  const auto found = slots_.find(number);
  if (found == slots_.end() || found->second.what != What::asked) return;
  const bool known = final || number < found->second.settled;
  found->second.what = known ? What::gone : What::unknown;
  found->second.since_ns = now_ns;
}

void NatsOrder::give_up() { lose_until(head_); }

void NatsOrder::lose_until(uint64_t below) {
  for (uint64_t number = next_; number < below && number - next_ < ahead_; ++number) {
    Slot& slot = slots_[number];
    if (slot.what != What::came) slot.what = What::gone;
  }
}

void NatsOrder::give_up_below(uint64_t number) {
  published(number);
  const bool waits = std::any_of(slots_.begin(), slots_.lower_bound(number),
                                 [](const auto& slot) { return slot.second.what == What::came; });
  waits ? lose_until(number) : skip(number);
}

void NatsOrder::skip(uint64_t number) {
  if (number <= next_) return;
  slots_.erase(slots_.begin(), slots_.lower_bound(number));
  next_ = number;
}

std::optional<uint64_t> NatsOrder::ask(int64_t now_ns) {
  for (uint64_t number = next_; number < head_ && number - next_ < ahead_; ++number) {
    const auto found = slots_.find(number);
    if (found != slots_.end()) {
      const Slot& slot = found->second;
      const int64_t patience = slot.what == What::asked ? kAnswerNs : kAgainNs;
      if (slot.what == What::came || slot.what == What::gone) continue;
      if (slot.since_ns != 0 && now_ns - slot.since_ns < patience) continue;
    }
    slots_[number] = {.what = What::asked, .since_ns = now_ns, .settled = settled_, .window = {}};
    return number;
  }
  return std::nullopt;
}

bool NatsOrder::wants_word() const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [&](const auto& slot) { return slot.second.what == What::unknown && slot.first >= settled_; });
}

std::optional<NatsWindow> NatsOrder::deliver() {
  while (!slots_.empty() && slots_.begin()->first == next_) {
    const auto first = slots_.begin();
    if (first->second.what != What::came && first->second.what != What::gone) return std::nullopt;
    auto window = std::move(first->second.window);
    gone_ = window ? 0 : gone_ + 1;
    slots_.erase(first);
    ++next_;
    if (window) return window;
  }
  return std::nullopt;
}

}  // namespace trama
