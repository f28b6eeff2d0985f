// Does something in every thread of this process. Linux keeps identity and privileges by thread, and a process has
// threads before it gives them up: those behind stages, those that answer scrapes, those of drivers.
#pragma once
#include <functional>
#include <vector>

#include "engine/diagnostic.hpp"

namespace trama {

// `action` runs once in each thread, also in those that others start meanwhile. It runs in a signal handler: only what
// is async-signal-safe, and no exceptions (signal-safety(7)). Blocking system calls of the other threads may end with
// EINTR, as they do when setuid() does the same. `wanted` chooses threads by their number (gettid(2)); null: all.
//
// One call at a time. Fails where a thread doesn't answer for seconds, because it blocks all signals.
Expected<void> on_every_thread(void (*action)(const void* argument), const void* argument,
                               const std::function<bool(int thread)>& wanted = nullptr);

// Numbers of the threads there are now.
std::vector<int> threads_of_this_process();

}  // namespace trama
