// trama run: options -> graph -> checked graph -> plan -> running graph -> summary.
//
// All that can be refused is refused before anything is written: then the status is 2, and nothing is left.
#include <unistd.h>

#include <algorithm>
#include <new>

#include "control/engine_state.hpp"
#include "control/privileges.hpp"
#include "control/run_doors.hpp"
#include "control/run_graph.hpp"
#include "control/run_loop.hpp"
#include "control/run_observer.hpp"
#include "control/run_options.hpp"
#include "control/run_service.hpp"
#include "control/runtime_control.hpp"
#include "control/summary.hpp"
#include "control/summary_file.hpp"
#include "control/terminal.hpp"
#include "control/verbs.hpp"
#include "engine/plan.hpp"
#include "modules/support/archive_writer.hpp"
#include "modules/support/input_paths.hpp"
#include "modules/support/kept_capabilities.hpp"
#include "modules/support/run_identity.hpp"
#include "modules/support/run_start.hpp"

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

std::unique_ptr<Runtime> make_runtime(const Prepared& prepared, Services& services, RunObserver& observer) {
  try {
    auto runtime = Runtime::make(prepared.plan, services, &observer);
    if (runtime) return std::move(*runtime);
    print(runtime.error(), prepared.spec.lines);
  } catch (const std::bad_alloc&) {
    print_error("there isn't enough memory for this graph", "take fewer --workers or a smaller --window-packets");
  }
  return nullptr;
}

// The key and whatever else takes privileges has been opened. Archives and summary are made without them, perhaps by
// another user, who may write to other places than root.
bool give_up_privileges(Prepared& prepared, const RunOptions& options, const KeptCapabilities& kept) {
  auto done = give_up_privileges(prepared.user, kept.set());
  if (!options.core) forbid_core_dumps();
  if (done && !prepared.output_folder.empty()) done = check_output_folder(prepared.output_folder);
  if (done && options.summary) done = prepare_summary(*options.summary, prepared);
  if (!done) print(done.error());
  return done.has_value();
}

class Run {
 public:
  Run(const RunOptions& options, Prepared prepared) : options_(options), prepared_(std::move(prepared)) {}

  int run(RunSignals& signals) {
    services_.get<RunIdentity>()->graph = prepared_.identity;
    services_.get<RunStart>()->hold();
    signals.setup_begins();
    runtime_ = make_runtime(prepared_, services_, observer_);
    signals.setup_ended();
    if (!runtime_ || !open_doors()) return kMisused;
    if (!give_up_privileges(prepared_, options_, *services_.get<KeptCapabilities>())) return kMisused;
    services_.get<RunStart>()->begin();
    if (auto serving = doors_->serve(); !serving) return print(serving.error()), kMisused;

    RunService service(manager_, *runtime_, [this] { return state_->status(); });
    RunLoop loop(*runtime_, *control_, *report_, service, {options_.quiet, options_.duration_s});
    loop.run(signals, {[this](double seconds) { say(facts(seconds)); }, [this] { doors_->remove_socket(); }});
    return finish(loop);
  }

 private:
  bool open_doors() {
    control_ = std::make_unique<RuntimeControl>(*runtime_, services_, configured_exclusions(prepared_.spec));
    state_ = std::make_unique<EngineState>(
        *runtime_, ledger_, *report_, *control_,
        EngineState::Identity{prepared_.sensor, prepared_.identity, prepared_.plan.workers});
    auto doors =
        RunDoors::open({options_.socket, options_.metrics, prepared_.user}, *control_, *state_, *windows_, *report_);
    if (!doors) return print(doors.error()), false;
    doors_ = std::move(*doors);
    return true;
  }
  RunFacts facts(double seconds) {
    RunFacts facts = gather(*report_, ledger_);
    add_passed_by(runtime_->counters(), facts.outlets);
    facts.graph = prepared_.identity;
    facts.sensor = prepared_.sensor;
    facts.seconds = seconds;
    return facts;
  }
  static void say(const RunFacts& facts) { std::fputs(summary_text(facts).c_str(), stderr); }

  int finish(const RunLoop& loop) {
    RunFacts result = facts(loop.seconds());
    result.busiest = busiest_stage(runtime_->counters(), loop.cycles(), prepared_.plan.workers);
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
  const ServiceManager manager_;
  Services services_;
  const std::shared_ptr<RunReport> report_ = services_.get<RunReport>();
  const std::shared_ptr<WindowLog> windows_ = services_.get<WindowLog>();
  Ledger ledger_;
  RunObserver observer_{ledger_, *windows_};
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<RuntimeControl> control_;
  std::unique_ptr<EngineState> state_;
  std::unique_ptr<RunDoors> doors_;  // first to go: others come through them
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
