// trama subscribe: prints or saves a matrix stream.
#include <poll.h>

#include <chrono>
#include <optional>

#include "control/stream_following.hpp"
#include "control/subscribe_output.hpp"
#include "control/terminal.hpp"
#include "control/verbs.hpp"
#include "libclient/formats/stream_url.hpp"
#include "libclient/subscriber.hpp"

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
        print_note(waiting_text(wanted_.url, wanted_.options));
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
      print_error("no window came from " + shown_stream_url(wanted_.url));
      return kFailed;
    }
    const bool lossy = counts.missed > 0 || counts.damaged > 0;
    if (lossy)
      print_warning(counted(counts.windows, "window") + " came, " + std::to_string(counts.missed) + " were missed" +
                        (counts.damaged > 0 ? "; " + std::to_string(counts.damaged) + " could not be read" : ""),
                    counts.damaged > 0 && wanted_.url.starts_with("file:") ? "`trama verify` says which, and why" : "");
    return status == kDone && lossy ? kLossy : status;
  }

  const Wanted& wanted_;
  Subscriber subscriber_;
  DataOutput output_;
  WindowLines lines_;
  std::optional<WindowArchives> archives_;
  bool timed_out_ = false;
};

}  // namespace

int subscribe_verb(const Arguments& arguments) {
  Wanted wanted;
  std::vector<std::string> urls;
  FollowingOptions following;
  bool no_follow = false, drop = false, past_end = false;
  CommandLine line(
      "subscribe URL [--json] [-w DIR] [--count N] [--timeout S]",
      "Prints or saves a matrix stream: a line for each window as it comes. A URL is that of a publisher,\n"
      "trama+tcp://HOST:PORT/STREAM or trama+ipc://PATH, of a subject of a NATS server,\n"
      "nats://HOST:PORT/SUBJECT or nats+tls://, or a folder of archives, file:///FOLDER.\n"
      "Ends with status 3 when windows were missed.",
      "  trama subscribe trama+tcp://127.0.0.1:7801/roof\n"
      "  trama subscribe --json --last 10 trama+ipc:///run/trama/roof.sock | jq .n_links\n"
      "  trama subscribe -w copy --no-follow file:///var/lib/trama/eth0/trama-out\n");
  line.flag("--json", wanted.json, "a JSON object a line, with the quantities that inspect gives");
  line.text("-w", wanted.directory, "DIR", "write archives there again, and no lines without --json");
  line.integer("--windows-per-archive", wanted.windows_per_archive, 1, 1u << 20, "N", "of -w (64)");
  line.integer("--count", wanted.count, 1, UINT64_MAX, "N", "end after so many windows");
  line.seconds("--timeout", wanted.timeout_s, "end when no window has come for so many seconds");
  line.flag("--no-follow", no_follow, "of a folder: from its first window to its last, then end");
  line.flag("--past-end", past_end, "wait for the publisher's next run when one has ended");
  line.flag("--drop", drop, "drop windows here when they come too fast, the oldest first");
  following.add_to(line);
  line.flag("-q,--quiet", wanted.quiet, "no notes");
  line.words(urls, "URL", 1, 1);
  if (const auto ended = line.ends(arguments)) return *ended;
  wanted.url = urls[0];
  SubscribeOptions& options = wanted.options;
  // Nothing comes behind the end of a folder that isn't followed.
  if (no_follow) options.start = StartKind::number, options.start_at = 0;
  options.follow = !no_follow;
  options.past_end = past_end;
  options.overflow = drop ? Overflow::drop : Overflow::wait;
  if (const auto fine = following.apply_to(options); !fine) return print(fine.error()), kMisused;
  if (wanted.directory)
    if (const auto usable = check_output_folder(*wanted.directory); !usable) return print(usable.error()), kMisused;
  const EndSignals signals;  // before the subscriber's thread, which then has them blocked too
  auto subscriber = Subscriber::open(wanted.url, options);
  if (!subscriber) return print(to_diagnostic(subscriber.error())), kMisused;
  return Follower(wanted, std::move(*subscriber)).run(signals);
}

}  // namespace trama
