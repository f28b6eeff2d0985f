// trama relay: takes a stream once, and serves it to many.
#include <sys/epoll.h>

#include <cerrno>
#include <chrono>
#include <system_error>

#include "control/relay_stream.hpp"
#include "control/stream_following.hpp"
#include "control/terminal.hpp"
#include "control/verbs.hpp"
#include "modules/support/stream_keys.hpp"

namespace trama {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kUntilNote(2000);  // without a publisher, before it is said that one is waited for
constexpr int kMostTaken = 8;             // windows at once, so that subscribers are heard between them
constexpr int kMostAhead = 256;           // that can have come already

struct Wanted {
  std::string from;
  SubscribeOptions options;
  StreamConfig config;
  int linger_ms = 2000;
  bool quiet = false;
};

// Readable while one of the two is.
FileDescriptor either(int one, int other) {
  FileDescriptor both(epoll_create1(EPOLL_CLOEXEC));
  for (const int descriptor : {one, other}) {
    epoll_event event{.events = EPOLLIN, .data = {}};
    if (!both || epoll_ctl(both.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
      throw std::system_error(errno, std::generic_category(), "epoll");
  }
  return both;
}

class Relay {
 public:
  Relay(const Wanted& wanted, Subscriber subscriber, StreamListener listener)
      : wanted_(wanted), subscriber_(std::move(subscriber)), publisher_(wanted.config, std::move(listener)) {}

  int run(const EndSignals& signals) {
    const FileDescriptor wake = either(signals.descriptor(), subscriber_.descriptor());
    int status = kDone;
    for (bool over = false; !over;) {
      publisher_.serve(wake.get());
      const bool told_to_end = signals.came();
      over = !take_some(told_to_end ? kMostAhead : kMostTaken, status);
      if (told_to_end && !over) over = true, stop();
      say_if_nobody_is_there();
    }
    publisher_.finish(wanted_.linger_ms);
    return finish(status);
  }

 private:
  // What has come, up to so many. False: nothing more comes.
  bool take_some(int most, int& status) {
    for (int i = 0; i < most; ++i) {
      const Next next = subscriber_.next(milliseconds(0));
      if (next.outcome == Outcome::timeout) break;
      if (!take(next, status)) return false;
    }
    return true;
  }

  bool take(const Next& next, int& status) {
    since_ = Clock::now();
    noted_ = false;
    take_tail();
    if (next.outcome == Outcome::window) return stream_.window(*next.window), true;
    stream_.end(next.missed);
    if (next.outcome == Outcome::ended) return false;
    print(to_diagnostic(next.error));
    status = subscriber_.counts().windows == 0 ? kFailed : kLossy;
    return false;
  }

  void take_tail() {
    if (auto tail = subscriber_.take_tail()) stream_.tail(std::move(*tail));
  }

  void stop() {
    take_tail();
    stream_.end(0);
  }

  void say_if_nobody_is_there() {
    if (subscriber_.connected() || noted_ || wanted_.quiet || Clock::now() - since_ < kUntilNote) return;
    noted_ = true;
    print_note(waiting_text(wanted_.from, wanted_.options));
  }

  int finish(int status) {
    const StreamCounts came = subscriber_.counts();
    const StreamTotals& went = publisher_.totals();
    std::string text = counted(came.windows, "window") + " came, " + std::to_string(came.missed) + " were missed";
    if (came.damaged > 0) text += "; " + std::to_string(came.damaged) + " could not be read";
    if (stream_.unsent() > 0) text += "; " + std::to_string(stream_.unsent()) + " were too long to be sent on";
    text += "; " + counted(went.joined, "subscriber") + " got " + counted(went.sent, "window") +
            " in all, slow ones lost " + std::to_string(went.lost);
    const bool lossy = came.missed > 0 || came.damaged > 0 || stream_.unsent() > 0;
    if (lossy)
      print_warning(text);
    else if (!wanted_.quiet)
      print_note(text);
    return status == kDone && lossy ? kLossy : status;
  }

  const Wanted& wanted_;
  Subscriber subscriber_;
  StreamPublisher publisher_;
  RelayStream stream_{publisher_};
  Clock::time_point since_ = Clock::now();
  bool noted_ = false;
};

// Where subscribers connect to, and whether they may without keys: as the stage `publish` has it.
Expected<StreamUrl> place_to_listen(const std::string& text, const Wanted& wanted, bool insecure) {
  auto url = parse_stream_url(text);
  if (!url) return tl::unexpected(to_diagnostic(url.error()));
  if (url->way != StreamUrl::Way::tcp && url->way != StreamUrl::Way::ipc)
    return failure("--to " + shown_stream_url(text) + ": a relay is subscribed to at trama+tcp:// or trama+ipc://",
                   url->way == StreamUrl::Way::file ? "`trama subscribe -w DIR` writes archives" : "");
  if (!url->stays_on_machine() && !insecure && wanted.config.keys.secret.empty())
    return failure("--to " + shown_stream_url(text) +
                       ": other machines can listen there, and neither keys nor encryption are asked for",
                   "give --server-key and --clients (`trama key curve FILE` makes keys), listen at 127.0.0.1, or say "
                   "--insecure");
  const auto from = parse_stream_url(wanted.from);
  if (url->stream.empty() && url->way == StreamUrl::Way::tcp && from) url->stream = from->stream;
  return std::move(*url);
}

Expected<void> take_server_keys(const std::optional<std::string>& secret, const std::optional<std::string>& clients,
                                StreamKeys& keys) {
  if (!secret && !clients) return {};
  if (!secret || !clients)
    return failure("--server-key and --clients go together",
                   "the one is this relay's secret key, the other has the public keys of those who may subscribe");
  auto loaded = load_stream_keys(*secret, *clients);
  if (!loaded) return tl::unexpected(std::move(loaded.error()));
  keys = std::move(*loaded);
  return {};
}

int relay(const Wanted& wanted, const StreamUrl& to) {
  auto listener = StreamListener::open(to);
  if (!listener) return print(listener.error()), kMisused;
  raise_descriptor_limit();
  const EndSignals signals;
  auto subscriber = Subscriber::open(wanted.from, wanted.options);
  if (!subscriber) return print(to_diagnostic(subscriber.error())), kMisused;
  if (!wanted.quiet) print_note("relaying " + shown_stream_url(wanted.from) + " at " + listener->url.text());
  try {
    return Relay(wanted, std::move(*subscriber), std::move(*listener)).run(signals);
  } catch (const std::exception& error) {  // of ZeroMQ's, or out of descriptors
    print_error(std::string("the relay has failed: ") + error.what());
    return kFailed;
  }
}

}  // namespace

int relay_verb(const Arguments& arguments) {
  Wanted wanted;
  std::vector<std::string> urls;
  FollowingOptions following;
  std::optional<std::string> to, server_key, clients;
  std::optional<uint64_t> queue, subscribers;
  std::optional<double> linger_s;
  bool insecure = false;
  CommandLine line(
      "relay URL --to URL [--queue N] [--past-end]",
      "Takes a matrix stream once and serves it to many, window by window as it came: the same numbers, gaps and\n"
      "restarts. Windows are checked before they are passed on. Subscribers that are slow lose windows of their own.\n"
      "Ends with its publisher's run, or on SIGTERM; with status 3 when windows were missed.",
      "  trama relay trama+tcp://dpu:7801/roof --to trama+tcp://127.0.0.1:7802/roof\n"
      "  trama relay trama+tcp://dpu:7801/roof --publisher-key dpu.pub --stream-key relay.curve \\\n"
      "              --to trama+tcp://0.0.0.0:7802/roof --server-key relay.curve --clients clients.txt\n");
  line.text("--to", to, "URL", "where subscribers connect to: trama+tcp://HOST:PORT/STREAM or trama+ipc://PATH");
  line.integer("--queue", queue, 1, 4096, "N", "windows kept for subscribers that are slow or come late (16)");
  line.integer("--subscribers", subscribers, 1, 4096, "N", "the most subscribers at a time (64)");
  line.seconds("--linger", linger_s, "at the end: the longest wait for subscribers to take what is left (2)");
  line.flag("--past-end", wanted.options.past_end, "go on with the publisher's next run when one has ended");
  line.text("--server-key", server_key, "FILE", "secret key of this relay; subscribers then need keys, too");
  line.text("--clients", clients, "FILE", "public keys of those who may subscribe, one a line");
  line.flag("--insecure", insecure, "let other machines listen without keys and encryption");
  following.add_to(line);
  line.flag("-q,--quiet", wanted.quiet, "no notes");
  line.words(urls, "URL", 1, 1);
  if (const auto ended = line.ends(arguments)) return *ended;
  if (!to) return print_error("--to is missing: the URL where subscribers connect to"), kMisused;
  wanted.from = urls[0];
  wanted.config.queue = queue.value_or(wanted.config.queue);
  wanted.config.subscribers = subscribers.value_or(wanted.config.subscribers);
  wanted.config.passes_on = true;
  wanted.linger_ms = static_cast<int>(std::min(linger_s.value_or(2), 3600.0) * 1e3);
  // What the publisher still has: a relay that is started again goes on where it was.
  wanted.options.start = StartKind::last;
  wanted.options.start_at = wanted.config.queue;
  if (const auto fine = following.apply_to(wanted.options); !fine) return print(fine.error()), kMisused;
  if (const auto fine = take_server_keys(server_key, clients, wanted.config.keys); !fine)
    return print(fine.error()), kMisused;
  const auto place = place_to_listen(*to, wanted, insecure);
  if (!place) return print(place.error()), kMisused;
  return relay(wanted, *place);
}

}  // namespace trama
