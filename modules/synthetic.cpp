// synthetic: makes packets from a seed; for benchmarks, tests and the first run.
//
//   [stages.synthetic]
//   model = "zipf"        # uniform: any address to any; zipf: few busy sources; darknet: many sources into one /8
//   packets = 1_000_000
//   seed = 1
//   prepared = 0          # how many packets to make before the start; they then come over and over again
//
// A source of PacketBatch: raw IPv4 headers of 20 bytes, a microsecond apart from 2023-11-14 22:13:20 UTC on. The same
// parameters give the same packets on every machine. The addresses are nobody's: they are drawn, not seen.
#include <utility>

#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/run_report.hpp"
#include "modules/support/synthetic_traffic.hpp"

namespace trama {
namespace {

constexpr uint16_t kRawIp = 101;
constexpr size_t kHeaderBytes = 20;
constexpr int64_t kFirstNs = 1'700'000'000'000'000'000;
constexpr int64_t kGapNs = 1000;
constexpr uint64_t kMostPrepared = 1 << 26;

void write_header(uint8_t* at, AddressPair pair) {
  const uint8_t header[12] = {0x45, 0, 0, kHeaderBytes, 0, 0, 0, 0, 64, 17, 0, 0};  // UDP, TTL 64, no checksum
  std::memcpy(at, header, sizeof header);
  for (int i = 0; i < 4; ++i) {
    at[12 + i] = static_cast<uint8_t>(pair.source >> (24 - 8 * i));
    at[16 + i] = static_cast<uint8_t>(pair.destination >> (24 - 8 * i));
  }
}

// Headers that stand in memory, shared by all that read them.
using Prepared = std::vector<uint8_t>;

std::shared_ptr<const Prepared> prepare(TrafficModel model, uint64_t seed, uint64_t packets) {
  if (packets == 0) return nullptr;
  SyntheticTraffic traffic(model, seed);
  auto prepared = std::make_shared<Prepared>(packets * kHeaderBytes);
  for (uint64_t i = 0; i < packets; ++i) write_header(prepared->data() + i * kHeaderBytes, traffic.draw());
  return prepared;
}

class Synthetic final : public Stage<void, PacketBatch> {
 public:
  struct Parameters {
    TrafficModel model = TrafficModel::zipf;
    uint64_t packets = 1'000'000;
    uint64_t seed = 1;
    uint64_t prepared = 0;
    void bind(ParameterBinder& binder) {
      binder.choice(
          "model", model,
          {{"uniform", TrafficModel::uniform}, {"zipf", TrafficModel::zipf}, {"darknet", TrafficModel::darknet}},
          "how addresses are drawn");
      binder.integer("packets", packets, 0, UINT64_MAX >> 1, "packets to make");
      binder.integer("seed", seed, 0, UINT64_MAX >> 1, "another seed, other packets");
      binder.integer("prepared", prepared, 0, kMostPrepared,
                     "packets made before the start, that come over and over again; 0: each is made in its turn");
    }
  };
  static constexpr StageInfo kInfo{.kind = "synthetic",
                                   .summary = "makes packets from a seed, for benchmarks and the first run",
                                   .ordering = Ordering::preserves,
                                   .numbering = Numbering::opens};

  static Expected<StageFactory> make(const Parameters& parameters, const SetupContext& context) {
    auto report = context.services.get<RunReport>();
    auto rules = context.services.get<RulesInForce>();
    report->expect_bytes(parameters.packets * kHeaderBytes);
    const auto prepared = prepare(parameters.model, parameters.seed, parameters.prepared);
    return StageFactory([=](const ReplicaContext&) -> std::unique_ptr<StageBase> {
      return std::make_unique<Synthetic>(parameters, prepared, report, rules);
    });
  }
  Synthetic(const Parameters& parameters, std::shared_ptr<const Prepared> prepared, std::shared_ptr<RunReport> report,
            std::shared_ptr<RulesInForce> rules)
      : traffic_(parameters.model, parameters.seed),
        prepared_(std::move(prepared)),
        packets_(parameters.packets),
        report_(std::move(report)),
        rules_(std::move(rules)) {}

  Step produce(Output<PacketBatch>& out) override {
    if (made_ == packets_) return Step::end;
    PacketBatch* batch = out.begin();
    if (!batch) return Step::blocked;
    const size_t count = std::min<uint64_t>(batch->packets.size(), packets_ - made_);
    for (size_t i = 0; i < count; ++i) {
      const uint8_t* header = prepared_ ? next_prepared() : draw(batch->block.data() + i * kHeaderBytes);
      batch->packets[i] = {header, kFirstNs + static_cast<int64_t>(made_ + i) * kGapNs, kHeaderBytes, kHeaderBytes,
                           kRawIp};
    }
    made_ += count;
    batch->count = count;
    batch->items = static_cast<uint32_t>(count);
    batch->tally = {};
    batch->synthetic = true;
    batch->rules = rules_->current();
    batch->judges = 0;
    batch->received_ns = 0;
    report_->progress(count * kHeaderBytes, count);
    out.push(batch);
    return Step::done;
  }

  Step drain(Output<PacketBatch>&) override {
    InputReport report;
    report.name = "synthetic";
    report.packets = made_;
    report.bytes = made_ * kHeaderBytes;
    report.readable = true;
    if (made_ < packets_) {
      report.status = InputStatus::interrupted;
      report.detail = "stopped after " + std::to_string(made_) + " packets";
    }
    report_->input_ended(report);
    return Step::done;
  }

 private:
  const uint8_t* draw(uint8_t* at) {
    write_header(at, traffic_.draw());
    return at;
  }
  const uint8_t* next_prepared() {
    if (at_ == prepared_->size()) at_ = 0;
    const uint8_t* header = prepared_->data() + at_;
    at_ += kHeaderBytes;
    return header;
  }

  SyntheticTraffic traffic_;
  const std::shared_ptr<const Prepared> prepared_;  // null: packets are drawn in their turn
  size_t at_ = 0;                                   // of the next one in it
  const uint64_t packets_;
  std::shared_ptr<RunReport> report_;
  std::shared_ptr<RulesInForce> rules_;
  uint64_t made_ = 0;
};

REGISTER_STAGE(Synthetic);

}  // namespace
}  // namespace trama
