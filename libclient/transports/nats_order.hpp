// Brings the windows of a run over NATS into order: those that come live, and those that the server's store has to be
// asked for. Knows nothing of connections and clocks. Part of nats_transport.cpp, not meant for others.
//
// What is held here are the numbers from the next one to be delivered on, `ahead` of them at most. Of each of them it
// is known that it came, or that the store was asked for it, or that it is gone: the store hasn't got it, though the
// store itself says that all numbers up to there are stored or lost. A store can be behind (a mirror on another
// machine), so that it isn't believed without that word, and the word has to be there before the question is asked.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "libclient/stream_window.hpp"

namespace trama {

struct NatsWindow {
  WindowInfo info;
  SharedBytes matrix;
};

class NatsOrder {
 public:
  explicit NatsOrder(size_t ahead) : ahead_(ahead) {}

  // Another run: what is held is forgotten, and windows come from this number on.
  void begin(uint64_t number);
  // Another connection: what was asked for is asked for again.
  void ask_again();

  void published(uint64_t below) { head_ = std::max(head_, below); }  // all numbers below it, by what came live
  void settled(uint64_t below);                                       // are stored or lost, as the store says
  // A window came, live or from the store. False: it isn't wanted, or there is no room; it can be asked for later.
  bool keep(uint64_t number, NatsWindow window);
  // The store hasn't got it; or what it has can't be read, which is final.
  void absent(uint64_t number, int64_t now_ns, bool final = false);
  // Nobody knows of a store: what didn't come live is gone.
  void give_up();
  // The same of what is below this number, which came: nobody overtakes anybody on the way.
  void give_up_below(uint64_t number);
  // Everything below is gone, by what the store says of what follows.
  void skip(uint64_t number);

  // The next number to ask the store for; it counts as asked.
  std::optional<uint64_t> ask(int64_t now_ns);
  // A store that was asked says no more than that it doesn't know yet.
  bool wants_word() const;
  // The next window in order; those that are gone are passed over.
  std::optional<NatsWindow> deliver();

  uint64_t next() const { return next_; }  // the least number that may still come
  uint64_t head() const { return head_; }
  bool complete() const { return next_ >= head_; }
  size_t gone_in_a_row() const { return gone_; }

 private:
  enum class What { asked, unknown, came, gone };
  struct Slot {
    What what = What::asked;
    int64_t since_ns = 0;
    uint64_t settled = 0;  // what was known when it was asked for
    std::optional<NatsWindow> window;
  };

  void lose_until(uint64_t below);

  const size_t ahead_;
  uint64_t next_ = 0, head_ = 0, settled_ = 0;
  size_t gone_ = 0;
  std::map<uint64_t, Slot> slots_;
};

}  // namespace trama
