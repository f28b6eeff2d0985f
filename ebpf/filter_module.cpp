#include "ebpf/filter_module.hpp"

#include <cstring>
#include <utility>

#include "ebpf/loader.hpp"
#include "ebpf/map_entries.hpp"

namespace trama::ebpf {
namespace {

Expected<uint32_t> find_program(const Object& object, const std::string& name) {
  std::string names;
  for (const Program& program : object.programs) names += (names.empty() ? "" : ", ") + program.name;
  if (name.empty()) {
    if (object.programs.size() == 1) return 0u;
    return refuse(object.name + " has several programs", "name one of them: " + names);
  }
  const Program* const program = object.find_program(name);
  if (!program) return refuse(object.name + " has no program " + name, "it has " + names);
  return static_cast<uint32_t>(program - object.programs.data());
}

Decision decision_of(Meaning meaning) {
  switch (meaning) {
    case Meaning::refused: return Decision::fault;
    case Meaning::excluded: return Decision::excluded;
    case Meaning::filtered: return Decision::filtered;
    case Meaning::passed: return Decision::pass;
  }
  return Decision::fault;
}

}  // namespace

FilterModule::FilterModule(Object object, Analysis analysis, uint32_t program)
    : object_(std::move(object)), analysis_(std::move(analysis)), program_(program) {}

Expected<std::shared_ptr<FilterModule>> FilterModule::load(const std::string& path, const ModuleOptions& options) {
  auto object = load_object(path);
  if (!object) return tl::unexpected(object.error());
  return make(std::move(*object), options);
}

Expected<std::shared_ptr<FilterModule>> FilterModule::make(Object object, const ModuleOptions& options) {
  const auto program = find_program(object, options.program);
  if (!program) return tl::unexpected(program.error());
  auto analysis = analyze(object);
  if (!analysis) return tl::unexpected(analysis.error());
  std::shared_ptr<FilterModule> module(new FilterModule(std::move(object), std::move(*analysis), *program));
  if (auto chosen = module->choose_meanings(options); !chosen) return tl::unexpected(chosen.error());
  auto maps = Maps::create(module->object_, options.replicas);
  if (!maps) return tl::unexpected(maps.error());
  module->maps_ = std::move(*maps);
  if (auto chosen = module->choose_engine(options.engine); !chosen) return tl::unexpected(chosen.error());
  if (!options.ranges.empty())
    if (auto set = set_ranges(*module->maps_, options.ranges); !set) return tl::unexpected(set.error());
  if (auto set = set_entries(module->object_, *module->maps_, options.entries); !set)
    return tl::unexpected(set.error());
  return module;
}

Expected<void> FilterModule::choose_meanings(const ModuleOptions& options) {
  const auto declared = declared_meanings(object_);
  if (!declared) return tl::unexpected(declared.error());
  meanings_ = *declared;
  meanings_.drop = options.drop.value_or(meanings_.drop);
  meanings_.tx = options.tx.value_or(meanings_.tx);
  meanings_.redirect = options.redirect.value_or(meanings_.redirect);
  if (properties().redirects && meanings_.redirect == Meaning::refused)
    return refuse(object_.name + " redirects packets, and doesn't declare what that means here",
                  "TRAMA_DECLARE(.redirect = TRAMA_PASSED) in the module, or `redirect` of the stage");
  decisions_[XDP_PASS] = Decision::pass;
  decisions_[XDP_DROP] = decision_of(meanings_.drop);
  decisions_[XDP_TX] = decision_of(meanings_.tx);
  decisions_[XDP_REDIRECT] = decision_of(meanings_.redirect);
  return {};
}

Expected<void> FilterModule::choose_engine(Engine engine) {
  if (engine != Engine::interpreter) {
    auto compiled = Jit::compile(object_, analysis_, *maps_);
    if (compiled) {
      jit_ = std::move(*compiled);
      return {};
    }
    if (engine == Engine::jit) return tl::unexpected(compiled.error());
    why_interpreted_ = describe(compiled.error());
  }
  interpreter_ = std::make_unique<Interpreter>(object_);
  return {};
}

const Properties& FilterModule::properties() const noexcept {
  const Properties& own = analysis_.programs[program_].properties;
  return own.tail_calls ? analysis_.properties : own;
}

FilterReplica::FilterReplica(const FilterModule& module, uint32_t replica, uint32_t most_bytes)
    : module_(module), execution_(std::make_unique<Execution>()) {
  module.maps().attach(*execution_, replica);
  const Properties& properties = module.properties();
  execution_->writable_maps = properties.own_written_maps | properties.counting_maps | properties.written_maps;
  execution_->packet_writable = module.needs_copy();
  execution_->clears_stack = looks_anywhere_on_the_stack(module.object(), module.analysis());
  if (module.jit() && !module.needs_copy() && !execution_->clears_stack)
    compiled_ = module.jit()->entry(module.program());
  if (module.needs_copy()) copy_.resize(size_t{kHeadroomBytes} + most_bytes);
}

// False: there is no room for it.
bool FilterReplica::copy(std::span<const uint8_t> frame) noexcept {
  if (frame.size() > copy_.size() - kHeadroomBytes) return false;
  // A program that moves the packet's start could see there what it wrote for the packet before.
  if (module_.properties().moves_packet) std::memset(copy_.data(), 0, kHeadroomBytes);
  if (!frame.empty()) std::memcpy(copy_.data() + kHeadroomBytes, frame.data(), frame.size());
  return true;
}

Decision FilterReplica::judge_otherwise(std::span<const uint8_t> frame, uint64_t time_ns) noexcept {
  if (copy_.empty()) {
    execution_->show_next(frame.data(), static_cast<uint32_t>(frame.size()), time_ns);
    if (execution_->clears_stack) execution_->clear_stack();
  } else if (copy(frame)) {
    PacketView view;
    view.data = copy_.data() + kHeadroomBytes;
    view.bytes = static_cast<uint32_t>(frame.size());
    view.headroom = kHeadroomBytes;
    view.time_ns = time_ns;
    execution_->show(view);
  } else {
    execution_->fault = Fault::bad_access;
    verdict_ = XDP_ABORTED;
    return Decision::fault;
  }
  // The kernel takes the low 32 bits, too. A program that was stopped has aborted.
  verdict_ = static_cast<uint32_t>(module_.run(*execution_));
  return module_.decide(verdict_);
}

std::string FilterReplica::describe_fault() const {
  if (execution_->fault == Fault::none) {
    constexpr const char* kNames[] = {"XDP_ABORTED", "XDP_DROP", "XDP_PASS", "XDP_TX", "XDP_REDIRECT"};
    const std::string name = verdict_ < std::size(kNames) ? kNames[verdict_] : "verdict " + std::to_string(verdict_);
    return "program " + module_.entry().name + ": " + name +
           (verdict_ == XDP_ABORTED ? "" : ", which the module doesn't declare");
  }
  Refusal refusal;
  refusal.text = name_of(execution_->fault);
  if (execution_->fault_program < module_.object().programs.size()) {
    const Program& program = module_.object().programs[execution_->fault_program];
    refusal.program = program.name;
    refusal.instruction = execution_->fault_instruction;
    if (const SourceLine* line = program.line_of(execution_->fault_instruction)) {
      refusal.source_file = line->file;
      refusal.source_line = line->line;
      refusal.source_text = line->text;
    }
  }
  return describe(refusal);
}

}  // namespace trama::ebpf
