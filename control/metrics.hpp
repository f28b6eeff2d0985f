// Metrics for Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats/, at http://ADDRESS:PORT/metrics.
//
// Every scrape reads the counters as they are then. Names and units are Prometheus's (base units, `_total` for what
// only grows); labels are names of stages, kinds, verdicts and places of loss. No addresses.
#pragma once
#include <prometheus/metric_family.h>

#include <memory>
#include <string>
#include <vector>

#include "control/engine_state.hpp"
#include "control/metrics_address.hpp"

namespace prometheus {
class Collectable;
class Exposer;
}  // namespace prometheus

namespace trama {

std::vector<prometheus::MetricFamily> metric_families(const EngineStatus& status);

// Answers scrapes from the start, in threads of its own, until it goes.
class Metrics {
 public:
  // `state` must live as long. Fails where the address can't be listened at.
  static Expected<std::unique_ptr<Metrics>> open(const MetricsAddress& address, const EngineState& state);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  std::string url() const { return "http://" + address_.text() + "/metrics"; }

 private:
  explicit Metrics(MetricsAddress address);
  MetricsAddress address_;  // with the port that it came to be
  std::shared_ptr<prometheus::Collectable> collector_;
  std::unique_ptr<prometheus::Exposer> exposer_;  // first to go: it asks the collector
};

}  // namespace trama
