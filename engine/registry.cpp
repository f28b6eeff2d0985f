#include "engine/registry.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace trama {
namespace {

bool has_engine_key(const StageKind& kind) {
  return std::any_of(kind.parameters.begin(), kind.parameters.end(), [](const ParameterHelp& parameter) {
    return std::find(std::begin(kEngineKeys), std::end(kEngineKeys), parameter.name) != std::end(kEngineKeys);
  });
}

// What no stage can be, in words; null when the declaration is sound.
const char* impossible(const StageKind& kind) {
  const StageInfo& info = kind.info;
  const bool opens = info.numbering == Numbering::opens;
  if (info.kind.empty() || info.summary.empty()) return "has no name or no summary";
  if (!kind.check || !kind.make) return "can't be checked or made";
  if (kind.source && kind.sink) return "takes nothing and makes nothing";
  if (kind.source && !opens) return "is a source that opens no numbers";
  if (kind.sink && opens) return "is a sink that opens numbers";
  if (opens && !kind.source && info.parallelism != Parallelism::serial)
    return "cuts messages into others, but could have replicas";
  if (info.ordering == Ordering::restores && info.parallelism != Parallelism::serial)
    return "restores order, but could have replicas";
  if (kind.any_type && kind.output) return "takes any type, but doesn't pass on what it takes";
  if (kind.any_type && opens) return "opens numbers, but makes no messages of its own";
  if (!kind.source && !kind.any_type && !kind.input) return "takes no type";
  if (!kind.sink && !kind.any_type && !kind.output) return "makes no type";
  if (has_engine_key(kind)) return "has a parameter with the name of an engine key";
  return nullptr;
}

[[noreturn]] void give_up(std::string_view kind, const char* why) {
  std::fprintf(stderr, "trama: stage kind '%.*s' %s\n", static_cast<int>(kind.size()), kind.data(), why);
  std::abort();
}

}  // namespace

Registry& Registry::instance() {
  static Registry registry;
  return registry;
}

void Registry::add(StageKind kind) {
  if (const char* why = impossible(kind)) give_up(kind.info.kind, why);
  if (find(kind.info.kind)) give_up(kind.info.kind, "is registered twice");
  const auto after = std::find_if(kinds_.begin(), kinds_.end(),
                                  [&](const StageKind& other) { return other.info.kind > kind.info.kind; });
  kinds_.insert(after, std::move(kind));
}

const StageKind* Registry::find(std::string_view kind) const {
  for (const StageKind& known : kinds_)
    if (known.info.kind == kind) return &known;
  return nullptr;
}

}  // namespace trama
