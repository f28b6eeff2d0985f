// synthetic: makes packets from a seed; for benchmarks, tests and the first run.
//
//   [stages.synthetic]
//   model = "zipf"        # uniform: any address to any; zipf: few busy sources; darknet: many sources into one /8
//   packets = 1_000_000
//   seed = 1
//
// A source of PacketBatch: raw IPv4 headers of 20 bytes, a microsecond apart from 2023-11-14 22:13:20 UTC on. The same
// parameters give the same packets on every machine. The addresses are nobody's: they are drawn, not seen.
#include <utility>

#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/provenance.hpp"
#include "modules/support/run_report.hpp"
#include "modules/support/synthetic_traffic.hpp"

namespace trama {
namespace {

constexpr uint16_t kRawIp = 101;
constexpr size_t kHeaderBytes = 20;
constexpr int64_t kFirstNs = 1'700'000'000'000'000'000;
constexpr int64_t kGapNs = 1000;

void write_header(uint8_t* at, AddressPair pair) {
  const uint8_t header[12] = {0x45, 0, 0, kHeaderBytes, 0, 0, 0, 0, 64, 17, 0, 0};  // UDP, TTL 64, no checksum
  std::memcpy(at, header, sizeof header);
  for (int i = 0; i < 4; ++i) {
    at[12 + i] = static_cast<uint8_t>(pair.source >> (24 - 8 * i));
    at[16 + i] = static_cast<uint8_t>(pair.destination >> (24 - 8 * i));
  }
}

class Synthetic final : public Stage<void, PacketBatch> {
 public:
  struct Parameters {
    TrafficModel model = TrafficModel::zipf;
    uint64_t packets = 1'000'000;
    uint64_t seed = 1;
    void bind(ParameterBinder& binder) {
      binder.choice(
          "model", model,
          {{"uniform", TrafficModel::uniform}, {"zipf", TrafficModel::zipf}, {"darknet", TrafficModel::darknet}},
          "how addresses are drawn");
      binder.integer("packets", packets, 0, UINT64_MAX >> 1, "packets to make");
      binder.integer("seed", seed, 0, UINT64_MAX >> 1, "another seed, other packets");
    }
  };
  static constexpr StageInfo kInfo{.kind = "synthetic",
                                   .summary = "makes packets from a seed, for benchmarks and the first run",
                                   .ordering = Ordering::preserves,
                                   .numbering = Numbering::opens};

  static Expected<StageFactory> make(const Parameters& parameters, const SetupContext& context) {
    auto report = context.services.get<RunReport>();
    auto exclusions = context.services.get<ExclusionLists>();
    report->expect_bytes(parameters.packets * kHeaderBytes);
    return StageFactory([=](const ReplicaContext&) -> std::unique_ptr<StageBase> {
      return std::make_unique<Synthetic>(parameters, report, exclusions);
    });
  }
  Synthetic(const Parameters& parameters, std::shared_ptr<RunReport> report, std::shared_ptr<ExclusionLists> exclusions)
      : traffic_(parameters.model, parameters.seed),
        packets_(parameters.packets),
        report_(std::move(report)),
        exclusions_(std::move(exclusions)) {}

  Step produce(Output<PacketBatch>& out) override {
    if (made_ == packets_) return Step::end;
    PacketBatch* batch = out.begin();
    if (!batch) return Step::blocked;
    const size_t count = std::min<uint64_t>(batch->packets.size(), packets_ - made_);
    uint8_t* at = batch->block.data();
    for (size_t i = 0; i < count; ++i, at += kHeaderBytes) {
      write_header(at, traffic_.draw());
      batch->packets[i] = {at, kFirstNs + static_cast<int64_t>(made_ + i) * kGapNs, kHeaderBytes, kHeaderBytes, kRawIp};
    }
    made_ += count;
    batch->count = count;
    batch->items = static_cast<uint32_t>(count);
    batch->tally = {};
    batch->synthetic = true;
    batch->exclusions = exclusions_->current();
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
  SyntheticTraffic traffic_;
  const uint64_t packets_;
  std::shared_ptr<RunReport> report_;
  std::shared_ptr<ExclusionLists> exclusions_;
  uint64_t made_ = 0;
};

REGISTER_STAGE(Synthetic);

}  // namespace
}  // namespace trama
