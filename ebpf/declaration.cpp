#include "ebpf/declaration.hpp"

#include <cstring>

#include "ebpf/trama_filter.h"

namespace trama::ebpf {
namespace {

constexpr const char* kSectionName = ".rodata.trama";

static_assert(static_cast<int>(Meaning::refused) == TRAMA_REFUSED);
static_assert(static_cast<int>(Meaning::excluded) == TRAMA_EXCLUDED);
static_assert(static_cast<int>(Meaning::filtered) == TRAMA_FILTERED);
static_assert(static_cast<int>(Meaning::passed) == TRAMA_PASSED);

}  // namespace

Expected<Meanings> declared_meanings(const Object& object) {
  const int section = object.find_map(kSectionName);
  if (section < 0) return Meanings{};
  const std::vector<uint8_t>& bytes = object.maps[static_cast<size_t>(section)].initial_value;
  trama_declaration declaration{};
  const std::string where = object.name + ": the declaration in " + kSectionName;
  if (bytes.size() != sizeof declaration)
    return refuse(
        where + " has " + std::to_string(bytes.size()) + " bytes instead of " + std::to_string(sizeof declaration),
        "use TRAMA_DECLARE of trama_filter_bpf.h, once");
  std::memcpy(&declaration, bytes.data(), sizeof declaration);
  if (declaration.version != TRAMA_DECLARATION_VERSION)
    return refuse(where + " is of version " + std::to_string(declaration.version) + ", which this Trama doesn't know",
                  "compile the module with this Trama's trama_filter.h");
  if (declaration.drop > TRAMA_PASSED || declaration.tx > TRAMA_PASSED || declaration.redirect > TRAMA_PASSED ||
      declaration.reserved != 0)
    return refuse(where + " has a meaning that there isn't", "use the values of enum trama_meaning");
  return Meanings{true, static_cast<Meaning>(declaration.drop), static_cast<Meaning>(declaration.tx),
                  static_cast<Meaning>(declaration.redirect)};
}

const char* name_of(Meaning meaning) noexcept {
  switch (meaning) {
    case Meaning::refused: return "refused";
    case Meaning::excluded: return "excluded";
    case Meaning::filtered: return "filtered";
    case Meaning::passed: return "passed";
  }
  return "unknown";
}

}  // namespace trama::ebpf
