// trama run: options -> graph -> checked graph -> plan -> running graph -> summary.
//
// All that can be refused is refused before anything is written: then the status is 2, and nothing is left.
#include <unistd.h>

#include <algorithm>
#include <new>

#include "control/privileges.hpp"
#include "control/run_graph.hpp"
#include "control/run_loop.hpp"
#include "control/run_options.hpp"
#include "control/summary.hpp"
#include "control/summary_file.hpp"
#include "control/terminal.hpp"
#include "control/verbs.hpp"
#include "engine/plan.hpp"
#include "modules/support/archive_writer.hpp"
#include "modules/support/input_paths.hpp"
#include "modules/support/run_identity.hpp"

namespace trama {
namespace {

// A graph that has passed every test but that of its stages' setup.
struct Prepared {
  GraphSpec spec;
  Plan plan;
  std::string output_folder, sensor, identity;
  std::optional<SummaryFile> summary;
  std::optional<OtherUser> user;
};

// The folder that the archive stage writes into, also where the graph leaves it to the stage's standard.
std::string output_folder_of(const CheckedGraph& graph) {
  for (const CheckedGraph::Node& node : graph.nodes) {
    for (const ParameterHelp& parameter : node.kind->parameters) {
      if (parameter.name != "directory") continue;
      const auto given = node.spec.parameters.values.find("directory");
      if (given == node.spec.parameters.values.end()) return parameter.standard;
      if (const auto* text = std::get_if<std::string>(&given->second.value)) return *text;
    }
  }
  return "";
}

Expected<void> prepare_summary(const std::string& path, Prepared& prepared) {
  std::vector<std::string> used;
  for (const std::string& file : files_read(prepared.spec)) {
    const auto expanded = expand_inputs({file});
    used.push_back(file);
    if (expanded) used.insert(used.end(), expanded->begin(), expanded->end());
  }
  if (const std::string saved = text_parameter(prepared.spec, "file"); !saved.empty()) used.push_back(saved);
  auto summary = SummaryFile::judge(path, used, prepared.output_folder);
  if (!summary) return tl::unexpected(std::move(summary.error()));
  prepared.summary = std::move(*summary);
  return {};
}

std::optional<Prepared> prepare(const RunOptions& options) {
  const std::vector<int> processors = allowed_processors();
  auto spec = make_graph(options, Registry::instance(), processors.size());
  if (!spec) return print(spec.error(), graph_lines(options.graph_file.value_or(""))), std::nullopt;
  auto checked = check(*spec, Registry::instance());
  if (!checked) return print(checked.error(), spec->lines), std::nullopt;
  auto plan = make_plan(std::move(*checked), processors);
  if (!plan) return print(plan.error(), spec->lines), std::nullopt;

  Prepared prepared{std::move(*spec), std::move(*plan), "", "", "", {}, {}};
  prepared.output_folder = output_folder_of(prepared.plan.graph);
  prepared.sensor = text_parameter(prepared.spec, "sensor");
  prepared.identity = graph_identity(prepared.spec);
  if (options.user) {
    auto user = OtherUser::find(*options.user);
    if (!user) return print(user.error()), std::nullopt;
    prepared.user = std::move(*user);
  }
  if (options.summary)
    if (auto usable = prepare_summary(*options.summary, prepared); !usable) return print(usable.error()), std::nullopt;
  return prepared;
}

std::unique_ptr<Runtime> make_runtime(const Prepared& prepared, Services& services, Ledger& ledger) {
  try {
    auto runtime = Runtime::make(prepared.plan, services, &ledger);
    if (runtime) return std::move(*runtime);
    print(runtime.error(), prepared.spec.lines);
  } catch (const std::bad_alloc&) {
    print_error("there isn't enough memory for this graph", "take fewer --workers or a smaller --window-packets");
  }
  return nullptr;
}

// The key and whatever else needs root has been opened; archives and summary are made by the other user, who may write
// to other places than root.
bool change_user(Prepared& prepared, const RunOptions& options) {
  auto changed = prepared.user->become();
  if (!options.core) forbid_core_dumps();
  if (changed && !prepared.output_folder.empty()) changed = check_output_folder(prepared.output_folder);
  if (changed && options.summary) changed = prepare_summary(*options.summary, prepared);
  if (!changed) print(changed.error());
  return changed.has_value();
}

class Run {
 public:
  Run(const RunOptions& options, Prepared prepared) : options_(options), prepared_(std::move(prepared)) {}

  int run(RunSignals& signals) {
    services_.get<RunIdentity>()->graph = prepared_.identity;
    signals.setup_begins();
    runtime_ = make_runtime(prepared_, services_, ledger_);
    signals.setup_ended();
    if (!runtime_) return kMisused;
    if (prepared_.user && !change_user(prepared_, options_)) return kMisused;

    RunLoop loop(*runtime_, services_, {options_.quiet, options_.duration_s});
    loop.run(signals, [this](double seconds) { say(facts(seconds)); });
    return finish(loop);
  }

 private:
  RunFacts facts(double seconds) {
    RunFacts facts = gather(*services_.get<RunReport>(), ledger_);
    facts.graph = prepared_.identity;
    facts.sensor = prepared_.sensor;
    facts.seconds = seconds;
    return facts;
  }
  static void say(const RunFacts& facts) { std::fputs(summary_text(facts).c_str(), stderr); }

  int finish(const RunLoop& loop) {
    const RunFacts result = facts(loop.seconds());
    print(input_messages(result.inputs));
    int status = exit_status(result);
    if (prepared_.summary) {
      if (auto written = prepared_.summary->write(summary_json(result)); !written) {
        print(written.error());
        status = kFailed;
      }
    }
    if (!options_.quiet) say(result);
    if (options_.verbose)
      std::fputs(stage_table(runtime_->counters(), loop.cycles(), prepared_.plan.workers).c_str(), stderr);
    return status;
  }

  const RunOptions& options_;
  Prepared prepared_;
  Services services_;
  Ledger ledger_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace

int run_verb(const Arguments& arguments) {
  const auto options = parse_run_options(arguments);
  if (!options) {
    print(options.error());
    return kMisused;
  }
  if (options->help_wanted) {
    std::fputs(run_help().c_str(), stdout);
    return kDone;
  }
  if (!options->core) forbid_core_dumps();
  RunSignals signals;  // from here on none of them ends the process by itself
  auto prepared = prepare(*options);
  if (!prepared) return kMisused;
  return Run(*options, std::move(*prepared)).run(signals);
}

}  // namespace trama
