// parse: walks each packet's headers to its outermost IP header and keeps two addresses, or says why not.
//
//   links = ["capture -> parse -> in_order"]
//
// PacketBatch -> AddressBatch. Replicas share nothing; with more than one, put a `reorder` behind it. After this stage
// nothing of a packet is left but its addresses, its time and its verdict. A verdict that a filter has given before
// stays. What counts, and why, is in docs/counting.md.
#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/header_walk.hpp"

namespace trama {
namespace {

class Parse final : public Stage<PacketBatch, AddressBatch> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "parse",
                                   .summary = "walks headers to the outermost IP addresses",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves};

  Parse(const Parameters&, const ReplicaContext&) {}

  Step process(PacketBatch& in, Output<AddressBatch>& out) override {
    AddressBatch& addresses = *out.follow(in);
    addresses.tally = in.tally;  // what the source has lost before this batch
    addresses.rules = in.rules;
    addresses.judges = in.judges;
    addresses.count = in.count;
    addresses.received_ns = in.received_ns;
    size_t pairs = 0;
    for (size_t i = 0; i < in.count; ++i) {
      if (i + kAhead < in.count) __builtin_prefetch(in.packets[i + kAhead].data);
      const Packet& packet = in.packets[i];
      Walked walked{packet.verdict, 0, 0};
      if (packet.verdict == Verdict::counted) walked = walk(packet.link_type, packet.data, packet.captured);
      addresses.verdicts[i] = walked.verdict;
      ++addresses.tally[walked.verdict];
      // Written in any case, and overwritten by the next pair: cheaper than a branch that can't be foreseen.
      addresses.source[pairs] = walked.source;
      addresses.destination[pairs] = walked.destination;
      addresses.time_ns[pairs] = packet.time_ns;
      pairs += walked.verdict == Verdict::counted;
    }
    addresses.pairs = pairs;
    addresses.items = static_cast<uint32_t>(in.count);
    out.release(&in);
    out.push(&addresses);
    return Step::done;
  }

 private:
  static constexpr size_t kAhead = 8;  // packets; their bytes are the first touched since the source read them
};

REGISTER_STAGE(Parse);

}  // namespace
}  // namespace trama
