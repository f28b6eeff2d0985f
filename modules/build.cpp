// build: sorts a window's pairs, sums duplicates, and writes them as a hypersparse matrix.
//
//   [stages.build]
//   index_order = "numeric"   # 1.2.3.4 is row 0x01020304, so that prefixes are ranges; "raw": 0x04030201
//
// AnonymizedWindow -> TrafficMatrix. Replicas share nothing; each has the scratch of one window.
#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/matrix_sorter.hpp"

namespace trama {
namespace {

class Build final : public Stage<AnonymizedWindow, TrafficMatrix> {
 public:
  struct Parameters {
    IndexOrder index_order = IndexOrder::numeric;
    void bind(ParameterBinder& binder) {
      binder.choice("index_order", index_order, {{"numeric", IndexOrder::numeric}, {"raw", IndexOrder::raw}},
                    "which index 1.2.3.4 has: 0x01020304, or 0x04030201 as the CAIDA/ILANDS tools have it");
    }
  };
  static constexpr StageInfo kInfo{.kind = "build",
                                   .summary = "sorts and sums a window's pairs into a hypersparse matrix",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves};

  Build(const Parameters& parameters, const ReplicaContext& context)
      : index_order_(parameters.index_order),
        builder_(context.sizes.window_items),
        sorter_(context.sizes.window_items) {}

  Step process(AnonymizedWindow& in, Output<TrafficMatrix>& out) override {
    TrafficMatrix& matrix = *out.follow(in);
    matrix.take_over(in);
    matrix.index_order = index_order_;
    if (in.is_summed) {
      sorter_.sort(in.summed.view(), index_order_, matrix.storage);
    } else {
      builder_.build(in.source, in.destination, in.skip ? 0 : in.pairs, index_order_, matrix.storage);
    }
    out.release(&in);
    out.push(&matrix);
    return Step::done;
  }

 private:
  const IndexOrder index_order_;
  MatrixBuilder builder_;
  MatrixSorter sorter_;  // for windows that were summed before they were anonymized
};

REGISTER_STAGE(Build);

}  // namespace
}  // namespace trama
