#include "control/stream_following.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "libclient/formats/stream_url.hpp"
#include "modules/support/stream_keys.hpp"

namespace trama {

EndSignals::EndSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  descriptor_ = FileDescriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// What has come is taken out first: it has been obeyed, and would else kill this process when it isn't blocked any
// more.
EndSignals::~EndSignals() {
  signalfd_siginfo came;
  while (read(descriptor_.get(), &came, sizeof came) > 0) continue;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool EndSignals::came() const {
  pollfd event{descriptor_.get(), POLLIN, 0};
  return poll(&event, 1, 0) > 0;
}

void FollowingOptions::add_to(CommandLine& line) {
  line.integer("--number", number_, 0, UINT64_MAX, "N", "begin with this window of the run (with the next one)");
  line.integer("--last", last_, 1, UINT64_MAX, "N", "begin with the last N windows that are there");
  line.integer("--since", since_ns_, 0, INT64_MAX, "NS",
               "begin with packets of this time, nanoseconds since the epoch");
  line.integer("--ahead", ahead_, 1, 256, "N", "windows that may wait here (8)");
  line.text("--publisher-key", publisher_key_, "FILE", "the publisher's public key, for encrypted streams");
  line.text("--stream-key", stream_key_, "FILE", "the secret key of this subscriber (`trama key curve FILE`)");
  line.text("--ca", ca_, "FILE", "of nats+tls: certificates of the authorities that the server's must be of");
  line.text("--certificate", certificate_, "FILE", "of nats+tls: of this subscriber, with --certificate-key");
  line.text("--certificate-key", certificate_key_, "FILE", "of nats+tls: the key of --certificate");
  line.text("--credentials", credentials_, "FILE", "of NATS: as its tools make them");
  line.text("--login", login_, "FILE", "of NATS: USER:PASSWORD, or a token");
}

Expected<void> FollowingOptions::apply_to(SubscribeOptions& options) const {
  if (number_.has_value() + last_.has_value() + since_ns_.has_value() > 1)
    return failure("--number, --last and --since exclude each other");
  if (number_) options.start = StartKind::number, options.start_at = *number_;
  if (last_) options.start = StartKind::last, options.start_at = *last_;
  if (since_ns_) options.start = StartKind::time, options.start_at = *since_ns_;
  options.ahead = ahead_.value_or(options.ahead);
  options.nats = {ca_.value_or(""), certificate_.value_or(""), certificate_key_.value_or(""), credentials_.value_or(""),
                  login_.value_or("")};
  if (!publisher_key_ && !stream_key_) return {};
  if (!publisher_key_ || !stream_key_)
    return failure(
        "--publisher-key and --stream-key go together",
        "the one is the publisher's public key, the other the secret key of this subscriber (`trama key curve "
        "FILE` makes one)");
  auto open_key = load_stream_public(*publisher_key_);
  if (!open_key) return tl::unexpected(std::move(open_key.error()));
  auto secret = load_stream_secret(*stream_key_);
  if (!secret) return tl::unexpected(std::move(secret.error()));
  options.keys = {std::move(*open_key), std::move(*secret)};
  return {};
}

std::string waiting_text(const std::string& url, const SubscribeOptions& options) {
  const std::string waiting = "waiting for a publisher at " + shown_stream_url(url);
  const auto parsed = parse_stream_url(url);
  if (parsed && parsed->way == StreamUrl::Way::nats) return waiting + ", or for the NATS server";
  if (!options.keys.publisher.empty())
    return waiting + "; one with another key, or that doesn't know yours, or has none, doesn't answer";
  return waiting + "; one that wants keys doesn't answer without";
}

}  // namespace trama
