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

// A file that was made here, and is closed with the last who knows it.
struct SavedFile {
  std::string name;
  int fd = -1;
  std::shared_ptr<RunReport> report;
  bool failed = false;
  ~SavedFile() {
    if (fd >= 0) close(fd);
  }
  void fail(const std::string& why) {
    if (failed) return;
    failed = true;
    report->output_failed();
    report->say({Severity::error, {name, 0}, why, ""});
  }
  void write_all(const uint8_t* data, size_t bytes) {
    while (bytes > 0 && !failed) {
      const ssize_t written = ::write(fd, data, bytes);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return fail(std::string("can't be written: ") + std::strerror(errno));
      data += written;
      bytes -= static_cast<size_t>(written);
    }
  }
};

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
    auto saved = std::make_shared<SavedFile>();
    saved->name = parameters.file;
    saved->report = context.services.get<RunReport>();
    saved->fd = open(parameters.file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (saved->fd < 0)
      return failure(std::string("can't make the file: ") + std::strerror(errno),
                     errno == EEXIST ? "nothing is written over; take another name" : "", {parameters.file, 0});
    return StageFactory([saved](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
      return std::make_unique<Save>(saved, replica.control, replica.sizes.batch_items);
    });
  }
  Save(std::shared_ptr<SavedFile> saved, EngineControl& control, size_t batch_items)
      : saved_(std::move(saved)), control_(control) {
    buffer_.reserve(batch_items * (sizeof(RecordHeader) + kTypicalBytes));
    const std::array<uint32_t, 6> header = {kNanosecondMagic, 2u | 4u << 16, 0, 0, kMaxCaptured, 101};
    saved_->write_all(reinterpret_cast<const uint8_t*>(header.data()), sizeof header);
  }

  Step process(PacketBatch& in, Output<Nothing>& out) override {
    if (!in.synthetic)
      saved_->fail("only packets of the synthetic source are saved");
    else if (!saved_->failed)
      write_batch(in);
    if (saved_->failed) control_.stop_sources();
    out.release(&in);
    return Step::done;
  }

 private:
  struct RecordHeader {
    uint32_t seconds, nanoseconds, captured, original;
  };
  static constexpr size_t kTypicalBytes = 64;

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
    saved_->write_all(buffer_.data(), buffer_.size());
  }

  std::shared_ptr<SavedFile> saved_;
  EngineControl& control_;
  std::vector<uint8_t> buffer_;
};

REGISTER_STAGE(Save);

}  // namespace
}  // namespace trama
