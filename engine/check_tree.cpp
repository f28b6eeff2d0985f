#include "engine/check_tree.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "engine/diagnostic_list.hpp"
#include "engine/suggest.hpp"

namespace trama {
namespace {

class TreeMaker {
 public:
  TreeMaker(const GraphSpec& spec, const Registry& registry, Diagnostics& diagnostics)
      : spec_(spec),
        registry_(registry),
        diagnostics_(diagnostics),
        linked_to_(spec.stages.size()),
        linked_from_(spec.stages.size()) {
    tree_.kinds.resize(spec.stages.size());
    tree_.feeders.resize(spec.stages.size(), StageTree::kNone);
    tree_.link_places.resize(spec.stages.size());
    tree_.readers.resize(spec.stages.size());
    for (size_t i = 0; i < spec.stages.size(); ++i) index_.emplace(spec.stages[i].name, i);
  }

  StageTree make() {
    find_kinds();
    if (spec_.links.empty()) {
      report(spec_.place, "the graph has no links", "write links = [\"a -> b\", \"b -> c\"] below [graph]");
    } else {
      keep_possible_links();
      cut_loops();
      feed_once();
      report_ends();
    }
    put_in_order();
    return std::move(tree_);
  }

 private:
  struct Arrow {
    size_t from, to;
    Place place;
    bool closes_loop = false;
  };

  void report(const Place& place, std::string text, std::string hint) {
    refuse(diagnostics_, place, std::move(text), std::move(hint));
  }

  void find_kinds() {
    std::vector<std::string> names;
    for (const StageKind& kind : registry_.kinds()) names.emplace_back(kind.info.kind);
    for (size_t i = 0; i < spec_.stages.size(); ++i) {
      const StageSpec& stage = spec_.stages[i];
      tree_.kinds[i] = registry_.find(stage.kind);
      if (tree_.kinds[i]) continue;
      const std::string of = stage.name == stage.kind ? "" : ", which stage `" + stage.name + "` names";
      report(stage.kind_place, "there is no stage kind `" + stage.kind + "`" + of,
             suggestion(stage.kind, "there are", names) + own_name_hint(stage));
    }
  }

  // A name that only a link has is that of a kind.
  static std::string own_name_hint(const StageSpec& stage) {
    if (stage.name != stage.kind) return "";
    return "; a name of your own needs a kind: [stages." + stage.name + "] with kind = \"...\"";
  }

  void keep_possible_links() {
    for (const LinkSpec& link : spec_.links) {
      const auto from = index_.find(link.from), to = index_.find(link.to);
      if (from == index_.end() || to == index_.end()) {
        report(link.place, "a link names a stage that the graph doesn't have", "");
        continue;
      }
      const StageSpec& giver = spec_.stages[from->second];
      const StageSpec& reader = spec_.stages[to->second];
      linked_from_[from->second] = linked_to_[to->second] = true;
      const StageKind* giver_kind = tree_.kinds[from->second];
      const StageKind* reader_kind = tree_.kinds[to->second];
      if (from->second == to->second) {
        report(link.place, called(giver) + " is linked to itself", "a stage reads from one that stands before it");
      } else if (reader_kind && reader_kind->source) {
        report(link.place, called(reader) + " is a source and can't be fed by " + called(giver),
               "a source stands first in a link");
      } else if (giver_kind && giver_kind->sink) {
        report(link.place, called(giver) + " is a sink and hands nothing on to " + called(reader),
               "a sink stands last; to feed both, write \"... -> " + giver.name + ", " + reader.name + "\"");
      } else {
        arrows_.push_back({from->second, to->second, link.place});
      }
    }
  }

  // Depth first, without recursion: an arrow back to a stage that is still on the path closes a loop.
  void cut_loops() {
    std::vector<std::vector<size_t>> leaving(spec_.stages.size());
    std::vector<bool> entered(spec_.stages.size());
    for (size_t i = 0; i < arrows_.size(); ++i) {
      leaving[arrows_[i].from].push_back(i);
      entered[arrows_[i].to] = true;
    }
    std::vector<bool> seen(spec_.stages.size());
    // From the beginnings first, so that the arrow that is called the last one of a loop is the one a reader expects.
    for (size_t i = 0; i < entered.size(); ++i)
      if (!entered[i]) walk(i, leaving, seen);
    for (size_t i = 0; i < entered.size(); ++i)
      if (entered[i]) walk(i, leaving, seen);
    std::erase_if(arrows_, [](const Arrow& arrow) { return arrow.closes_loop; });
  }

  void walk(size_t start, const std::vector<std::vector<size_t>>& leaving, std::vector<bool>& seen) {
    if (seen[start]) return;
    std::vector<size_t> path{start}, next{0};
    std::vector<bool> on_path(seen.size());
    seen[start] = on_path[start] = true;
    while (!path.empty()) {
      const size_t here = path.back();
      if (next.back() == leaving[here].size()) {
        on_path[here] = false;
        path.pop_back();
        next.pop_back();
        continue;
      }
      Arrow& arrow = arrows_[leaving[here][next.back()++]];
      if (on_path[arrow.to]) {
        arrow.closes_loop = true;
        report_loop(path, arrow);
      } else if (!seen[arrow.to]) {
        seen[arrow.to] = on_path[arrow.to] = true;
        path.push_back(arrow.to);
        next.push_back(0);
      }
    }
  }

  void report_loop(const std::vector<size_t>& path, const Arrow& closing) {
    std::vector<std::string> names;
    for (auto at = std::find(path.begin(), path.end(), closing.to); at != path.end(); ++at)
      names.push_back(spec_.stages[*at].name);
    names.push_back(names.front());
    report(closing.place, "a loop: " + joined(names, " -> "), "messages only go forward: take one of these links out");
  }

  void feed_once() {
    for (const Arrow& arrow : arrows_) {
      size_t& feeder = tree_.feeders[arrow.to];
      if (feeder == StageTree::kNone) {
        feeder = arrow.from;
        tree_.link_places[arrow.to] = arrow.place;
        tree_.readers[arrow.from].push_back(arrow.to);
        continue;
      }
      const StageSpec& stage = spec_.stages[arrow.to];
      const std::string first = called(spec_.stages[feeder]);
      if (feeder == arrow.from) {
        report(arrow.place, called(stage) + " is fed by " + first + " twice: a number would arrive twice",
               "take one of the two links out");
      } else {
        report(arrow.place,
               called(stage) + " is fed by " + first + " and by " + called(spec_.stages[arrow.from]) +
                   ": a number would arrive twice",
               "each stage has one stage that feeds it; make a second stage of the kind `" + stage.kind +
                   "` for the second way");
      }
    }
  }

  void report_ends() {
    std::optional<size_t> source;
    for (size_t i = 0; i < spec_.stages.size(); ++i) {
      const StageSpec& stage = spec_.stages[i];
      if (!linked_to_[i] && !linked_from_[i]) {
        report(stage.place, "nothing links " + called(stage), "name it in `links`, or take its table out");
        continue;
      }
      const StageKind* kind = tree_.kinds[i];
      if (!kind) continue;
      if (kind->source && source) {
        report(stage.place, called(stage) + " is a second source beside " + called(spec_.stages[*source]),
               "a graph has one source stage, which may take several inputs");
      }
      if (kind->source && !source) source = i;
      if (!kind->source && !linked_to_[i])
        report(stage.place, "nothing feeds " + called(stage), "put a source in front of it: " + names_of_sources());
      if (!kind->sink && !linked_from_[i])
        report(stage.place, "nobody reads what " + called(stage) + " makes",
               "end the link with a sink: " + names_of_sinks());
    }
  }

  std::string names_of_sources() const { return names_where(&StageKind::source); }
  std::string names_of_sinks() const { return names_where(&StageKind::sink); }
  std::string names_where(bool StageKind::*role) const {
    std::vector<std::string> names;
    for (const StageKind& kind : registry_.kinds())
      if (kind.*role) names.emplace_back(kind.info.kind);
    return joined(names);
  }

  void put_in_order() {
    std::vector<size_t>& order = tree_.order;
    for (size_t i = 0; i < spec_.stages.size(); ++i)
      if (tree_.feeders[i] == StageTree::kNone) order.push_back(i);
    for (size_t done = 0; done < order.size(); ++done)
      order.insert(order.end(), tree_.readers[order[done]].begin(), tree_.readers[order[done]].end());
  }

  const GraphSpec& spec_;
  const Registry& registry_;
  Diagnostics& diagnostics_;
  std::unordered_map<std::string_view, size_t> index_;
  std::vector<bool> linked_to_, linked_from_;  // by any link, also one that was refused
  std::vector<Arrow> arrows_;
  StageTree tree_;
};

}  // namespace

std::string called(const StageSpec& stage) {
  return stage.name == stage.kind ? "`" + stage.name + "`" : "`" + stage.name + "` (" + stage.kind + ")";
}

StageTree make_tree(const GraphSpec& spec, const Registry& registry, Diagnostics& diagnostics) {
  return TreeMaker(spec, registry, diagnostics).make();
}

}  // namespace trama
