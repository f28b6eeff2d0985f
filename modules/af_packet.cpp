// af_packet: captures from network interfaces, through rings that the kernel fills (TPACKET_V3).
//
//   [stages.af_packet]
//   interfaces = ["eth0", "eth1"]   # or "any"
//   promiscuous = true
//   direction = "both"              # in, out
//   snap_bytes = 512                # of each packet
//   ring_bytes = 67_108_864         # of each interface and replica
//   block_timeout_ms = 8            # longest wait of a packet whose block isn't full
//   fanout = "hash"                 # how replicas share an interface: hash, balance, cpu, queue
//   packets = 0                     # stop after so many; 0: never
//   role = "tap"                    # where filters may judge in the kernel: docs/filters.md
//   kernel_filters = ["filters/privacy_ranges.bpf.o"]
//   kernel_ranges = ["10.0.0.0/8"]
//
// A source of PacketBatch. Packets point into the kernel's ring; a block goes back when the last batch that points into
// it is let go. A batch never spans two blocks. Batches without packets go out ten times a second when nothing comes,
// and when losses or other rules must be known further on.
//
// With replicas, each has a ring of its own for each interface and gets its share of the packets. What was lost is
// exact: when the run ends, admission is shut first, then what was received is read, until as much has been read as the
// kernel says that it has put into the rings.
#include <ctime>
#include <utility>

#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/header_walk.hpp"
#include "modules/support/kernel_filters.hpp"
#include "modules/support/packet_capture.hpp"
#include "modules/support/packet_socket_waiter.hpp"

namespace trama {
namespace {

constexpr int64_t kTickNs = 100'000'000;          // time passes for windows, too, when nothing comes
constexpr int64_t kStatisticsNs = 1'000'000'000;  // how often the kernel is asked what it has lost
constexpr int64_t kPatienceNs = 2'000'000'000;    // at the end, with packets that it says it has received

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

class AfPacket final : public Stage<void, PacketBatch> {
 public:
  struct Parameters {
    PacketCaptureOptions capture;
    KernelFilterParameters kernel;
    Place place;
    void bind(ParameterBinder& binder) {
      PacketSocketOptions& socket = capture.socket;
      binder.texts("interfaces", capture.interfaces, "interfaces to capture from; any: all of them");
      binder.flag("promiscuous", socket.promiscuous, "see what is sent to others, too");
      binder.choice("direction", socket.direction,
                    {{"both", PacketDirection::both}, {"in", PacketDirection::in}, {"out", PacketDirection::out}},
                    "received packets, sent ones, or both");
      binder.integer("snap_bytes", socket.snap_bytes, 64, 65536, "bytes of each packet that are captured");
      binder.integer("ring_bytes", socket.ring_bytes, kLeastRingBytes, kMostRingBytes,
                     "of each interface and replica: what may wait there");
      binder.integer("block_timeout_ms", socket.block_timeout_ms, 1, 20,
                     "how long a packet may wait for others to fill its block");
      binder.choice("fanout", capture.fanout,
                    {{"hash", PacketFanout::hash},
                     {"balance", PacketFanout::balance},
                     {"cpu", PacketFanout::cpu},
                     {"queue", PacketFanout::queue}},
                    "how replicas share an interface: by flow, in turn, by processor or by its queues");
      binder.integer("packets", capture.packets, 0, UINT64_MAX >> 1, "stop after so many packets; 0: never");
      kernel.bind(binder);
      if (!binder.reading()) return;
      place = binder.place_of("interfaces");
      if (capture.interfaces.empty())
        binder.refuse("interfaces", "no interface to capture from", "give interfaces = [\"eth0\"], or -i IFACE");
    }
  };
  static constexpr StageInfo kInfo{.kind = "af_packet",
                                   .summary = "captures from network interfaces",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves,
                                   .numbering = Numbering::opens};

  static tl::expected<StageFactory, Diagnostics> make(const Parameters& parameters, const SetupContext& context) {
    PacketCaptureOptions options = parameters.capture;
    options.replicas = context.replicas;
    auto filters = KernelFilters::attach(options.interfaces, parameters.kernel, context.services);
    if (!filters) return tl::unexpected(std::move(filters.error()));
    if (*filters) options.socket.direction = PacketDirection::in;  // they don't judge what leaves
    auto capture = PacketCapture::open(options, context.services.get<RunReport>());
    if (!capture) {
      Diagnostic refused = std::move(capture.error());
      refused.place = parameters.place;
      return tl::unexpected(Diagnostics{std::move(refused)});
    }
    auto rules = context.services.get<RulesInForce>();
    return StageFactory(
        [capture = *capture, filters = *filters, rules](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
          return std::make_unique<AfPacket>(filters, capture, rules, replica.replica);
        });
  }
  AfPacket(std::shared_ptr<KernelFilters> filters, std::shared_ptr<PacketCapture> capture,
           std::shared_ptr<RulesInForce> rules, size_t replica)
      : filters_(std::move(filters)), capture_(std::move(capture)), rules_(std::move(rules)), is_first_(replica == 0) {
    for (size_t input = 0; input < capture_->inputs(); ++input) {
      ports_.push_back({&capture_->socket(replica, input), capture_->is_any(input)});
      waiter_.watch(ports_.back().socket->fd(), input);
    }
  }

  Step produce(Output<PacketBatch>& out) override {
    capture_->begin();
    if (capture_->quota().used_up() || unfiltered()) return Step::end;
    if (const Step step = receive(out); step != Step::idle) return step;
    const int64_t now = now_ns();
    look_around(now);
    return gone_ == ports_.size() ? Step::end : tick(now, out);
  }

  Step drain(Output<PacketBatch>& out) override {
    if (!shut_) shut();
    if (!capture_->quota().used_up() && !unfiltered()) {
      Step step;
      do step = receive(out);
      while (step == Step::done);
      if (step == Step::blocked) return Step::blocked;
    }
    if (!everything_read()) {
      look_around(now_ns());
      return Step::idle;
    }
    if (!counted_) is_last_ = capture_->replica_ended();
    counted_ = true;
    if (is_last_) unsaid_.dropped_nic += capture_->take_interface_losses();
    if (is_last_ && filters_) unsaid_.removed_in_kernel += filters_->take_removed();
    if (unsaid_ != Tally{}) {
      if (!begin(out)) return Step::blocked;
      push(0, out);
    }
    if (is_last_) capture_->report_end();
    return Step::done;
  }

  int wait_fd() const override { return waiter_.fd(); }

 private:
  struct Port {
    PacketSocket* socket;
    bool is_any;                      // packets of different link types
    bool is_down = false;             // its interface was, when it was last heard of; it may have disappeared since
    bool is_gone = false;             // its interface is no more
    uint64_t received = 0, read = 0;  // packets: put into the ring by the kernel, and read from it
  };

  bool begin(Output<PacketBatch>& out) { return batch_ || (batch_ = out.begin()); }

  // What is in the rings by now may have come past the filters: nobody may read it.
  bool unfiltered() const { return filters_ && filters_->lost(); }

  // One batch, from the next interface in turn that has packets. idle: none has.
  Step receive(Output<PacketBatch>& out) {
    for (Port& port : ports_) port.socket->ring().give_back();
    for (size_t i = 0; i < ports_.size(); ++i) {
      const size_t input = (turn_ + i) % ports_.size();
      PacketSocketRing& ring = ports_[input].socket->ring();
      const size_t ready = ring.ready();
      if (ready == 0) continue;
      if (!begin(out)) return Step::blocked;
      const uint64_t wanted = capture_->quota().reserve(std::min(ready, batch_->packets.size()));
      if (wanted == 0) return Step::idle;
      const size_t count = ring.read(std::span(batch_->packets).first(wanted), batch_->lease);
      capture_->quota().settle(wanted, count);
      take_note(input, count);
      push(count, out);
      turn_ = input + 1;
      return Step::done;
    }
    return Step::idle;
  }

  void take_note(size_t input, size_t count) {
    Port& port = ports_[input];
    port.is_down = false;
    port.read += count;
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; ++i) bytes += batch_->packets[i].original;
    capture_->captured(input, count, bytes);
    for (size_t i = 0; port.is_any && i < count; ++i)
      if (const uint16_t link_type = batch_->packets[i].link_type; !walks(link_type))
        capture_->has_link_type(input, link_type);
  }

  void push(size_t count, Output<PacketBatch>& out) {
    pushed_ns_ = now_ns();
    read_statistics_in_time(pushed_ns_);
    batch_->count = count;
    batch_->items = static_cast<uint32_t>(count);
    batch_->tally = std::exchange(unsaid_, {});
    batch_->received_ns = pushed_ns_;
    batch_->judges = filters_ ? filters_->judges() : 0;
    batch_->synthetic = false;
    const std::lock_guard lock(capture_->handing_out());
    batch_->rules = rules_->current();
    rules_id_ = batch_->rules.id();
    out.push(std::exchange(batch_, nullptr));
  }

  Step tick(int64_t now, Output<PacketBatch>& out) {
    read_statistics_in_time(now);
    const bool due = is_first_ && now - pushed_ns_ >= kTickNs;
    if (!due && unsaid_ == Tally{} && rules_->id() == rules_id_) return Step::idle;
    if (!begin(out)) return Step::blocked;
    push(0, out);
    return Step::done;
  }

  void read_statistics_in_time(int64_t now) {
    if (now - statistics_ns_ < kStatisticsNs) return;
    statistics_ns_ = now;
    read_statistics();
  }
  void read_statistics() {
    for (Port& port : ports_) {
      const PacketSocket::Counts counts = port.socket->take_counts();
      port.received += counts.received;
      unsaid_.dropped_kernel += counts.dropped;
    }
    if (!is_first_) return;
    unsaid_.dropped_nic += capture_->take_interface_losses();
    if (!filters_) return;
    unsaid_.removed_in_kernel += filters_->take_removed();
    filters_->look();
  }

  void look_around(int64_t now) {
    const bool looked = waiter_.look(now, [this](size_t input) { look_at(input); });
    for (size_t input = 0; looked && input < ports_.size(); ++input)
      if (ports_[input].is_down) look_at(input);
  }

  void look_at(size_t input) {
    Port& port = ports_[input];
    const PacketSocket::State state = port.socket->take_state();
    if (state == PacketSocket::State::down) {
      port.is_down = true;
      capture_->is_down(input);
    }
    if (state != PacketSocket::State::gone || port.is_gone) return;
    port.is_down = false;
    port.is_gone = true;
    ++gone_;
    waiter_.forget(port.socket->fd());
    capture_->is_gone(input);
  }

  void shut() {
    for (Port& port : ports_) port.socket->shut();
    under_way_.wait();
    shut_ = true;
    gives_up_ns_ = now_ns() + kPatienceNs;
  }

  // Packets that the kernel has counted but not shown after all this time count as lost in the ring.
  bool everything_read() {
    if (capture_->quota().used_up()) return true;
    read_statistics();
    const bool gives_up = unfiltered() || now_ns() >= gives_up_ns_;
    bool all = true;
    for (Port& port : ports_) {
      if (gives_up) unsaid_.dropped_ring += port.received - std::exchange(port.read, port.received);
      all = all && port.read == port.received;
    }
    return all;
  }

  std::shared_ptr<KernelFilters> filters_;  // null: none are asked for
  std::shared_ptr<PacketCapture> capture_;
  std::shared_ptr<RulesInForce> rules_;
  const bool is_first_;  // of the replicas
  std::vector<Port> ports_;
  PacketSocketWaiter waiter_{kTickNs};
  PacketsUnderWay under_way_;
  size_t turn_ = 0, gone_ = 0;
  PacketBatch* batch_ = nullptr;  // taken, and without packets so far
  Tally unsaid_;                  // losses that no batch has carried yet
  uint32_t rules_id_ = 0;         // of the batch before
  int64_t pushed_ns_ = 0, statistics_ns_ = 0, gives_up_ns_ = 0;
  bool shut_ = false, counted_ = false, is_last_ = false;
};

REGISTER_STAGE(AfPacket);

}  // namespace
}  // namespace trama
