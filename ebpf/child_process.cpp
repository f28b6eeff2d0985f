#include "ebpf/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

namespace trama::ebpf {
namespace {

constexpr int kReplyDescriptor = 3;

void limit(__rlimit_resource resource, uint64_t most) {
  const rlimit both{most, most};
  ::setrlimit(resource, &both);
}

// Bytes of address space that this process has mapped: the limit counts those, too.
uint64_t mapped_bytes() {
  std::array<char, 64> text{};
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  uint64_t pages = 0;
  if (length <= 0 || std::sscanf(text.data(), "%lu", &pages) != 1) return 0;
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void confine(int reply, const ChildLimits& limits, uint64_t mapped) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  ::dup2(reply, kReplyDescriptor);  // first: where a standard descriptor was closed, the pipe may have its number
  const int null = ::open("/dev/null", O_RDWR);
  for (int standard = 0; standard <= 2; ++standard) ::dup2(null, standard);
  ::syscall(SYS_close_range, kReplyDescriptor + 1, ~0u, 0);

  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_CPU, limits.processor_s);
  if (mapped != 0) limit(RLIMIT_AS, mapped + limits.memory_bytes);
}

[[noreturn]] void be_the_child(const std::function<std::vector<uint8_t>()>& work) {
  const std::vector<uint8_t> bytes = work();
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t written = ::write(kReplyDescriptor, bytes.data() + sent, bytes.size() - sent);
    if (written <= 0 && errno != EINTR) ::_exit(1);
    if (written > 0) sent += static_cast<size_t>(written);
  }
  ::_exit(0);
}

// False: it took too long, or sent too much.
bool receive(int reply, const ChildLimits& limits, std::vector<uint8_t>& bytes) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(limits.wall_ms);
  std::array<uint8_t, 65536> part;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    pollfd ready{reply, POLLIN, 0};
    const int happened = ::poll(&ready, 1, static_cast<int>(left));
    if (happened < 0 && errno == EINTR) continue;
    if (happened <= 0) return false;
    const ssize_t got = ::read(reply, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    if (bytes.size() + static_cast<size_t>(got) > limits.reply_bytes) return false;
    bytes.insert(bytes.end(), part.begin(), part.begin() + got);
  }
}

// It has closed its end of the pipe: what is left for it to do is to end.
bool ends_soon(pid_t child) {
  constexpr int kSoonMs = 1000;
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  if (process < 0) return true;
  pollfd ended{process, POLLIN, 0};
  int happened = 0;
  while ((happened = ::poll(&ended, 1, kSoonMs)) < 0 && errno == EINTR) {
  }
  ::close(process);
  return happened != 0;
}

}  // namespace

ChildReply run_in_child(const std::function<std::vector<uint8_t>()>& work, const ChildLimits& limits) {
  ChildReply reply;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    reply.end = std::string("no pipe: ") + std::strerror(errno);
    return reply;
  }
  const uint64_t mapped = mapped_bytes();
  const pid_t child = ::fork();
  if (child == 0) {
    confine(ends[1], limits, mapped);
    be_the_child(work);
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    reply.end = std::string("no process: ") + std::strerror(errno);
    return reply;
  }
  const bool in_time = receive(ends[0], limits, reply.bytes) && ends_soon(child);
  ::close(ends[0]);
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time)
    reply.end = "it took too long, or wrote too much";
  else if (WIFSIGNALED(status))
    reply.end = "it was killed by signal " + std::to_string(WTERMSIG(status));
  else if (WEXITSTATUS(status) != 0)
    reply.end = "it ended with status " + std::to_string(WEXITSTATUS(status));
  else
    reply.finished = true;
  return reply;
}

}  // namespace trama::ebpf
