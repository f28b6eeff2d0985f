#include "ebpf/epochs.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace trama::ebpf {

// The reader says in which epoch it begins, and only then looks at what is published; who retires publishes first, then
// moves the epoch on, then looks at the readers. All sequentially consistent: either the reader sees what was
// published, or its old epoch is seen here.
void Epochs::Reader::enter() noexcept { entered_->store(epochs_->now_.load()); }

void Epochs::Reader::leave() noexcept { entered_->store(0, std::memory_order_release); }

Epochs::Reader Epochs::add_reader() {
  Reader reader;
  reader.epochs_ = this;
  reader.entered_ = &places_.emplace_back().entered;
  return reader;
}

bool Epochs::passed(uint64_t retired) const noexcept {
  return std::all_of(places_.begin(), places_.end(), [retired](const Place& place) {
    const uint64_t entered = place.entered.load();
    return entered == 0 || entered >= retired;
  });
}

void Epochs::wait_for(uint64_t retired) const noexcept {
  while (!passed(retired)) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

}  // namespace trama::ebpf
