// save: writes synthetic packets to a capture file, so that there is one to begin with.
//
//   links = ["synthetic -> save"]
//   [stages.save]
//   file = "first.pcap"
//
// A sink of PacketBatch, in order. It takes packets of the `synthetic` source and no others: packets that somebody sent
// are never written, with their addresses and payload, by Trama. A pcap of raw IP with nanoseconds; never over a file.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/run_report.hpp"

namespace trama {
namespace {

constexpr uint32_t kNanosecondMagic = 0xA1B23C4D;
constexpr int64_t kSecondNs = 1'000'000'000;
constexpr uint32_t kRawIp = 101;  // LINKTYPE_RAW

class Save final : public Stage<PacketBatch, Nothing> {
 public:
  struct Parameters {
    std::string file;
    void bind(ParameterBinder& binder) {
      binder.text("file", file, "the capture to make");
      if (binder.reading() && file.empty()) binder.refuse("file", "no file to write", "give file = \"first.pcap\"");
    }
  };
  static constexpr StageInfo kInfo{
      .kind = "save", .summary = "writes synthetic packets to a capture file", .ordering = Ordering::needs};

  static Expected<StageFactory> make(const Parameters& parameters, const SetupContext& context) {
    if (access(parameters.file.c_str(), F_OK) == 0)
      return failure("there is such a file already", "nothing is written over: take another name",
                     {parameters.file, 0});
    const auto report = context.services.get<RunReport>();
    return StageFactory([=](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
      return std::make_unique<Save>(parameters.file, report, replica);
    });
  }
  Save(std::string file, std::shared_ptr<RunReport> report, const ReplicaContext& context)
      : file_(std::move(file)), report_(std::move(report)), control_(context.control) {
    buffer_.reserve(context.sizes.batch_items * (sizeof(RecordHeader) + kTypicalBytes));
  }
  ~Save() override {
    if (fd_ >= 0) close(fd_);
  }

  Step process(PacketBatch& in, Output<Nothing>& out) override {
    if (!in.synthetic) fail("only packets of the synthetic source are saved");
    if (fd_ < 0 && !failed_) begin();
    if (!failed_) write_batch(in);
    out.release(&in);
    return Step::done;
  }

 private:
  struct RecordHeader {
    uint32_t seconds, nanoseconds, captured, original;
  };
  static constexpr size_t kTypicalBytes = 64;

  void fail(const std::string& why) {
    if (failed_) return;
    failed_ = true;
    report_->output_failed();
    report_->say({Severity::error, {file_, 0}, why, ""});
    control_.stop_sources();
  }

  void begin() {
    fd_ = open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd_ < 0) return fail(std::string("can't make the file: ") + std::strerror(errno));
    const std::array<uint32_t, 6> header = {kNanosecondMagic, 2u | 4u << 16, 0, 0, kMaxCaptured, kRawIp};
    write_all(reinterpret_cast<const uint8_t*>(header.data()), sizeof header);
  }

  void write_batch(const PacketBatch& batch) {
    buffer_.clear();
    for (size_t i = 0; i < batch.count; ++i) {
      const Packet& packet = batch.packets[i];
      const RecordHeader header{static_cast<uint32_t>(packet.time_ns / kSecondNs),
                                static_cast<uint32_t>(packet.time_ns % kSecondNs), packet.captured, packet.original};
      const auto* bytes = reinterpret_cast<const uint8_t*>(&header);
      buffer_.insert(buffer_.end(), bytes, bytes + sizeof header);
      buffer_.insert(buffer_.end(), packet.data, packet.data + packet.captured);
    }
    write_all(buffer_.data(), buffer_.size());
  }

  void write_all(const uint8_t* data, size_t bytes) {
    while (bytes > 0 && !failed_) {
      const ssize_t written = ::write(fd_, data, bytes);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return fail(std::string("can't be written: ") + std::strerror(errno));
      data += written;
      bytes -= static_cast<size_t>(written);
    }
  }

  const std::string file_;
  std::shared_ptr<RunReport> report_;
  EngineControl& control_;
  std::vector<uint8_t> buffer_;
  int fd_ = -1;  // made with the first batch, so that nothing is left when another stage can't be set up
  bool failed_ = false;
};

REGISTER_STAGE(Save);

}  // namespace
}  // namespace trama
