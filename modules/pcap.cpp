// pcap: reads captures, pcap and pcapng, compressed or not, one after the other.
//
//   [stages.capture]
//   kind = "pcap"
//   files = ["monday.pcapng", "archive/", "-"]   # a folder: its files in name order; "-": standard input
//   packets = 0                                  # stop after so many; 0: all
//
// A source of PacketBatch. Packets point into the batch's own block; payload is not copied. An input that can't be
// read, or ends early, is said and reported, and the next one is read. A pipe whose writer stalls is waited for asleep.
// When the run is told to stop, what was read by then, and what waits in a pipe, is still handed out.
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/input_paths.hpp"
#include "modules/support/run_report.hpp"

namespace trama {
namespace {

// What replicas would share, were there more than one: the inputs and where to report.
struct Inputs {
  std::vector<std::string> paths;
  std::shared_ptr<RunReport> report;
  std::shared_ptr<RulesInForce> rules;
  uint64_t packets_wanted;
};

InputReport not_read(const std::string& path, InputStatus status, std::string detail) {
  InputReport report;
  report.name = path;
  report.status = status;
  report.detail = std::move(detail);
  return report;
}

class Pcap final : public Stage<void, PacketBatch> {
 public:
  struct Parameters {
    std::vector<std::string> files;
    uint64_t packets = 0;
    void bind(ParameterBinder& binder) {
      binder.texts("files", files, "captures, folders of captures, or - for standard input");
      binder.integer("packets", packets, 0, UINT64_MAX >> 1, "stop after so many packets; 0: read all");
      if (!binder.reading()) return;
      if (files.empty()) binder.refuse("files", "no capture to read", "give files = [\"day.pcap\"], or -r FILE");
      if (std::count(files.begin(), files.end(), "-") > 1)
        binder.refuse("files", "standard input can be read only once", "give - once");
    }
  };
  static constexpr StageInfo kInfo{.kind = "pcap",
                                   .summary = "reads pcap and pcapng captures, compressed or not",
                                   .ordering = Ordering::preserves,
                                   .numbering = Numbering::opens};

  static Expected<StageFactory> make(const Parameters& parameters, const SetupContext& context) {
    auto inputs = std::make_shared<Inputs>();
    inputs->report = context.services.get<RunReport>();
    inputs->rules = context.services.get<RulesInForce>();
    inputs->packets_wanted = parameters.packets == 0 ? UINT64_MAX : parameters.packets;
    for (const std::string& path : parameters.files) {
      auto expanded = expand_inputs({path});
      if (expanded)
        inputs->paths.insert(inputs->paths.end(), expanded->begin(), expanded->end());
      else
        inputs->report->input_ended(not_read(path, InputStatus::unreadable, expanded.error().text));
    }
    for (const std::string& path : inputs->paths)
      if (struct stat status; stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode))
        inputs->report->expect_bytes(static_cast<uint64_t>(status.st_size));
    return StageFactory(
        [inputs](const ReplicaContext&) -> std::unique_ptr<StageBase> { return std::make_unique<Pcap>(inputs); });
  }
  explicit Pcap(std::shared_ptr<const Inputs> inputs) : inputs_(std::move(inputs)), left_(inputs_->packets_wanted) {}

  Step produce(Output<PacketBatch>& out) override {
    if (!batch_ && !(batch_ = out.begin())) return Step::blocked;
    while (left_ > 0 && (reader_ || open_next()))
      if (const auto step = read(out)) return *step;
    return Step::end;
  }

  // Also called when the engine was told to stop: whatever was not read to its end is reported as interrupted, unless
  // it had failed already, or is over because enough packets were read.
  Step drain(Output<PacketBatch>& out) override {
    if (reader_) reader_->stop_reading();
    for (Step step = Step::done; reader_ && left_ > 0 && step == Step::done;) {
      if (!batch_ && !(batch_ = out.begin())) return Step::blocked;
      step = read(out).value_or(Step::end);
    }
    const bool enough = left_ == 0;
    if (reader_) {
      InputReport report = reader_->report();
      if (report.status == InputStatus::ok && !enough) {
        report.status = InputStatus::interrupted;
        report.detail = "stopped after " + std::to_string(report.packets) + " packets";
      }
      end_input(report);
    }
    while (!enough && next_ < inputs_->paths.size())
      inputs_->report->input_ended(
          not_read(inputs_->paths[next_++], InputStatus::interrupted, "stopped before it was read"));
    return Step::done;
  }

  int wait_fd() const override { return reader_ ? reader_->wait_fd() : -1; }

 private:
  // Nothing: the input at hand has ended.
  std::optional<Step> read(Output<PacketBatch>& out) {
    size_t count = 0;
    const size_t most = std::min<uint64_t>(batch_->packets.size(), left_);
    const auto status = reader_->read(batch_->block, std::span(batch_->packets).first(most), count);
    note_progress(count);
    if (count > 0) push(count, out);
    // Without packets: after a long stretch without any, to look up in between.
    if (count > 0 || status == CaptureReader::Status::packets) return Step::done;
    if (status == CaptureReader::Status::wait) return Step::idle;
    end_input(reader_->report());
    return std::nullopt;
  }

  bool open_next() {
    while (next_ < inputs_->paths.size()) {
      const std::string& path = inputs_->paths[next_++];
      auto opened = CaptureReader::open(path);
      if (opened) {
        reader_.emplace(std::move(*opened));
        bytes_noted_ = 0;
        return true;
      }
      inputs_->report->input_ended(not_read(path, InputStatus::unreadable, opened.error().text));
    }
    return false;
  }

  void push(size_t count, Output<PacketBatch>& out) {
    left_ -= count;
    batch_->count = count;
    batch_->items = static_cast<uint32_t>(count);
    batch_->tally = {};
    batch_->synthetic = false;
    batch_->rules = inputs_->rules->current();
    batch_->judges = 0;
    batch_->received_ns = 0;
    out.push(std::exchange(batch_, nullptr));
  }

  void note_progress(size_t packets) {
    const uint64_t bytes = reader_->report().bytes;
    inputs_->report->progress(bytes - bytes_noted_, packets);
    bytes_noted_ = bytes;
  }

  void end_input(const InputReport& report) {
    inputs_->report->input_ended(report);
    reader_.reset();
  }

  std::shared_ptr<const Inputs> inputs_;
  uint64_t left_;                        // packets still wanted
  size_t next_ = 0;                      // input to open next
  std::optional<CaptureReader> reader_;  // of the input at hand
  uint64_t bytes_noted_ = 0;
  PacketBatch* batch_ = nullptr;  // taken, and without packets so far
};

REGISTER_STAGE(Pcap);

}  // namespace
}  // namespace trama
