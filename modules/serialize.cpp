// serialize: writes a matrix as the blob that GraphBLAS, python-graphblas and the published readers open.
//
//   [stages.serialize]
//   compression = "lz4"     # or "zstd", "none"
//   writer = "direct"       # straight from the arrays; "graphblas": the library's own, for comparison
//   lz4 = "own"             # own emitter of LZ4 blocks; "library": the very bytes of the library's writer
//
// TrafficMatrix -> SerializedMatrix. Replicas share nothing. writer = "graphblas" allocates for each window.
#include <variant>

#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/graphblas_writer.hpp"

namespace trama {
namespace {

enum class Writer { direct, graphblas };

class Serialize final : public Stage<TrafficMatrix, SerializedMatrix> {
 public:
  struct Parameters {
    Compression compression = Compression::lz4;
    Writer writer = Writer::direct;
    Lz4Writer lz4 = Lz4Writer::own;
    void bind(ParameterBinder& binder) {
      binder.choice("compression", compression,
                    {{"lz4", Compression::lz4}, {"zstd", Compression::zstd}, {"none", Compression::none}},
                    "how the arrays in a blob are compressed");
      binder.choice("writer", writer, {{"direct", Writer::direct}, {"graphblas", Writer::graphblas}},
                    "who writes the blob: Trama from its arrays, or the GraphBLAS library");
      binder.choice("lz4", lz4, {{"own", Lz4Writer::own}, {"library", Lz4Writer::library}},
                    "who writes LZ4 blocks of direct blobs: Trama, several times faster, or the LZ4 library");
    }
  };
  static constexpr StageInfo kInfo{.kind = "serialize",
                                   .summary = "writes a matrix as a GraphBLAS blob",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves};

  Serialize(const Parameters& parameters, const ReplicaContext& context)
      : compression_(parameters.compression),
        writer_(parameters.writer == Writer::graphblas
                    ? std::variant<BlobWriter, GraphBlasWriter>(GraphBlasWriter(parameters.compression))
                    : BlobWriter(context.sizes.window_items, parameters.compression, parameters.lz4)) {}

  Step process(TrafficMatrix& in, Output<SerializedMatrix>& out) override {
    SerializedMatrix& serialized = *out.follow(in);
    serialized.take_over(in);
    serialized.index_order = in.index_order;
    serialized.compression = compression_;
    serialized.packets = in.tally[Verdict::counted];
    const HyperCsr matrix = in.storage.view();
    serialized.links = matrix.links();
    const std::span<uint8_t> blob(serialized.blob, serialized.capacity);
    serialized.bytes = in.skip ? 0 : std::visit([&](auto& writer) { return writer.write(matrix, blob); }, writer_);
    out.release(&in);
    out.push(&serialized);
    return Step::done;
  }

 private:
  const Compression compression_;
  std::variant<BlobWriter, GraphBlasWriter> writer_;
};

REGISTER_STAGE(Serialize);

}  // namespace
}  // namespace trama
