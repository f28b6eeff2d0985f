#include "modules/support/module_lists.hpp"

#include <iterator>
#include <sstream>
#include <utility>

#include "modules/support/privacy_ranges.hpp"

namespace trama {
namespace {

void add(Diagnostics& wrong, Diagnostics more) {
  wrong.insert(wrong.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

tl::expected<ModuleLists::Contents, Diagnostics> ModuleLists::read(Reading reading) const {
  Diagnostics wrong;
  std::vector<PrivacyRanges::Entry> written;
  for (const std::string& range : ranges) written.push_back({range, ranges_place});
  for (const std::string& path : files) {
    auto read = PrivacyRanges::read_file(path, reading);
    if (read)
      written.insert(written.end(), read->begin(), read->end());
    else
      wrong.push_back(std::move(read.error()));
  }
  const auto parsed = PrivacyRanges::parse(written);
  if (!parsed) add(wrong, parsed.error());

  Contents contents{{}, maps, std::vector<Place>(maps.size(), maps_place)};
  for (const std::string& path : map_files) {
    auto lines =
        read_list_file(path, reading, {"map contents", "entry", "if it is empty on purpose, write `none` on a line"});
    if (!lines) {
      wrong.push_back(std::move(lines.error()));
      continue;
    }
    for (ListLine& line : *lines) {
      contents.entries.push_back(std::move(line.text));
      contents.places.push_back(std::move(line.place));
    }
  }
  if (!wrong.empty()) return tl::unexpected(std::move(wrong));
  std::istringstream text(parsed->canonical());
  for (std::string line; std::getline(text, line);) contents.ranges.push_back(line);
  return contents;
}

}  // namespace trama
