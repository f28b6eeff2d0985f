#include "engine/check.hpp"

#include <algorithm>

#include "engine/check_tree.hpp"
#include "engine/diagnostic_list.hpp"
#include "engine/suggest.hpp"

namespace trama {
namespace {

constexpr size_t kNone = StageTree::kNone;

// The rules that look at a stage and what stands above it, applied from the source downward.
class Checker {
 public:
  Checker(const GraphSpec& spec, const Registry& registry)
      : spec_(spec),
        registry_(registry),
        diagnostics_(spec.form_errors),
        tree_(make_tree(spec, registry, diagnostics_)),
        flows_(spec.stages.size()) {}

  tl::expected<CheckedGraph, Diagnostics> check() {
    for (const size_t i : tree_.order) {
      flow(i);
      if (!tree_.kinds[i]) continue;
      check_alone(i);
      check_type(i);
      check_order(i);
      check_sharing(i);
    }
    check_counted_once();
    check_credits(false, "batch_credits", spec_.batch_credits, spec_.batch_credits_place);
    check_credits(true, "window_credits", spec_.window_credits, spec_.window_credits_place);
    if (!diagnostics_.empty()) return tl::unexpected(in_order(std::move(diagnostics_)));
    return assembled();
  }

 private:
  // What is known of a stage once all above it are.
  struct Flow {
    const MessageType* output = nullptr;  // null: none, or not known
    size_t breaks_order = kNone;          // the stage whose replicas broke the order of what this one hands on
    size_t domain_in = 0, domain_out = 0;
    size_t holds = 0;  // on the way from the beginning of domain_in to this stage, with it
  };

  const StageSpec& stage(size_t i) const { return spec_.stages[i]; }
  std::string name(size_t i) const { return called(spec_.stages[i]); }
  void report(const Place& place, std::string text, std::string hint) {
    refuse(diagnostics_, place, std::move(text), std::move(hint));
  }

  // Messages that a stage keeps across steps. Each replica of a source may wait for data with a credit in its hands,
  // and none of them may keep the others from theirs.
  size_t held(size_t i) const {
    const StageKind& kind = *tree_.kinds[i];
    return kind.info.holds * stage(i).replicas + (kind.source ? stage(i).replicas - 1 : 0);
  }

  void flow(size_t i) {
    Flow& here = flows_[i];
    const StageKind* kind = tree_.kinds[i];
    const size_t feeder = tree_.feeders[i];
    const bool first = feeder == kNone;
    if (first && domains_.empty()) domains_.push_back({0, 0, true, false});
    here.domain_in = here.domain_out = first ? 0 : flows_[feeder].domain_out;
    const bool begins = first || flows_[feeder].domain_in != here.domain_in;
    here.holds = begins ? 0 : flows_[feeder].holds;
    if (!kind) return;

    here.output = kind->any_type && !kind->sink && !first ? flows_[feeder].output : kind->output;
    // A reader that may lose has slots of its own: what it keeps costs no credit.
    if (kind->info.may_lose == 0) here.holds += held(i);
    CheckedGraph::DomainNeeds& needs = domains_[here.domain_in];
    needs.holds = std::max(needs.holds, here.holds);
    needs.may_lose += kind->info.may_lose;
    if (kind->info.numbering == Numbering::opens && !kind->source) {
      needs.ends_in_sinks = false;
      here.domain_out = domains_.size();
      domains_.push_back({0, 0, true, true});
    }
  }

  void check_alone(size_t i) {
    const StageInfo& info = tree_.kinds[i]->info;
    for (Diagnostic& wrong : tree_.kinds[i]->check(stage(i).parameters)) diagnostics_.push_back(std::move(wrong));
    if (info.parallelism == Parallelism::serial && stage(i).replicas > 1)
      report(stage(i).replicas_place,
             name(i) + " is serial and can't have " + std::to_string(stage(i).replicas) + " replicas",
             "it must see every message: take `replicas` out");
    if (tree_.kinds[i]->source && stage(i).route)
      report(stage(i).route_place, name(i) + " is a source: nothing is routed to it",
             "`route` says how messages spread over the replicas of the stage that takes them");
    if (info.may_lose > 0 && !tree_.kinds[i]->sink)
      report(stage(i).kind_place, name(i) + " may lose messages, but others stand behind it",
             "only a sink may lose: a number that others wait for must arrive");
  }

  void check_type(size_t i) {
    const size_t feeder = tree_.feeders[i];
    const MessageType* wanted = tree_.kinds[i]->input;
    if (feeder == kNone || !wanted || !flows_[feeder].output || flows_[feeder].output == wanted) return;
    const MessageType* given = flows_[feeder].output;
    report(tree_.link_places[i],
           name(feeder) + (tree_.kinds[feeder]->any_type ? " passes on " : " makes ") + std::string(given->name) +
               ", but " + name(i) + " takes " + std::string(wanted->name),
           bridge(given, wanted));
  }

  // What could stand between two types, or at least behind the first.
  std::string bridge(const MessageType* given, const MessageType* wanted) const {
    std::vector<std::string> between, behind;
    for (const StageKind& kind : registry_.kinds()) {
      if (kind.input != given || !given) continue;
      behind.emplace_back(kind.info.kind);
      if (kind.output == wanted) between.emplace_back(kind.info.kind);
    }
    if (!between.empty()) return "put between them: " + joined(between, " or ");
    if (behind.empty()) return "no stage takes " + std::string(given->name);
    return std::string(given->name) + " is taken by: " + joined(behind);
  }

  void check_order(size_t i) {
    const StageInfo& info = tree_.kinds[i]->info;
    const size_t feeder = tree_.feeders[i];
    size_t broken = feeder == kNone ? kNone : flows_[feeder].breaks_order;
    if (info.ordering == Ordering::needs && broken != kNone) {
      report(tree_.link_places[i],
             name(i) + " needs messages in order, but the " + std::to_string(stage(broken).replicas) + " replicas of " +
                 name(broken) + " break it",
             "put a stage that restores order between them: " + restorers());
      broken = kNone;  // said once, not at each stage behind
    }
    if (info.ordering == Ordering::restores || info.numbering == Numbering::opens) broken = kNone;
    // A serial stage with replicas has been reported; that its order is broken too would be noise.
    if (stage(i).replicas > 1 && info.parallelism == Parallelism::replicated) broken = i;
    flows_[i].breaks_order = broken;
  }

  std::string restorers() const {
    std::vector<std::string> names;
    for (const StageKind& kind : registry_.kinds())
      if (kind.info.ordering == Ordering::restores) names.emplace_back(kind.info.kind);
    return joined(names, " or ");
  }

  // Upward to the stage that made the buffers: all who read them on the way must be this one alone.
  void check_sharing(size_t i) {
    if (!tree_.kinds[i]->info.changes_input) return;
    for (size_t at = i, feeder = tree_.feeders[i]; feeder != kNone; at = feeder, feeder = tree_.feeders[feeder]) {
      for (const size_t reader : tree_.readers[feeder]) {
        if (reader == at) continue;
        report(tree_.link_places[i], name(i) + " changes messages that " + name(reader) + " reads too",
               "all readers of " + name(feeder) + " share its messages: put " + name(i) + " in front of the fan-out");
        return;
      }
      if (!tree_.kinds[feeder] || tree_.kinds[feeder]->makes_buffers()) return;
    }
  }

  // What messages carry is summed where their numbers end in sinks: of every packet, that may happen in one place only.
  void check_counted_once() {
    size_t opener = kNone, counted = kNone;
    for (const size_t i : tree_.order) {
      const StageKind* kind = tree_.kinds[i];
      if (!kind || kind->source || kind->info.numbering != Numbering::opens) continue;
      if (opener != kNone)
        report(stage(i).place, name(i) + " cuts anew what " + name(opener) + " cuts already: it would be counted twice",
               "let the graph fan out behind one of them");
      else
        opener = i;
    }
    for (const size_t i : tree_.order) {
      const StageKind* kind = tree_.kinds[i];
      if (opener != kNone || !kind || !kind->sink || tree_.feeders[i] == kNone) continue;
      const MessageType* takes = flows_[tree_.feeders[i]].output;
      const MessageType* others = counted == kNone ? takes : flows_[tree_.feeders[counted]].output;
      if (takes && others && takes != others)
        report(tree_.link_places[i],
               name(i) + " ends " + std::string(takes->name) + " and " + name(counted) + " ends " +
                   std::string(others->name) + ": each packet would be counted in one of two ways",
               "let all sinks take the same messages");
      if (counted == kNone) counted = i;
    }
  }

  void check_credits(bool windows, const char* key, size_t given, const Place& place) {
    if (given == 0) return;
    size_t worst = kNone;
    for (size_t i = 0; i < flows_.size(); ++i)
      if (!domains_.empty() && domains_[flows_[i].domain_in].windows == windows &&
          (worst == kNone || flows_[i].holds > flows_[worst].holds))
        worst = i;
    if (worst == kNone || given > flows_[worst].holds) return;
    std::vector<std::string> holders;
    for (size_t at = worst; at != kNone && flows_[at].domain_in == flows_[worst].domain_in; at = tree_.feeders[at])
      if (tree_.kinds[at] && held(at) > 0) holders.insert(holders.begin(), name(at));
    report(place,
           "too few credits: `" + std::string(key) + "` is " + std::to_string(given) + ", but " +
               std::to_string(flows_[worst].holds) + " messages are kept across steps by " + joined(holders, " and "),
           "it must be at least " + std::to_string(flows_[worst].holds + 1) + ", or may be left out");
  }

  CheckedGraph assembled() const {
    CheckedGraph graph;
    graph.spec = spec_;
    graph.domains = domains_;
    std::vector<size_t> node_of(tree_.order.size());
    for (size_t n = 0; n < tree_.order.size(); ++n) node_of[tree_.order[n]] = n;
    for (size_t n = 0; n < tree_.order.size(); ++n) {
      const size_t i = tree_.order[n];
      CheckedGraph::Node node{stage(i), tree_.kinds[i],      flows_[i].output,    n,
                              {},       flows_[i].domain_in, flows_[i].domain_out};
      if (tree_.feeders[i] != kNone) node.feeder = node_of[tree_.feeders[i]];
      for (const size_t reader : tree_.readers[i]) node.readers.push_back(node_of[reader]);
      graph.nodes.push_back(std::move(node));
    }
    return graph;
  }

  const GraphSpec& spec_;
  const Registry& registry_;
  Diagnostics diagnostics_;
  const StageTree tree_;
  std::vector<Flow> flows_;
  std::vector<CheckedGraph::DomainNeeds> domains_;
};

}  // namespace

tl::expected<CheckedGraph, Diagnostics> check(const GraphSpec& spec, const Registry& registry) {
  return Checker(spec, registry).check();
}

}  // namespace trama
