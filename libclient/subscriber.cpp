#include "libclient/subscriber.hpp"

#include <system_error>
#include <utility>

#include "libclient/gap_counter.hpp"
#include "libclient/stream_queue.hpp"
#include "libclient/transports/transport.hpp"

namespace trama {
namespace {

constexpr size_t kMostAhead = 256;

FormatExpected<void> check(const SubscribeOptions& options) {
  if (options.ahead < 1 || options.ahead > kMostAhead) return format_failure("`ahead` is not in 1 .. 256");
  if (!(options.silence_s > 0)) return format_failure("`silence_s` is not above 0");
  return {};
}

std::optional<uint64_t> number_to_begin_at(const SubscribeOptions& options) {
  if (options.start != StartKind::number) return std::nullopt;
  return options.start_at;
}

}  // namespace

struct Subscriber::State {
  explicit State(const SubscribeOptions& options)
      : max_links(options.max_links), queue(options.ahead), gaps(number_to_begin_at(options)) {}
  ~State() { queue.close(); }

  // True when `result` is what next() gives.
  bool take(StreamItem item, Next& result);
  bool take_window(StreamItem item, Next& result);
  void take_tail(StreamItem item);

  const uint64_t max_links;
  StreamQueue queue;
  GapCounter gaps;
  TransportCounts transport_counts;
  StreamCounts counts;
  VerdictCounts tail;
  std::optional<WindowInfo> untaken_tail;
  std::unique_ptr<Transport> transport;  // goes first: it uses the queue
};

FormatExpected<Subscriber> Subscriber::open(std::string_view url, const SubscribeOptions& options) try {
  const auto parsed = parse_stream_url(url);
  if (!parsed) return tl::unexpected(parsed.error());
  if (auto fine = check(options); !fine) return tl::unexpected(std::move(fine.error()));
  auto state = std::make_unique<State>(options);
  if (parsed->way == StreamUrl::Way::file) {
    auto transport = follow_folder(*parsed, options, state->queue, state->transport_counts);
    if (!transport) return tl::unexpected(std::move(transport.error()));
    state->transport = std::move(*transport);
  } else if (parsed->way == StreamUrl::Way::nats) {
    auto transport = follow_nats(*parsed, options, state->queue, state->transport_counts);
    if (!transport) return tl::unexpected(std::move(transport.error()));
    state->transport = std::move(*transport);
  } else {
    state->transport = follow_publisher(*parsed, options, state->queue, state->transport_counts);
  }
  return Subscriber(std::move(state));
} catch (const std::exception& error) {
  return format_failure(std::string("can't subscribe: ") + error.what());
}

Subscriber::Subscriber(std::unique_ptr<State> state) : state_(std::move(state)) {}
Subscriber::~Subscriber() = default;
Subscriber::Subscriber(Subscriber&&) noexcept = default;
Subscriber& Subscriber::operator=(Subscriber&&) noexcept = default;

Next Subscriber::next(std::chrono::milliseconds timeout) {
  const auto until = std::chrono::steady_clock::now() + timeout;
  Next result;
  while (auto item = state_->queue.take(until))
    if (state_->take(std::move(*item), result)) break;
  return result;
}

bool Subscriber::State::take(StreamItem item, Next& result) {
  switch (item.kind) {
    case StreamItem::Kind::begin: gaps.begin(item.run, item.number); return false;
    case StreamItem::Kind::pass: gaps.pass(item.number); return false;
    case StreamItem::Kind::window: return take_window(std::move(item), result);
    case StreamItem::Kind::tail:
      gaps.pass(item.number);
      gaps.leave_out(item.go_on);
      take_tail(std::move(item));
      return false;
    case StreamItem::Kind::end: break;
    case StreamItem::Kind::error: break;
  }
  gaps.pass(item.number);
  result.outcome = item.kind == StreamItem::Kind::end ? Outcome::ended : Outcome::error;
  result.missed = gaps.take().missed;
  result.error = std::move(item.error);
  counts.missed += result.missed;
  return true;
}

void Subscriber::State::take_tail(StreamItem item) {
  tail += item.info.verdicts;
  if (untaken_tail && untaken_tail->run == item.info.run) item.info.verdicts += untaken_tail->verdicts;
  untaken_tail = std::move(item.info);
  untaken_tail->seq = item.number;
}

bool Subscriber::State::take_window(StreamItem item, Next& result) {
  const auto before = gaps.arrive(item.info.seq);
  if (!before) return false;
  auto window = StreamWindow::decode(std::move(item.info), std::move(item.matrix), max_links);
  if (!window) {
    ++counts.damaged;
    gaps.lose(*before);
    return false;
  }
  window->missed = before->missed;
  window->restarted = before->restarted;
  ++counts.windows;
  counts.missed += before->missed;
  result.outcome = Outcome::window;
  result.window.emplace(std::move(*window));
  return true;
}

int Subscriber::descriptor() const { return state_->queue.descriptor(); }

StreamCounts Subscriber::counts() const {
  StreamCounts counts = state_->counts;
  counts.damaged += state_->transport_counts.damaged.load(std::memory_order_relaxed);
  counts.sessions = state_->transport_counts.sessions.load(std::memory_order_relaxed);
  return counts;
}

const VerdictCounts& Subscriber::tail() const { return state_->tail; }
std::optional<WindowInfo> Subscriber::take_tail() { return std::exchange(state_->untaken_tail, std::nullopt); }
bool Subscriber::connected() const { return state_->transport_counts.connected.load(std::memory_order_relaxed); }

}  // namespace trama
