#include "control/metrics.hpp"

#include <arpa/inet.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "control/published_tally.hpp"
#include "libclient/formats/file_bytes.hpp"

namespace trama {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

// Families in the order in which they are begun.
class Families {
 public:
  void begin(const char* name, const char* help, MetricType type) { all_.push_back({name, help, type, {}}); }
  void counter(const char* name, const char* help) { begin(name, help, MetricType::Counter); }
  void gauge(const char* name, const char* help) { begin(name, help, MetricType::Gauge); }

  // A sample of the family begun last.
  template <class Number>
  void add(Number value, Labels labels = {}) {
    ClientMetric metric;
    metric.label = std::move(labels);
    (all_.back().type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = static_cast<double>(value);
    all_.back().metric.push_back(std::move(metric));
  }
  std::vector<MetricFamily> take() { return std::move(all_); }

 private:
  std::vector<MetricFamily> all_;
};

void add_run(const EngineStatus& status, Families& families) {
  families.gauge("trama_build_info", "1, with the version of the program and the hash of the graph");
  families.add(1, {{"version", status.version}, {"graph", status.graph}});
  families.gauge("trama_start_time_seconds", "when the run began, since the epoch");
  families.add(static_cast<double>(status.started_ns) * 1e-9);
  families.gauge("trama_workers", "threads that run stages");
  families.add(status.workers);
  families.gauge("trama_stopping", "1 once the sources have been told to stop");
  families.add(status.stopping ? 1 : 0);
}

void add_packets(const EngineStatus& status, Families& families) {
  const Tally& tally = status.tally;
  families.counter("trama_packets_read_total", "packets that sources have handed on");
  families.add(status.packets_read);
  families.counter("trama_bytes_read_total", "bytes that sources have read");
  families.add(status.bytes_read);
  families.counter("trama_packets_total", "packets by verdict");
  for (const auto& [name, verdict] : kVerdictNames) families.add(tally[verdict], {{"verdict", name}});
  families.add(tally.excluded(), {{"verdict", "excluded"}});
  families.counter("trama_excluded_total", "excluded packets by reason");
  for (const auto& [name, verdict] : kExcludedNames) families.add(tally[verdict], {{"by", name}});
  families.counter("trama_dropped_total", "packets lost before the engine saw them");
  for (const auto& [name, value] : kDroppedNames) families.add(tally.*value, {{"where", name}});
  families.counter("trama_removed_in_kernel_total", "packets that an XDP program removed in the kernel");
  families.add(tally.removed_in_kernel);
}

void add_windows(const EngineStatus& status, Families& families) {
  families.counter("trama_windows_total", "finished windows");
  for (const auto& [name, value] : kWindowNames) families.add(status.tally.*value, {{"kind", name}});
  families.counter("trama_windows_lost_total", "windows that could not be written");
  families.add(status.windows_lost);
  families.counter("trama_archives_total", "archives that are complete");
  families.add(status.archives);
}

template <class Value>
void add_replicas(const EngineStatus& status, Families& families, Value value) {
  for (const StageStatus& stage : status.stages)
    for (size_t i = 0; i < stage.replicas.size(); ++i)
      families.add(stage.replicas[i].*value,
                   {{"stage", stage.name}, {"kind", stage.kind}, {"replica", std::to_string(i)}});
}

void add_stages(const EngineStatus& status, Families& families) {
  families.counter("trama_stage_busy_seconds_total", "time that a replica of a stage was being run");
  add_replicas(status, families, &ReplicaStatus::busy_s);
  families.counter("trama_stage_messages_total", "messages that a replica has done with");
  add_replicas(status, families, &ReplicaStatus::messages);
  families.counter("trama_stage_items_total", "packets or pairs in what a replica has handed on");
  add_replicas(status, families, &ReplicaStatus::items);
  families.counter("trama_stage_blocked_total", "times that a replica found no credit");
  add_replicas(status, families, &ReplicaStatus::blocked);
  families.counter("trama_stage_lost_total", "messages that passed a stage by that may lose");
  for (const StageStatus& stage : status.stages)
    families.add(stage.lost, {{"stage", stage.name}, {"kind", stage.kind}});
  families.gauge("trama_stage_queue_peak_messages", "most messages that were waiting for a stage at once");
  for (const StageStatus& stage : status.stages)
    families.add(stage.queue_peak, {{"stage", stage.name}, {"kind", stage.kind}});
}

void add_streams(const EngineStatus& status, Families& families) {
  if (status.outlets.empty()) return;
  families.gauge("trama_stream_subscribers", "those who follow now");
  for (const OutletReport& outlet : status.outlets) families.add(outlet.counts.subscribers, {{"stage", outlet.stage}});
  families.gauge("trama_stream_waiting_windows", "windows that wait for a NATS server to have them");
  for (const OutletReport& outlet : status.outlets) families.add(outlet.counts.waiting, {{"stage", outlet.stage}});
  families.counter(
      "trama_stream_windows_total",
      "windows that were sent, lost by slow subscribers, not found in archives, stored by NATS or not, or too "
      "long");
  for (const OutletReport& outlet : status.outlets)
    for (const auto& [what, count] : kOutletCountNames)
      if (const std::string_view name = what; name == "sent" || name == "lost" || name == "not_replayed" ||
                                              name == "stored" || name == "not_stored" || name == "too_long")
        families.add(outlet.counts.*count, {{"stage", outlet.stage}, {"what", what}});
  families.counter("trama_stream_turned_away_total",
                   "those who wanted to follow, and were refused or had no right key");
  for (const OutletReport& outlet : status.outlets) {
    families.add(outlet.counts.refused, {{"stage", outlet.stage}, {"why", "refused"}});
    families.add(outlet.counts.shut_out, {{"stage", outlet.stage}, {"why", "shut_out"}});
  }
}

class Collector final : public prometheus::Collectable {
 public:
  explicit Collector(const EngineState& state) : state_(state) {}
  std::vector<MetricFamily> Collect() const override { return metric_families(state_.status()); }

 private:
  const EngineState& state_;
};

// Connects, and says nothing. Where all addresses are listened at, 0.0.0.0 is this machine.
void call(const MetricsAddress& address) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(address.port);
  to.sin_addr.s_addr = htonl(address.host);
  const FileDescriptor caller(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (caller) (void)!connect(caller.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

}  // namespace

std::vector<MetricFamily> metric_families(const EngineStatus& status) {
  Families families;
  add_run(status, families);
  add_packets(status, families);
  add_windows(status, families);
  add_stages(status, families);
  add_streams(status, families);
  return families.take();
}

Metrics::Metrics(MetricsAddress address) : address_(std::move(address)) {}

// The HTTP server looks only every other second whether it is to end, unless somebody calls: nobody shall wait for that
// at the end of a run.
Metrics::~Metrics() {
  if (!exposer_) return;
  std::atomic<bool> gone{false};
  std::thread caller;
  try {
    caller = std::thread([&] {
      while (!gone) {
        call(address_);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
  } catch (const std::system_error&) {  // then it takes longer
  }
  exposer_.reset();
  gone = true;
  if (caller.joinable()) caller.join();
}

Expected<std::unique_ptr<Metrics>> Metrics::open(const MetricsAddress& address, const EngineState& state) {
  std::unique_ptr<Metrics> metrics(new Metrics(address));
  try {
    // A scraper that is slow to ask gives its thread back soon.
    metrics->exposer_ = std::make_unique<prometheus::Exposer>(
        std::vector<std::string>{"listening_ports", address.text(), "num_threads", "2", "request_timeout_ms", "5000"});
  } catch (const std::exception&) {
    return failure("can't listen at " + address.text() + " for metrics",
                   "another program may: `ss -ltnp` tells; below port 1024 it takes root", {"--metrics", 0});
  }
  metrics->collector_ = std::make_shared<Collector>(state);
  metrics->exposer_->RegisterCollectable(metrics->collector_);
  if (const auto ports = metrics->exposer_->GetListeningPorts(); !ports.empty())
    metrics->address_.port = static_cast<uint16_t>(ports.front());
  return metrics;
}

}  // namespace trama
