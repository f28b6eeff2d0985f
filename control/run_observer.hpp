// Told of every number that ends: keeps the sums, and the last windows.
#pragma once
#include <chrono>

#include "modules/support/tallied.hpp"
#include "modules/support/window_log.hpp"

namespace trama {

class RunObserver final : public RetireObserver {
 public:
  RunObserver(Ledger& ledger, WindowLog& windows) : ledger_(ledger), windows_(windows) {}

  void retired(const Message& message) noexcept override {
    ledger_.retired(message);
    const auto* tallied = dynamic_cast<const TalliedMessage*>(&message);
    if (tallied == nullptr) return;
    const Tally& tally = tallied->tally;
    if (tally.full_windows + tally.partial_windows == 0) return;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    windows_.finished(message.seq, tally[Verdict::counted], tally.partial_windows > 0,
                      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }

 private:
  Ledger& ledger_;
  WindowLog& windows_;
};

}  // namespace trama
