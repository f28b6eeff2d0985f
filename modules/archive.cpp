// archive: writes windows into TAR archives of 64 matrices, each with its manifest beside it.
//
//   [stages.archive]
//   directory = "trama-out"
//   windows_per_archive = 64
//   sensor = "tap-3"           # goes into the manifest
//   sync = "archive"           # "window": have each window on the disk before the next one is written
//
// A sink of SerializedMatrix, in order. Files are written by a thread behind the stage. A window that can't be written
// is lost as a whole, named, and ends the run; what was complete before stays readable.
#include "engine/registry.hpp"
#include "engine/side_thread.hpp"
#include "modules/messages.hpp"
#include "modules/support/archive_log.hpp"
#include "modules/support/archive_writer.hpp"
#include "modules/support/matrix_encodings.hpp"
#include "modules/support/run_identity.hpp"
#include "modules/support/run_report.hpp"
#include "modules/support/window_facts.hpp"
#include "modules/support/window_log.hpp"

namespace trama {
namespace {

const char* name_of(Compression compression) {
  switch (compression) {
    case Compression::none: return "none";
    case Compression::lz4: return "lz4";
    case Compression::zstd: return "zstd";
  }
  return "";
}

// What the stage shares with the command and with other stages.
struct Surroundings {
  std::shared_ptr<RunIdentity> identity;
  std::shared_ptr<RunReport> report;
  std::shared_ptr<WindowLog> windows;
  std::shared_ptr<ArchiveLog> archives;
};

class Archive final : public Stage<SerializedMatrix, Nothing> {
 public:
  struct Parameters {
    std::string directory = "trama-out";
    uint64_t windows_per_archive = 64;
    std::string sensor;
    bool sync_windows = false;
    void bind(ParameterBinder& binder) {
      binder.text("directory", directory, "folder for the archives; made when it isn't there");
      binder.integer("windows_per_archive", windows_per_archive, 1, 1u << 20, "windows of one archive");
      binder.text("sensor", sensor, "name of this observer, for the manifest");
      binder.choice("sync", sync_windows, {{"archive", false}, {"window", true}},
                    "what is synced to the disk before writing goes on: each archive, or each window");
    }
  };
  static constexpr StageInfo kInfo{
      .kind = "archive", .summary = "writes windows into TAR archives with manifests", .ordering = Ordering::needs};

  static Expected<StageFactory> make(const Parameters& parameters, const SetupContext& context) {
    if (auto usable = check_output_folder(parameters.directory); !usable)
      return tl::unexpected(std::move(usable.error()));
    Services& services = context.services;
    if (const auto writer = services.get<MatrixEncodings>()->other_than(MatrixEncoding::blob))
      return failure("`" + writer->stage + "` writes compact matrices, but `" + context.name + "` takes blobs",
                     "take `encoding` out: what readers of archives open are blobs", writer->place);
    const Surroundings surroundings{services.get<RunIdentity>(), services.get<RunReport>(), services.get<WindowLog>(),
                                    services.get<ArchiveLog>()};
    if (!surroundings.archives->add_writer()) return failure(ArchiveLog::kUnfit, ArchiveLog::kUnfitHint, context.place);
    return StageFactory([=](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
      return std::make_unique<Archive>(parameters, surroundings, replica);
    });
  }
  Archive(const Parameters& parameters, Surroundings surroundings, const ReplicaContext& context)
      : window_packets_(context.sizes.window_items),
        sensor_(parameters.sensor),
        directory_(parameters.directory),
        around_(std::move(surroundings)),
        control_(context.control),
        writer_({parameters.directory, context.sizes.window_items, parameters.windows_per_archive,
                 parameters.sync_windows}),
        thread_(context, [this](SerializedMatrix* window, OutputBase* output) { handle(window, output); }) {}

  Step process(SerializedMatrix& in, Output<Nothing>& out) override {
    thread_.hand(&in, out);
    return Step::done;
  }
  Step drain(Output<Nothing>&) override { return thread_.finish(); }

 private:
  // All below runs on the thread.
  void handle(SerializedMatrix* window, OutputBase* output) {
    try {
      if (window)
        write(*window);
      else if (!failed_)
        note(writer_.finish(tail_));
    } catch (const std::exception& error) {  // out of memory, mostly
      if (window) around_.report->window_lost();
      note(failure(std::string("an archive can't be written on: ") + error.what(), "", {directory_, 0}));
    }
    if (window) output->release(window);
    note_finished();
  }

  void note_finished() {
    for (const auto& path : writer_.take_finished()) {
      around_.archives->finished(path);
      around_.report->archive_ended(path.string());
    }
  }

  void write(const SerializedMatrix& window) {
    if (window.skip) {
      tail_ += verdict_counts(window.tally);
      return;
    }
    if (window.bytes == 0) {
      around_.report->say(
          {Severity::error, {}, "window " + std::to_string(window.seq) + " could not be serialized", ""});
      around_.report->window_lost();
      return;
    }
    around_.windows->describe(window.seq,
                              {window.closed_by, window.first_ns, window.last_ns, window.links, window.sources});
    if (!failed_) note(writer_.append(header_of(window), entry_of(window), {window.blob, window.bytes}));
    if (!failed_) around_.archives->wrote(writer_.part(), window.seq, window.last_ns);
    if (failed_) around_.report->window_lost();
  }

  ManifestHeader header_of(const SerializedMatrix& window) const {
    return {sensor_,
            around_.identity->graph,
            window_packets_,
            window.index_order == IndexOrder::numeric ? "numeric" : "raw",
            name_of(window.compression),
            window.key->identity.anonymization};
  }

  ManifestWindow entry_of(const SerializedMatrix& window) {
    const KeyIdentity& key = window.key->identity;
    ManifestWindow entry;
    entry.seq = window.seq;
    entry.packets = window.packets;
    entry.links = window.links;
    entry.first_ns = window.first_ns;
    entry.last_ns = window.last_ns;
    entry.closed_by = window.closed_by;
    entry.key = key.fingerprint;
    entry.exclusions = digest_.of(window.rules, window.judged, key);
    entry.verdicts = verdict_counts(window.tally);
    entry.dropped = {window.tally.dropped_kernel, window.tally.dropped_nic, window.tally.dropped_ring};
    return entry;
  }

  // The first failure ends the run: what follows would be lost as well.
  void note(Expected<void> result) {
    if (result) return;
    failed_ = true;
    around_.report->output_failed();
    around_.report->say(std::move(result.error()));
    control_.stop_sources();
  }

  const uint64_t window_packets_;
  const std::string sensor_, directory_;
  const Surroundings around_;
  EngineControl& control_;
  ArchiveWriter writer_;
  VerdictCounts tail_;
  bool failed_ = false;
  ExclusionsDigest digest_;
  SideThread<SerializedMatrix> thread_;  // last: it uses all of the above
};

REGISTER_STAGE(Archive);

}  // namespace
}  // namespace trama
