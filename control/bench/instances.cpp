#include "control/bench/instances.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <exception>
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

#include "control/run_graph.hpp"

namespace trama {
namespace {

// Binds this thread or process, which is one of several, to a processor of its own where there is one for each. The
// scheduler has those that are woken together on the same processor for a while, on which they take turns: in a run of
// a tenth of a second that would be what is measured.
void take_processor(const std::vector<int>& processors, size_t instances, size_t instance) {
  if (instances < 2 || instances > processors.size() || processors[instance] >= CPU_SETSIZE) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(processors[instance]), &one);
  (void)sched_setaffinity(0, sizeof one, &one);  // where it is refused, it is measured as the scheduler has it
}

int64_t now_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// When an instance began and ended (CLOCK_MONOTONIC, which all processes share).
struct Span {
  int64_t begin_ns = 0, end_ns = 0;
  bool worked = false;
};

Span run_one(const InstanceWork& work) {
  Span span;
  span.begin_ns = now_ns(CLOCK_MONOTONIC);
  span.worked = work && work();
  span.end_ns = now_ns(CLOCK_MONOTONIC);
  return span;
}

// Nothing of what an instance throws, out of memory above all, may leave its thread or process.
InstanceWork prepared(const PrepareInstance& prepare, size_t instance) {
  try {
    return prepare(instance);
  } catch (const std::exception&) {
    return {};
  }
}

Span run_safely(const InstanceWork& work) {
  try {
    return run_one(work);
  } catch (const std::exception&) {
    return {};
  }
}

Expected<Cost> cost_of(const std::vector<Span>& spans, uint64_t packets, int64_t cpu_ns) {
  Span whole = spans.front();
  for (const Span& span : spans) {
    if (!span.worked)
      return failure("one of " + std::to_string(spans.size()) + " instances failed",
                     "there may be too little memory: take a smaller --window-packets");
    whole.begin_ns = std::min(whole.begin_ns, span.begin_ns);
    whole.end_ns = std::max(whole.end_ns, span.end_ns);
  }
  const auto per_packet = static_cast<double>(packets);
  return Cost{static_cast<double>(whole.end_ns - whole.begin_ns) / per_packet,
              static_cast<double>(cpu_ns) / per_packet};
}

Expected<Cost> run_threads(size_t instances, uint64_t packets, const PrepareInstance& prepare) {
  std::vector<Span> spans(instances);
  const std::vector<int> processors = allowed_processors();
  std::latch ready(static_cast<ptrdiff_t>(instances)), go(1);
  std::atomic<bool> called_off{false};
  std::vector<std::thread> threads;
  std::string failed;
  try {
    for (size_t i = 0; i < instances; ++i)
      threads.emplace_back([&, i] {
        take_processor(processors, instances, i);
        const InstanceWork work = prepared(prepare, i);
        ready.count_down();
        go.wait();
        if (!called_off) spans[i] = run_safely(work);
      });
  } catch (const std::system_error& error) {
    failed = error.what();
    called_off = true;
    ready.count_down(static_cast<ptrdiff_t>(instances - threads.size()));
  }
  ready.wait();
  const int64_t cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
  go.count_down();
  for (std::thread& thread : threads) thread.join();
  if (!failed.empty()) return failure("can't start " + std::to_string(instances) + " threads: " + failed);
  return cost_of(spans, packets, now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu);
}

class Pipe {
 public:
  bool open() { return pipe2(ends_, O_CLOEXEC) == 0; }
  Pipe() = default;
  ~Pipe() {
    close_read();
    close_write();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_read() { close_end(ends_[0]); }
  void close_write() { close_end(ends_[1]); }
  // All of it; false at the end of the pipe.
  bool read(void* to, size_t bytes) {
    for (ssize_t got; bytes > 0; bytes -= static_cast<size_t>(got), to = static_cast<char*>(to) + got) {
      do got = ::read(ends_[0], to, bytes);
      while (got < 0 && errno == EINTR);
      if (got <= 0) return false;
    }
    return true;
  }
  bool write(const void* from, size_t bytes) {
    ssize_t put;
    do put = ::write(ends_[1], from, bytes);
    while (put < 0 && errno == EINTR);
    return put == static_cast<ssize_t>(bytes);  // less than PIPE_BUF goes in one piece
  }

 private:
  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
  int ends_[2] = {-1, -1};
};

struct Child {
  pid_t process = -1;
  Pipe says;  // a byte when it is ready, then its Span
};

[[noreturn]] void be_child(Child& self, Pipe& go, pid_t parent, const PrepareInstance& prepare, size_t instance) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before that was said
  self.says.close_read();
  go.close_write();
  const InstanceWork work = prepared(prepare, instance);
  char byte = 0;
  self.says.write(&byte, 1);
  if (go.read(&byte, 1)) {
    const Span span = run_safely(work);
    self.says.write(&span, sizeof span);
  }
  _exit(0);  // nothing of the parent's is flushed or destroyed twice
}

// Processes of one measurement; whatever happens, none is left in the end.
class Children {
 public:
  explicit Children(size_t count) : all_(count) {}
  ~Children() {
    for (Child& child : all_)
      if (child.process > 0) kill(child.process, SIGKILL);
    for (Child& child : all_)
      while (child.process > 0 && waitpid(child.process, nullptr, 0) < 0 && errno == EINTR) {
      }
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  bool start(const PrepareInstance& prepare) {
    if (!go_.open()) return false;
    const pid_t parent = getpid();
    const std::vector<int> processors = allowed_processors();
    for (size_t i = 0; i < all_.size(); ++i) {
      if (!all_[i].says.open()) return false;
      all_[i].process = fork();
      if (all_[i].process < 0) return false;
      if (all_[i].process == 0) {
        for (size_t earlier = 0; earlier < i; ++earlier) all_[earlier].says.close_read();
        take_processor(processors, all_.size(), i);
        be_child(all_[i], go_, parent, prepare, i);
      }
      all_[i].says.close_write();
    }
    go_.close_read();
    return true;
  }

  // The spans of all; of one that died it says that it didn't work.
  std::vector<Span> run() {
    char byte = 0;
    bool ready = true;
    for (Child& child : all_) ready = child.says.read(&byte, 1) && ready;
    const std::vector<char> start(all_.size());
    if (ready) go_.write(start.data(), start.size());
    std::vector<Span> spans(all_.size());
    for (size_t i = 0; ready && i < all_.size(); ++i)
      if (!all_[i].says.read(&spans[i], sizeof(Span))) spans[i] = {};
    return spans;
  }

 private:
  std::vector<Child> all_;
  Pipe go_;  // a byte for each
};

}  // namespace

Expected<Cost> run_instances(InstanceKind kind, size_t instances, uint64_t packets, const PrepareInstance& prepare) {
  if (kind == InstanceKind::threads) return run_threads(instances, packets, prepare);
  Children children(instances);
  if (!children.start(prepare))
    return failure("can't start " + std::to_string(instances) + " processes: " + std::strerror(errno));
  return cost_of(children.run(), packets, 0);
}

size_t share(size_t total, size_t parts, size_t part) { return total / parts + (part < total % parts ? 1 : 0); }

}  // namespace trama
