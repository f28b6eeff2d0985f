#include "ebpf/object.hpp"

#include <algorithm>

namespace trama::ebpf {

const SourceLine* Program::line_of(uint32_t instruction) const {
  const auto after = std::upper_bound(lines.begin(), lines.end(), instruction,
                                      [](uint32_t at, const SourceLine& line) { return at < line.instruction; });
  return after == lines.begin() ? nullptr : &*std::prev(after);
}

const Program* Object::find_program(const std::string& program) const {
  const auto found = std::find_if(programs.begin(), programs.end(),
                                  [&program](const Program& candidate) { return candidate.name == program; });
  return found == programs.end() ? nullptr : &*found;
}

int Object::find_map(const std::string& map) const {
  const auto found =
      std::find_if(maps.begin(), maps.end(), [&map](const MapSpec& candidate) { return candidate.name == map; });
  return found == maps.end() ? -1 : static_cast<int>(found - maps.begin());
}

}  // namespace trama::ebpf
