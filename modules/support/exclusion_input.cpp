#include "modules/support/exclusion_input.hpp"

namespace trama {
namespace {

std::vector<PrivacyRanges::Entry> entries_of(const std::vector<std::string>& ranges, const Place& place) {
  std::vector<PrivacyRanges::Entry> entries;
  for (const std::string& range : ranges) entries.push_back({range, place});
  return entries;
}

}  // namespace

Diagnostics check_ranges(const std::vector<std::string>& ranges, const Place& place) {
  auto parsed = PrivacyRanges::parse(entries_of(ranges, place));
  return parsed ? Diagnostics{} : std::move(parsed.error());
}

void ExclusionInput::set(Config config) {
  const std::lock_guard lock(mutex_);
  config_ = std::move(config);
  set_ = true;
}

bool ExclusionInput::is_set() const {
  const std::lock_guard lock(mutex_);
  return set_;
}

bool ExclusionInput::has_files() const {
  const std::lock_guard lock(mutex_);
  return !config_.files.empty();
}

tl::expected<std::shared_ptr<const PrivacyRanges>, Diagnostics> ExclusionInput::read(Reading reading) const {
  const std::lock_guard lock(mutex_);
  std::vector<PrivacyRanges::Entry> entries = entries_of(config_.ranges, config_.ranges_place);
  Diagnostics wrong;
  for (const std::string& file : config_.files) {
    auto read = PrivacyRanges::read_file(file, reading);
    if (read)
      entries.insert(entries.end(), read->begin(), read->end());
    else
      wrong.push_back(std::move(read.error()));
  }
  auto ranges = PrivacyRanges::parse(entries);
  if (!ranges) wrong.insert(wrong.end(), ranges.error().begin(), ranges.error().end());
  if (!wrong.empty()) return tl::unexpected(std::move(wrong));
  return std::make_shared<const PrivacyRanges>(std::move(*ranges));
}

}  // namespace trama
