#include "control/every_thread.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace trama {
namespace {

constexpr auto kPatience = std::chrono::seconds(5);
constexpr auto kPause = std::chrono::microseconds(100);

int signal_number() { return SIGRTMAX - 1; }

// Threads that are asked together. Handlers look it up, and change nothing but their own `done`.
struct Round {
  struct Asked {
    int thread = 0;
    std::atomic<bool> done{false};
  };
  Round(void (*what)(const void*), const void* with, const std::vector<int>& threads)
      : action(what), argument(with), asked(threads.size()) {
    for (size_t i = 0; i < threads.size(); ++i) asked[i].thread = threads[i];
  }
  void (*const action)(const void*);
  const void* const argument;
  std::vector<Asked> asked;
};
std::atomic<Round*> current_round{nullptr};

void answer(int, siginfo_t*, void*) {
  const int interrupted = errno;
  if (Round* const round = current_round.load()) {
    const int self = static_cast<int>(syscall(SYS_gettid));
    for (Round::Asked& asked : round->asked) {
      if (asked.thread != self || asked.done.load()) continue;
      round->action(round->argument);
      asked.done.store(true);
    }
  }
  errno = interrupted;
}

// For good: a thread that answers late must still find it, or the signal would end the process.
void install_handler() {
  struct sigaction wanted {};
  wanted.sa_sigaction = answer;
  wanted.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&wanted.sa_mask);
  sigaction(signal_number(), &wanted, nullptr);
}

bool lives(int thread) { return syscall(SYS_tgkill, getpid(), thread, 0) == 0; }

// A thread that has ended meanwhile has nothing left to do.
bool all_answered(const Round& round) {
  return std::all_of(round.asked.begin(), round.asked.end(),
                     [](const Round::Asked& asked) { return asked.done.load() || !lives(asked.thread); });
}

bool ask(Round& round) {
  current_round.store(&round);
  for (const Round::Asked& asked : round.asked) syscall(SYS_tgkill, getpid(), asked.thread, signal_number());
  const auto gives_up = std::chrono::steady_clock::now() + kPatience;
  bool answered = all_answered(round);
  while (!answered && std::chrono::steady_clock::now() < gives_up) {
    std::this_thread::sleep_for(kPause);
    answered = all_answered(round);
  }
  current_round.store(nullptr);
  return answered;
}

}  // namespace

std::vector<int> threads_of_this_process() {
  std::vector<int> threads;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const std::string name = entry.path().filename();
    int number = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (wrong == std::errc() && end == name.data() + name.size()) threads.push_back(number);
  }
  return threads;
}

Expected<void> on_every_thread(void (*action)(const void* argument), const void* argument,
                               const std::function<bool(int thread)>& wanted) {
  install_handler();
  // A thread that has not answered yet may start another one, which has inherited what it was before.
  for (std::set<int> seen;;) {
    std::vector<int> fresh;
    for (const int thread : threads_of_this_process())
      if (seen.insert(thread).second && (!wanted || wanted(thread))) fresh.push_back(thread);
    if (fresh.empty()) return {};
    static std::unique_ptr<Round> round;  // late handlers may still look at the last one
    round = std::make_unique<Round>(action, argument, fresh);
    if (!ask(*round)) return failure("a thread of this process doesn't answer");
  }
}

}  // namespace trama
