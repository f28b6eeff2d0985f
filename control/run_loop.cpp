#include "control/run_loop.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

#include "control/terminal.hpp"
#include "engine/cycles.hpp"

namespace trama {
namespace {

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

sigset_t answered() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&set, signal);
  return set;
}

// A terminal that is closed ends a run as tcpdump's users expect: in good order.
bool ends_run(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }

// An eventfd: readable once set.
class Flag {
 public:
  Flag() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) throw std::runtime_error("no file descriptor left");
  }
  ~Flag() { close(fd_); }
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;
  int fd() const { return fd_; }
  void set() {
    const uint64_t one = 1;
    while (write(fd_, &one, sizeof one) < 0 && errno == EINTR) {
    }
  }

 private:
  const int fd_;
};

}  // namespace

// While stages are made a key may be read from a pipe, or a table filled: nothing is there yet that could be stopped
// in an orderly way.
struct RunSignals::Watcher {
  explicit Watcher(RunSignals& signals) : thread([this, &signals] { watch(signals); }) {}
  ~Watcher() {
    over.set();
    thread.join();
  }
  void watch(RunSignals& signals) {
    for (;;) {
      pollfd fds[] = {{signals.fd(), POLLIN, 0}, {over.fd(), POLLIN, 0}};
      poll(fds, 2, -1);
      if (fds[1].revents != 0) return;
      if (const int signal = signals.next(); ends_run(signal)) _exit(128 + signal);
    }
  }
  Flag over;
  std::thread thread;
};

RunSignals::RunSignals() {
  const sigset_t set = answered();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd_ < 0) throw std::runtime_error("no file descriptor left");
}

RunSignals::~RunSignals() {
  watcher_.reset();
  close(fd_);
}

void RunSignals::setup_begins() { watcher_ = std::make_unique<Watcher>(*this); }
void RunSignals::setup_ended() { watcher_.reset(); }

int RunSignals::next() {
  signalfd_siginfo info;
  return read(fd_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

RunLoop::RunLoop(Runtime& runtime, RunControl& control, RunReport& report, RunService& service,
                 const RunLoopOptions& options)
    : runtime_(runtime),
      control_(control),
      report_(report),
      service_(service),
      options_(options),
      progress_(!options.quiet && is_terminal(STDERR_FILENO)) {}

void RunLoop::run(RunSignals& signals, const RunLoopCalls& calls) {
  say_messages();
  Flag ended;
  started_ns_ = now_ns();
  const uint64_t cycles_before = trama::cycles();
  Expected<void> ran;
  std::thread engine([&] {
    ran = runtime_.run();
    ended.set();
  });
  for (bool running = true; running;) {
    int wait_ms = service_.tick_ms();
    if (options_.duration_s && !control_.stopping())
      wait_ms = static_cast<int>(std::clamp((*options_.duration_s - elapsed_s()) * 1e3 + 1, 0.0, double(wait_ms)));
    pollfd fds[] = {{signals.fd(), POLLIN, 0}, {ended.fd(), POLLIN, 0}};
    poll(fds, 2, wait_ms);
    running = fds[1].revents == 0;
    while (const int signal = signals.next()) answer(signal, calls);
    if (options_.duration_s && !control_.stopping() && elapsed_s() >= *options_.duration_s) control_.stop();
    control_.forget_former_rules();
    say_messages();
    if (running) {
      service_.tick(now_ns(), control_.stopping());
      progress_.draw(report_, elapsed_s());
    }
  }
  engine.join();
  if (ran) {
    service_.ended();
  } else {
    report_.output_failed();
    report_.say(std::move(ran.error()));
  }
  seconds_ = elapsed_s();
  cycles_ = trama::cycles() - cycles_before;
  progress_.clear();
  say_messages();
}

void RunLoop::answer(int signal, const RunLoopCalls& calls) {
  progress_.clear();
  if (ends_run(signal)) {
    if (interrupted_) {
      calls.before_quitting();
      _exit(128 + signal);
    }
    interrupted_ = true;
    if (!options_.quiet) print_note("stopping; once more ends at once");
    control_.stop();
  } else if (signal == SIGUSR1) {
    calls.say_so_far(elapsed_s());
  } else if (signal == SIGUSR2) {
    reload();
  }
}

void RunLoop::reload() {
  service_.reloads();
  const auto change = control_.reload();
  service_.has_reloaded();
  if (!change) {
    print(change.error());
    return print_warning("SIGUSR2: all lists stay as they were");
  }
  if (options_.quiet) return;
  print_note(
      "the files were read again: " + std::string(change->changed ? "other lists from now on" : "all as before") +
      " (" + counted(change->ranges, "exclusion range") + ")");
}

void RunLoop::say_messages() {
  for (const Diagnostic& message : report_.take_messages()) {
    if (options_.quiet && message.severity == Severity::note) continue;
    progress_.clear();
    print(message);
  }
}

double RunLoop::elapsed_s() const { return static_cast<double>(now_ns() - started_ns_) * 1e-9; }

}  // namespace trama
