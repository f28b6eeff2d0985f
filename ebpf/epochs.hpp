// Tells when nobody can still be reading what was taken out of use. A reader says when it begins and ends a batch; what
// was unpublished before a batch began isn't seen in it.
//
// Readers never wait. Retired things get a number; they may be freed once passed() says that every reader has ended the
// batch it was in. A reader that is in no batch holds up nobody, for however long it sleeps.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>

namespace trama::ebpf {

class Epochs {
 public:
  class Reader {
   public:
    Reader() = default;
    void enter() noexcept;  // begins a batch
    void leave() noexcept;

   private:
    friend class Epochs;
    Epochs* epochs_ = nullptr;
    std::atomic<uint64_t>* entered_ = nullptr;  // in the Epochs, which must live as long
  };

  // At setup, before any other thread.
  Reader add_reader();

  // Call it after something was unpublished: its number.
  uint64_t retire() noexcept { return now_.fetch_add(1) + 1; }

  // Any thread that doesn't read.
  bool passed(uint64_t retired) const noexcept;
  void wait_for(uint64_t retired) const noexcept;  // sleeps; a batch lasts microseconds

 private:
  struct alignas(64) Place {
    std::atomic<uint64_t> entered{0};  // 0: in no batch
  };
  std::atomic<uint64_t> now_{1};
  std::deque<Place> places_;
};

}  // namespace trama::ebpf
