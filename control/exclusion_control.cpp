#include "control/exclusion_control.hpp"

#include <algorithm>
#include <utility>

namespace trama {
namespace {

std::vector<std::string> texts(const ParameterTable& parameters, const std::string& name) {
  const auto given = parameters.values.find(name);
  if (given == parameters.values.end()) return {};
  if (const auto* list = std::get_if<std::vector<std::string>>(&given->second.value)) return *list;
  if (const auto* one = std::get_if<std::string>(&given->second.value)) return {*one};
  return {};
}

// A range in the one form that all ways to write it share.
RunControl::Outcome<std::string> canonical(const std::string& range) {
  auto parsed = PrivacyRanges::parse({{range, {}}});
  if (!parsed) return tl::unexpected(std::move(parsed.error()));
  return parsed->canonical();
}

bool is_range(const std::string& typed, const std::string& wanted) {
  const auto form = canonical(typed);
  return form && *form == wanted;
}

tl::unexpected<Diagnostics> refused(std::string text, std::string hint) {
  return tl::unexpected(Diagnostics{{Severity::error, {}, std::move(text), std::move(hint)}});
}

tl::unexpected<Diagnostics> nothing_excludes() {
  return refused("this graph has no `exclude` stage", "put one behind `parse`, and start anew");
}

}  // namespace

ExclusionInput::Config configured_exclusions(const GraphSpec& spec) {
  for (const StageSpec& stage : spec.stages) {
    if (stage.kind != "exclude") continue;
    const auto ranges = stage.parameters.values.find("ranges");
    return {texts(stage.parameters, "ranges"), ranges == stage.parameters.values.end() ? Place() : ranges->second.place,
            texts(stage.parameters, "files")};
  }
  return {};
}

ExclusionControl::ExclusionControl(Services& services, ExclusionInput::Config configured)
    : input_(services.get<ExclusionInput>()),
      filters_(services.get<FilterInputs>()),
      rules_(services.get<RulesInForce>()),
      config_(std::move(configured)) {}

RunControl::Outcome<ExclusionChange> ExclusionControl::add(const std::string& range) {
  const std::lock_guard lock(mutex_);
  if (!input_->is_set()) return nothing_excludes();
  const auto wanted = canonical(range);
  if (!wanted) return tl::unexpected(wanted.error());
  ExclusionInput::Config config = config_;
  const auto same = [&](const std::string& typed) { return is_range(typed, *wanted); };
  if (std::none_of(config.ranges.begin(), config.ranges.end(), same)) config.ranges.push_back(range);
  return put_in_force(std::move(config));
}

RunControl::Outcome<ExclusionChange> ExclusionControl::remove(const std::string& range) {
  const std::lock_guard lock(mutex_);
  if (!input_->is_set()) return nothing_excludes();
  const auto wanted = canonical(range);
  if (!wanted) return tl::unexpected(wanted.error());
  ExclusionInput::Config config = config_;
  if (std::erase_if(config.ranges, [&](const std::string& typed) { return is_range(typed, *wanted); }) == 0)
    return refused("this range is not among those that were typed",
                   config_.files.empty() ? "`trama ctl exclude list` shows them"
                                         : "take it out of its file, then say `trama ctl reload`");
  return put_in_force(std::move(config));
}

RunControl::Outcome<ExclusionChange> ExclusionControl::reload() {
  const std::lock_guard lock(mutex_);
  if (!input_->has_files() && filters_->empty())
    return refused("there is no file of ranges or map contents to read again",
                   "start with --exclude-file FILE, or name `files` of a filter module in a graph file");
  auto filters = filters_->read_again(*rules_->current());
  if (!filters) return tl::unexpected(std::move(filters.error()));
  return put_in_force(config_, *filters);
}

RunControl::Outcome<ExclusionOrigin> ExclusionControl::list() const {
  const std::lock_guard lock(mutex_);
  if (!input_->is_set()) return nothing_excludes();
  return ExclusionOrigin{config_.ranges, config_.files, rules_->current()->ranges->size()};
}

// All of it or nothing, under one number.
RunControl::Outcome<ExclusionChange> ExclusionControl::put_in_force(ExclusionInput::Config wanted,
                                                                    const FilterInputs::Changes& filters) {
  // What fails is left behind in the input, and taken out of it by the next one: nobody else reads it.
  if (input_->is_set()) input_->set(wanted);
  auto ranges = input_->read(Reading::again);
  if (!ranges) return tl::unexpected(std::move(ranges.error()));
  const size_t number = (*ranges)->size();
  const auto changed = FilterInputs::put_in_force(filters, *rules_, [&](Rules& rules) {
    // The same ranges stay the same object: that is what windows are compared by.
    if (rules.ranges->canonical() != (*ranges)->canonical()) rules.ranges = std::move(*ranges);
  });
  if (!changed) return tl::unexpected(changed.error());
  config_ = std::move(wanted);
  return ExclusionChange{*changed, number};
}

}  // namespace trama
