#include "python/stream.hpp"

#include <poll.h>
#include <pthread.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <tuple>
#include <utility>

namespace py = pybind11;

namespace trama::python {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A signal ends a wait at once, except when it comes between looking for it and waiting; close() never does. Both are
// looked for so often.
constexpr milliseconds kSlice(100);
constexpr double kLongestTimeoutS = 1e9;

// Threads inherit the signals that are blocked: those of the library leave all of them to the program that it is in,
// but for faults of their own (faulthandler).
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

std::optional<Clock::time_point> end_of(std::optional<double> timeout_s) {
  if (!timeout_s || *timeout_s > kLongestTimeoutS) return std::nullopt;
  if (std::isnan(*timeout_s) || *timeout_s < 0) throw py::value_error("a timeout is a number of seconds from 0 on");
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*timeout_s));
}

// Until there may be something, for a slice at most.
void wait(int descriptor, std::optional<Clock::time_point> until) {
  milliseconds slice = kSlice;
  if (until) slice = std::min(slice, std::chrono::ceil<milliseconds>(*until - Clock::now()));
  pollfd event{descriptor, POLLIN, 0};
  poll(&event, 1, static_cast<int>(std::max(slice, milliseconds(0)).count()));
}

// Objects of their own, so that no text about arguments that don't fit shows a password or a key.
struct Url {
  std::string text;
};

std::unique_ptr<Stream> open(const Url& url, StartKind start, uint64_t start_at, Overflow overflow, size_t ahead,
                             bool reconnect, bool past_end, bool follow, double silence_s, uint64_t max_bytes,
                             uint64_t max_links, const SubscriberKeys& keys, const NatsFiles& nats) {
  SubscribeOptions options;
  options.start = start;
  options.start_at = start_at;
  options.overflow = overflow;
  options.ahead = ahead;
  options.reconnect = reconnect;
  options.past_end = past_end;
  options.follow = follow;
  options.silence_s = silence_s;
  options.max_bytes = max_bytes;
  options.max_links = max_links;
  options.keys = keys;
  options.nats = nats;
  return std::make_unique<Stream>(url.text, options);
}

}  // namespace

Stream::Stream(const std::string& url, const SubscribeOptions& options) : process_(getpid()) {
  auto opened = without_gil([&] {
    const SignalsBlocked blocked;
    return Subscriber::open(url, options);
  });
  if (!opened) raise(opened.error());
  subscriber_ = std::make_shared<Subscriber>(std::move(*opened));
}

// In a child process the subscriber's thread isn't there, and can't be waited for: what it used is left to the end.
// Here others wait with us: whoever minds has called close().
Stream::~Stream() {
  if (subscriber_ && forked()) [[maybe_unused]]
    const auto* left = new std::shared_ptr<Subscriber>(std::move(subscriber_));
}

bool Stream::forked() const { return getpid() != process_; }

std::shared_ptr<Subscriber> Stream::shared() const {
  if (!subscriber_) throw py::value_error("the subscriber is closed");
  if (forked()) raise({"this subscriber belongs to another process", "subscribe after the fork, not before it"});
  return subscriber_;
}

Next Stream::take(Subscriber& subscriber) {
  const std::lock_guard lock(one_at_a_time_);
  return subscriber.next(milliseconds(0));
}

py::object Stream::next(std::optional<double> timeout_s) {
  const auto until = end_of(timeout_s);
  for (;;) {
    auto subscriber = shared();
    Next next = without_gil([&] {
      const auto kept = std::move(subscriber);  // maybe the last: its end waits for a thread, and nobody with it
      Next taken = take(*kept);
      if (taken.outcome != Outcome::timeout || (until && Clock::now() >= *until)) return taken;
      wait(kept->descriptor(), until);
      return take(*kept);
    });
    if (next.outcome != Outcome::timeout) return to_object(std::move(next));
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (until && Clock::now() >= *until) return py::cast(Outcome::timeout);
  }
}

py::object Stream::to_object(Next next) {
  missed_at_end_ += next.outcome == Outcome::window ? 0 : next.missed;
  if (next.outcome == Outcome::error) raise(next.error);
  if (next.outcome == Outcome::window) return py::cast(std::move(*next.window));
  return py::cast(next.outcome);
}

void Stream::close() {
  if (!subscriber_ || forked()) return;
  look();
  auto last = std::exchange(subscriber_, nullptr);
  (void)without_gil([&] { return last.reset(), true; });
}

void Stream::look() {
  if (!subscriber_ || forked()) return;
  auto subscriber = subscriber_;
  std::tie(counts_, tail_) = without_gil([&] {
    const auto kept = std::move(subscriber);  // as above
    const std::lock_guard lock(one_at_a_time_);
    return std::pair(kept->counts(), kept->tail());
  });
}

StreamCounts Stream::counts() { return look(), counts_; }
VerdictCounts Stream::tail() { return look(), tail_; }
int Stream::descriptor() { return shared()->descriptor(); }

void bind_stream(py::module_& module) {
  py::enum_<StartKind>(module, "StartKind")
      .value("live", StartKind::live)
      .value("number", StartKind::number)
      .value("last", StartKind::last)
      .value("time", StartKind::time);
  py::enum_<Overflow>(module, "Overflow").value("wait", Overflow::wait).value("drop", Overflow::drop);
  py::enum_<Outcome>(module, "Outcome").value("timeout", Outcome::timeout).value("ended", Outcome::ended);
  py::class_<Url>(module, "Url").def(py::init([](std::string text) { return Url{std::move(text)}; }));
  py::class_<SubscriberKeys>(module, "Keys").def(py::init([](std::string publisher, std::string secret) {
    return SubscriberKeys{std::move(publisher), std::move(secret)};
  }));
  py::class_<NatsFiles>(module, "NatsFiles")
      .def(py::init(
          [](std::string ca, std::string certificate, std::string key, std::string credentials, std::string login) {
            return NatsFiles{std::move(ca), std::move(certificate), std::move(key), std::move(credentials),
                             std::move(login)};
          }));
  py::class_<Stream>(module, "Stream")
      .def(py::init(&open), py::arg("url"), py::kw_only(), py::arg("start"), py::arg("start_at"), py::arg("overflow"),
           py::arg("ahead"), py::arg("reconnect"), py::arg("past_end"), py::arg("follow"), py::arg("silence"),
           py::arg("max_bytes"), py::arg("max_links"), py::arg("keys"), py::arg("nats"))
      .def("next", &Stream::next, py::arg("timeout"))
      .def("close", &Stream::close)
      .def("fileno", &Stream::descriptor)
      .def_property_readonly("closed", &Stream::closed)
      .def_property_readonly("connected", &Stream::connected)
      .def_property_readonly("missed_at_end", &Stream::missed_at_end)
      .def_property_readonly("tail", [](Stream& self) { return to_dict(self.tail()); })
      .def_property_readonly("counts", [](Stream& self) {
        const StreamCounts counts = self.counts();
        return std::tuple(counts.windows, counts.missed, counts.damaged, counts.sessions);
      });
}

}  // namespace trama::python
