// Puts messages back in the order of their numbers.
#pragma once
#include <cassert>
#include <utility>
#include <vector>

#include "engine/stage.hpp"

namespace trama {

// C slots suffice, one for each number that can be alive, so that no two share one: number n takes slot n mod C, and
// n + C may not start before n has retired. Numbers have no holes (a message given up goes on as a skip), so that the
// next one always comes. Works for any message type and allocates nothing.
class ReorderBuffer {
 public:
  explicit ReorderBuffer(size_t credits) : waiting_(credits) {}

  // Puts `message` in its place, and calls `forward(Message*)` for all that are next in order.
  template <class Forward>
  void put(Message* message, Forward forward) {
    assert(message->seq - next_ < waiting_.size() && "a number outside the span that credits allow");
    waiting_[message->seq % waiting_.size()] = message;
    while (Message* ready = std::exchange(waiting_[next_ % waiting_.size()], nullptr)) {
      ++next_;
      forward(ready);
    }
  }

 private:
  std::vector<Message*> waiting_;
  uint64_t next_ = 0;
};

}  // namespace trama
