// serialize: writes a matrix as the blob that GraphBLAS, python-graphblas and the published readers open, or as the
// compact encoding, half as long, for streams (docs/formats.md).
//
//   [stages.serialize]
//   encoding = "blob"       # what archives hold; "compact": what streams carry
//   compression = "lz4"     # of blobs; or "zstd", "none"
//   writer = "direct"       # of blobs: straight from the arrays; "graphblas": the library's own, for comparison
//   lz4 = "own"             # own emitter of LZ4 blocks; "library": the very bytes of the library's writer
//
// TrafficMatrix -> SerializedMatrix. Replicas share nothing but what measures a window now and then, for those who
// watch the run. writer = "graphblas" allocates for each window. What compact matrices cost is measured without
// anything behind them:
//
//   links = ["synthetic -> parse -> stamp -> anonymize -> build -> serialize -> null"]
#include <utility>
#include <variant>

#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/archive_log.hpp"
#include "modules/support/graphblas_writer.hpp"
#include "modules/support/matrix_encodings.hpp"
#include "modules/support/window_gauge.hpp"

namespace trama {
namespace {

enum class Writer { direct, graphblas };

// Writes into `out`; 0: it could not.
struct CompactWriter {
  size_t write(const TrafficMatrix& in, std::span<uint8_t> out) noexcept {
    return write_compact(in.storage.view(), in.index_order == IndexOrder::raw, out);
  }
};
template <class BlobWriterType>
struct BlobEncoder {
  BlobWriterType blob_writer;
  size_t write(const TrafficMatrix& in, std::span<uint8_t> out) { return blob_writer.write(in.storage.view(), out); }
};

class Serialize final : public Stage<TrafficMatrix, SerializedMatrix> {
 public:
  struct Parameters {
    MatrixEncoding encoding = MatrixEncoding::blob;
    Place encoding_place;
    Compression compression = Compression::lz4;
    Writer writer = Writer::direct;
    Lz4Writer lz4 = Lz4Writer::own;
    void bind(ParameterBinder& binder) {
      binder.choice("encoding", encoding, {{"blob", MatrixEncoding::blob}, {"compact", MatrixEncoding::compact}},
                    "blobs of GraphBLAS, for archives, or compact matrices, for streams");
      encoding_place = binder.place_of("encoding");
      binder.choice("compression", compression,
                    {{"lz4", Compression::lz4}, {"zstd", Compression::zstd}, {"none", Compression::none}},
                    "how the arrays in a blob are compressed");
      binder.choice("writer", writer, {{"direct", Writer::direct}, {"graphblas", Writer::graphblas}},
                    "who writes the blob: Trama from its arrays, or the GraphBLAS library");
      binder.choice("lz4", lz4, {{"own", Lz4Writer::own}, {"library", Lz4Writer::library}},
                    "who writes LZ4 blocks of direct blobs: Trama, several times faster, or the LZ4 library");
      if (encoding != MatrixEncoding::compact) return;
      for (const char* of_blobs : {"compression", "writer", "lz4"})
        if (binder.given(of_blobs))
          binder.refuse(of_blobs, "`" + std::string(of_blobs) + "` is about blobs, and the encoding is compact",
                        "take one of the two out");
    }
  };
  static constexpr StageInfo kInfo{.kind = "serialize",
                                   .summary = "writes a matrix as a GraphBLAS blob, or as a compact matrix",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves};

  static Expected<StageFactory> make(const Parameters& parameters, const SetupContext& context) {
    context.services.get<MatrixEncodings>()->add({context.name, parameters.encoding, parameters.encoding_place});
    if (!context.services.get<ArchiveLog>()->add_serializer())
      return failure(ArchiveLog::kUnfit, ArchiveLog::kUnfitHint, context.place);
    const auto gauge = std::make_shared<WindowGauge>(context.services.get<WindowLog>(), context.sizes.window_items);
    return StageFactory([parameters, gauge](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
      return std::make_unique<Serialize>(parameters, gauge, replica);
    });
  }
  Serialize(const Parameters& parameters, std::shared_ptr<WindowGauge> gauge, const ReplicaContext& context)
      : encoding_(parameters.encoding),
        compression_(parameters.compression),
        gauge_(std::move(gauge)),
        writer_(make_writer(parameters, context.sizes.window_items)) {}

  Step process(TrafficMatrix& in, Output<SerializedMatrix>& out) override {
    SerializedMatrix& serialized = *out.follow(in);
    serialized.take_over(in);
    serialized.index_order = in.index_order;
    serialized.encoding = encoding_;
    serialized.compression = compression_;
    serialized.packets = in.tally[Verdict::counted];
    serialized.links = in.storage.view().links();
    serialized.sources = in.storage.view().rows();
    if (!in.skip) gauge_->look(in.seq, in.storage.view());
    const std::span<uint8_t> blob(serialized.blob, serialized.capacity);
    serialized.bytes = in.skip ? 0 : std::visit([&](auto& writer) { return writer.write(in, blob); }, writer_);
    out.release(&in);
    out.push(&serialized);
    return Step::done;
  }

 private:
  using AnyWriter = std::variant<CompactWriter, BlobEncoder<BlobWriter>, BlobEncoder<GraphBlasWriter>>;
  static AnyWriter make_writer(const Parameters& parameters, size_t window_items) {
    if (parameters.encoding == MatrixEncoding::compact) return CompactWriter();
    if (parameters.writer == Writer::graphblas)
      return BlobEncoder<GraphBlasWriter>{GraphBlasWriter(parameters.compression)};
    return BlobEncoder<BlobWriter>{BlobWriter(window_items, parameters.compression, parameters.lz4)};
  }

  const MatrixEncoding encoding_;
  const Compression compression_;
  const std::shared_ptr<WindowGauge> gauge_;
  AnyWriter writer_;
};

REGISTER_STAGE(Serialize);

}  // namespace
}  // namespace trama
