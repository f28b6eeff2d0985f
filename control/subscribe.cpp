// trama subscribe: prints or saves a matrix stream.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>

#include "control/subscribe_output.hpp"
#include "control/terminal.hpp"
#include "control/verbs.hpp"
#include "libclient/formats/file_bytes.hpp"
#include "libclient/subscriber.hpp"
#include "modules/support/stream_keys.hpp"

namespace trama {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kUntilNote(2000);  // without a publisher, before it is said that one is waited for

struct Wanted {
  std::string url;
  SubscribeOptions options;
  bool json = false, quiet = false;
  std::optional<std::string> directory;
  std::optional<uint64_t> count, windows_per_archive;
  std::optional<double> timeout_s;
};

// SIGINT and SIGTERM end the stream as its end would.
class EndSignals {
 public:
  EndSignals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
    descriptor_ = FileDescriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~EndSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  int descriptor() const { return descriptor_.get(); }

 private:
  sigset_t before_;
  FileDescriptor descriptor_;
};

class Follower {
 public:
  Follower(const Wanted& wanted, Subscriber subscriber)
      : wanted_(wanted), subscriber_(std::move(subscriber)), lines_(output_, wanted.json) {
    if (wanted.directory) archives_.emplace(*wanted.directory, wanted.windows_per_archive.value_or(64));
  }

  int run(const EndSignals& signals) {
    auto waiting_since = Clock::now();
    bool noted = wanted_.quiet;
    while (!done() && output_.alive()) {
      pollfd events[] = {{signals.descriptor(), POLLIN, 0}, {subscriber_.descriptor(), POLLIN, 0}};
      poll(events, 2, static_cast<int>(wait(waiting_since).count()));
      if (events[0].revents != 0) break;
      const Next next = subscriber_.next(milliseconds(0));
      const auto now = Clock::now();
      if (next.outcome == Outcome::window) {
        if (!take(*next.window)) return finish(kFailed);
        waiting_since = now;
        noted = wanted_.quiet;
      } else if (next.outcome == Outcome::ended) {
        break;
      } else if (next.outcome == Outcome::error) {
        print(to_diagnostic(next.error));
        return finish(subscriber_.counts().windows == 0 ? kFailed : kLossy);
      } else if (wanted_.timeout_s && now - waiting_since > std::chrono::duration<double>(*wanted_.timeout_s)) {
        timed_out_ = true;
        break;
      } else if (!noted && !subscriber_.connected() && now - waiting_since > kUntilNote) {
        noted = true;
        print_note("waiting for a publisher at " + wanted_.url +
                   "; one that asks for keys doesn't answer those it doesn't know");
      }
    }
    return finish(kDone);
  }

 private:
  bool done() const { return wanted_.count && subscriber_.counts().windows >= *wanted_.count; }

  milliseconds wait(Clock::time_point waiting_since) const {
    if (!wanted_.timeout_s) return milliseconds(1000);
    const auto gone = std::chrono::duration<double>(Clock::now() - waiting_since).count();
    const double left_ms = std::clamp((*wanted_.timeout_s - gone) * 1e3, 0.0, 1000.0);
    return milliseconds(static_cast<int64_t>(left_ms) + 1);
  }

  bool take(const StreamWindow& window) {
    if (archives_) {
      if (auto written = archives_->window(window); !written) return print(written.error()), false;
      say_finished();
    }
    if (!archives_ || wanted_.json) lines_.window(window);
    return true;
  }

  void say_finished() {
    for (const auto& archive : archives_->take_finished())
      if (!wanted_.quiet) print_note("wrote " + printable(archive.string()));
  }

  int finish(int status) {
    if (archives_) {
      if (auto finished = archives_->finish(subscriber_.tail()); !finished) {
        print(finished.error());
        status = kFailed;
      }
      say_finished();
    }
    if (!output_.finish()) return kFailed;
    const StreamCounts counts = subscriber_.counts();
    if (timed_out_ && counts.windows == 0) {
      print_error("no window came from " + wanted_.url);
      return kFailed;
    }
    const bool lossy = counts.missed > 0 || counts.damaged > 0;
    if (lossy)
      print_warning(counted(counts.windows, "window") + " came, " + std::to_string(counts.missed) + " were missed" +
                    (counts.damaged > 0 ? "; " + std::to_string(counts.damaged) + " could not be read" : ""));
    return status == kDone && lossy ? kLossy : status;
  }

  const Wanted& wanted_;
  Subscriber subscriber_;
  DataOutput output_;
  WindowLines lines_;
  std::optional<WindowArchives> archives_;
  bool timed_out_ = false;
};

Expected<void> take_keys(const std::optional<std::string>& publisher, const std::optional<std::string>& own,
                         SubscriberKeys& keys) {
  if (!publisher && !own) return {};
  if (!publisher || !own) return failure("--publisher-key and --stream-key go together");
  auto open_key = load_stream_public(*publisher);
  if (!open_key) return tl::unexpected(std::move(open_key.error()));
  auto secret = load_stream_secret(*own);
  if (!secret) return tl::unexpected(std::move(secret.error()));
  keys = {std::move(*open_key), std::move(*secret)};
  return {};
}

}  // namespace

int subscribe_verb(const Arguments& arguments) {
  Wanted wanted;
  std::vector<std::string> urls;
  std::optional<uint64_t> number, last, since_ns, ahead;
  std::optional<std::string> publisher_key, stream_key;
  bool no_follow = false, drop = false, past_end = false;
  CommandLine line(
      "subscribe URL [--json] [-w DIR] [--count N] [--timeout S]",
      "Prints or saves a matrix stream: a line for each window as it comes. A URL is that of a publisher,\n"
      "trama+tcp://HOST:PORT/STREAM or trama+ipc://PATH, or a folder of archives, file:///FOLDER.\n"
      "Ends with status 3 when windows were missed.",
      "  trama subscribe trama+tcp://127.0.0.1:7801/roof\n"
      "  trama subscribe --json --last 10 trama+ipc:///run/trama/roof.sock | jq .n_links\n"
      "  trama subscribe -w copy --no-follow file:///var/lib/trama/eth0/trama-out\n");
  line.flag("--json", wanted.json, "a JSON object a line, with the quantities that inspect gives");
  line.text("-w", wanted.directory, "DIR", "write archives there again, and no lines without --json");
  line.integer("--windows-per-archive", wanted.windows_per_archive, 1, 1u << 20, "N", "of -w (64)");
  line.integer("--count", wanted.count, 1, UINT64_MAX, "N", "end after so many windows");
  line.seconds("--timeout", wanted.timeout_s, "end when no window has come for so many seconds");
  line.integer("--number", number, 0, UINT64_MAX, "N", "begin with this window of the run (with the next one)");
  line.integer("--last", last, 1, UINT64_MAX, "N", "begin with the last N windows that are there");
  line.integer("--since", since_ns, 0, INT64_MAX, "NS", "begin with packets of this time, nanoseconds since the epoch");
  line.flag("--no-follow", no_follow, "of a folder: from its first window to its last, then end");
  line.flag("--past-end", past_end, "wait for the publisher's next run when one has ended");
  line.flag("--drop", drop, "drop windows here when they come too fast, the oldest first");
  line.integer("--ahead", ahead, 1, 256, "N", "windows that may wait here (8)");
  line.text("--publisher-key", publisher_key, "FILE", "the publisher's public key, for encrypted streams");
  line.text("--stream-key", stream_key, "FILE", "the secret key of this subscriber (`trama key curve FILE`)");
  line.flag("-q,--quiet", wanted.quiet, "no notes");
  line.words(urls, "URL", 1, 1);
  if (const auto ended = line.ends(arguments)) return *ended;
  if (number.has_value() + last.has_value() + since_ns.has_value() > 1)
    return print_error("--number, --last and --since exclude each other"), kMisused;

  wanted.url = urls[0];
  SubscribeOptions& options = wanted.options;
  // Nothing comes behind the end of a folder that isn't followed.
  if (no_follow) options.start = StartKind::number, options.start_at = 0;
  if (number) options.start = StartKind::number, options.start_at = *number;
  if (last) options.start = StartKind::last, options.start_at = *last;
  if (since_ns) options.start = StartKind::time, options.start_at = *since_ns;
  options.follow = !no_follow;
  options.past_end = past_end;
  options.overflow = drop ? Overflow::drop : Overflow::wait;
  options.ahead = ahead.value_or(options.ahead);
  if (const auto taken = take_keys(publisher_key, stream_key, options.keys); !taken)
    return print(taken.error()), kMisused;
  if (wanted.directory)
    if (const auto usable = check_output_folder(*wanted.directory); !usable) return print(usable.error()), kMisused;
  const EndSignals signals;  // before the subscriber's thread, which then has them blocked too
  auto subscriber = Subscriber::open(wanted.url, options);
  if (!subscriber) return print(to_diagnostic(subscriber.error())), kMisused;
  return Follower(wanted, std::move(*subscriber)).run(signals);
}

}  // namespace trama
