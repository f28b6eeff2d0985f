// trama top: watches a running engine. On a terminal a screen that is drawn anew every second; else one page.
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>

#include "control/control_client.hpp"
#include "control/data_output.hpp"
#include "control/engine_watch.hpp"
#include "control/status_page.hpp"
#include "control/terminal.hpp"
#include "control/verbs.hpp"
#include "libclient/formats/file_bytes.hpp"

namespace trama {
namespace {

constexpr size_t kAllWindows = 64;  // as many as there are; what doesn't fit is cut

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The alternate screen of a terminal, without cursor and without echo, and the way back.
class Screen {
 public:
  Screen() { enter(); }
  ~Screen() { leave(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void enter() {
    has_keys_ = tcgetattr(STDIN_FILENO, &before_) == 0;
    if (has_keys_) {
      termios keys = before_;
      keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      keys.c_cc[VMIN] = 0;
      keys.c_cc[VTIME] = 0;
      tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    }
    write_all("\x1b[?1049h\x1b[?25l\x1b[2J");
  }
  void leave() {
    write_all("\x1b[?25h\x1b[?1049l");
    if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

  // False: the terminal has gone.
  bool draw(const std::string& page) {
    winsize size{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
    const size_t rows = known ? size.ws_row : 24, columns = known ? size.ws_col : 80;
    std::string text = "\x1b[H";
    for (const char letter : fit_page(page, rows - 1, columns))
      text += letter == '\n' ? "\x1b[K\n" : std::string(1, letter);
    return write_all(text + "\x1b[J\x1b[" + std::to_string(rows) + ";1H" + std::string("q quits").substr(0, columns));
  }
  bool has_keys() const { return has_keys_; }

 private:
  static bool write_all(const std::string& text) {
    for (size_t written = 0; written < text.size();) {
      const ssize_t gone = write(STDOUT_FILENO, text.data() + written, text.size() - written);
      if (gone < 0 && errno != EINTR) return false;
      if (gone > 0) written += static_cast<size_t>(gone);
    }
    return true;
  }
  termios before_{};
  bool has_keys_ = false;
};

// Signals that would leave the terminal as no shell wants it.
class ScreenSignals {
 public:
  ScreenSignals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) sigaddset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    descriptor_ = FileDescriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  int descriptor() const { return descriptor_.get(); }
  int next() const {
    signalfd_siginfo info;
    return read(descriptor_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  FileDescriptor descriptor_;
};

class Top {
 public:
  Top(EngineWatch watch, int64_t interval_ms) : watch_(std::move(watch)), interval_ms_(interval_ms) {}

  // The exit status; `gone` says why the engine answers no more.
  int run(std::optional<Diagnostic>& gone) {
    const ScreenSignals signals;
    Screen screen;
    for (int64_t next_ms = now_ms(); !status_;) {
      if (now_ms() >= next_ms) {
        if (auto looked = watch_.look(); !looked) return gone = std::move(looked.error()), kDone;
        next_ms = now_ms() + interval_ms_;
      }
      if (!screen.draw(watch_.page(kAllWindows))) return kFailed;
      pollfd events[] = {{signals.descriptor(), POLLIN, 0},
                         {screen.has_keys() && keys_ ? STDIN_FILENO : -1, POLLIN, 0}};
      poll(events, 2, static_cast<int>(std::max<int64_t>(0, next_ms - now_ms())));
      while (const int signal = signals.next()) answer(signal, screen);
      if (events[1].revents != 0) read_keys();
    }
    return *status_;
  }

 private:
  void answer(int signal, Screen& screen) {
    if (signal == SIGTSTP) {
      screen.leave();
      raise(SIGSTOP);
      screen.enter();
    } else if (signal != SIGWINCH) {
      status_ = signal == SIGINT ? kDone : 128 + signal;
    }
  }
  void read_keys() {
    char keys[64];
    const ssize_t got = read(STDIN_FILENO, keys, sizeof keys);
    if (got <= 0) keys_ = false;
    for (ssize_t i = 0; i < got; ++i)
      if (keys[i] == 'q' || keys[i] == 'Q') status_ = kDone;
  }

  EngineWatch watch_;
  const int64_t interval_ms_;
  bool keys_ = true;
  std::optional<int> status_;
};

Expected<ControlClient> client_for(const std::optional<std::string>& socket) {
  const auto path = find_control_socket(socket);
  if (!path) return tl::unexpected(path.error());
  return ControlClient::connect(*path);
}

int print_page(ControlClient client) {
  const auto page = snapshot_page(std::move(client));
  if (!page) return print(page.error()), kFailed;
  DataOutput output;
  output.write(*page);
  return output.finish() ? kDone : kFailed;
}

}  // namespace

int top_verb(const Arguments& arguments) {
  std::optional<std::string> socket;
  std::optional<double> interval_s;
  CommandLine line("top [--socket PATH] [--interval S]",
                   "Watches a running engine; q quits. Where the output is no terminal, prints one page.",
                   "  trama top\n"
                   "  trama top --socket /run/trama/site.sock --interval 5\n");
  line.text("--socket", socket, "PATH", "the run's socket (the only one in /run/trama, or ./trama.sock)");
  line.seconds("--interval", interval_s, "seconds between two looks, at most 60 (1)");
  if (const auto ended = line.ends(arguments)) return *ended;

  auto client = client_for(socket);
  if (!client) return print(client.error()), kFailed;
  if (!is_terminal(STDOUT_FILENO)) return print_page(std::move(*client));
  EngineWatch watch(std::move(*client));
  if (auto looked = watch.look(); !looked) return print(looked.error()), kFailed;
  std::optional<Diagnostic> gone;
  const auto interval_ms = static_cast<int64_t>(std::clamp(interval_s.value_or(1) * 1e3, 50.0, 60e3));
  const int status = Top(std::move(watch), interval_ms).run(gone);
  if (gone) print_note(gone->text, gone->hint);
  return status;
}

}  // namespace trama
