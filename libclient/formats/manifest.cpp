#include "libclient/formats/manifest.hpp"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <system_error>

#include "libclient/formats/checksum.hpp"
#include "libclient/formats/count_names.hpp"
#include "libclient/formats/file_bytes.hpp"

namespace trama {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "trama-manifest/1";
constexpr const char* kHex = "0123456789abcdef";

template <class Counts, size_t N>
Json counts_json(const Counts& counts, const CountName<Counts> (&names)[N]) {
  Json json = Json::object();
  for (const auto& [name, count] : names) json[name] = counts.*count;
  return json;
}

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json header_json(const ManifestHeader& header) {
  Json json = Json::object();
  json["format"] = kFormat;
  json["sensor"] = header.sensor;
  json["graph"] = header.graph;
  json["window_packets"] = header.window_packets;
  json["index_order"] = header.index_order;
  json["compression"] = header.compression;
  json["anonymization"] = header.anonymization;
  return json;
}

Json window_json(const ManifestWindow& window) {
  Json json = Json::object();
  json["seq"] = window.seq;
  json["member"] = window.member;
  json["bytes"] = window.bytes;
  json["xxh3_128"] = window.xxh3_128;
  json["packets"] = window.packets;
  json["links"] = window.links;
  json["first_ns"] = window.first_ns;
  json["last_ns"] = window.last_ns;
  json["closed_by"] = kClosedByNames.at(static_cast<size_t>(window.closed_by));
  json["key"] = window.key;
  json["exclusions"] = window.exclusions;
  json["verdicts"] = counts_json(window.verdicts, kVerdictCountNames);
  json["dropped"] = counts_json(window.dropped, kDroppedCountNames);
  return json;
}

// Takes values out of an object; the first one that is missing or of the wrong kind is kept as the error.
class Fields {
 public:
  explicit Fields(const Json& json, std::string place) : json_(json), place_(std::move(place)) {
    if (!json.is_object()) error_ = place_ + " is not an object";
  }

  const Json* find(const char* name) {
    if (!error_.empty()) return nullptr;
    const auto found = json_.find(name);
    if (found == json_.end()) return fail(name, "is missing");
    return &*found;
  }
  void take(const char* name, std::string& to) {
    if (const Json* value = find(name))
      value->is_string() ? void(to = value->get<std::string>()) : wrong(name, "a string");
  }
  void take(const char* name, uint64_t& to) {
    if (const Json* value = find(name))
      value->is_number_unsigned() ? void(to = value->get<uint64_t>()) : wrong(name, "a count");
  }
  void take(const char* name, int64_t& to) {
    const Json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_number_integer() || (value->is_number_unsigned() && value->get<uint64_t>() > INT64_MAX)) {
      return wrong(name, "a time in nanoseconds");
    }
    to = value->get<int64_t>();
  }
  template <class Counts, size_t N>
  void take(const char* name, Counts& to, const CountName<Counts> (&names)[N]) {
    const Json* value = find(name);
    if (value == nullptr) return;
    Fields fields(*value, place_ + "." + name);
    for (const auto& [count_name, count] : names) fields.take(count_name, to.*count);
    if (!fields.error_.empty()) error_ = fields.error_;
  }
  void wrong(const char* name, const std::string& kind) { fail(name, "is not " + kind); }
  const std::string& error() const { return error_; }
  bool ok() const { return error_.empty(); }

 private:
  const Json* fail(const char* name, const std::string& what) {
    if (error_.empty()) error_ = place_ + "." + name + " " + what;
    return nullptr;
  }
  const Json& json_;
  std::string place_;
  std::string error_;
};

bool is_checksum(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of(kHex) == std::string::npos;
}

FormatExpected<ManifestHeader> parse_header(const Json& json) {
  Fields fields(json, "manifest");
  ManifestHeader header;
  std::string format;
  fields.take("format", format);
  if (fields.ok() && format != kFormat) return format_failure("not a manifest of format " + std::string(kFormat));
  fields.take("sensor", header.sensor);
  fields.take("graph", header.graph);
  fields.take("window_packets", header.window_packets);
  fields.take("index_order", header.index_order);
  fields.take("compression", header.compression);
  fields.take("anonymization", header.anonymization);
  if (!fields.ok()) return format_failure(fields.error());
  return header;
}

FormatExpected<ManifestWindow> parse_window(const Json& json, size_t index) {
  Fields fields(json, "windows[" + std::to_string(index) + "]");
  ManifestWindow window;
  std::string closed_by;
  fields.take("seq", window.seq);
  fields.take("member", window.member);
  fields.take("bytes", window.bytes);
  fields.take("xxh3_128", window.xxh3_128);
  fields.take("packets", window.packets);
  fields.take("links", window.links);
  fields.take("first_ns", window.first_ns);
  fields.take("last_ns", window.last_ns);
  fields.take("closed_by", closed_by);
  fields.take("key", window.key);
  fields.take("exclusions", window.exclusions);
  fields.take("verdicts", window.verdicts, kVerdictCountNames);
  fields.take("dropped", window.dropped, kDroppedCountNames);
  const auto reason = std::find(kClosedByNames.begin(), kClosedByNames.end(), closed_by);
  if (fields.ok() && reason == kClosedByNames.end()) fields.wrong("closed_by", "a known reason");
  if (fields.ok() && !is_checksum(window.xxh3_128)) fields.wrong("xxh3_128", "32 hexadecimal digits");
  if (!fields.ok()) return format_failure(fields.error());
  window.closed_by = static_cast<ClosedBy>(reason - kClosedByNames.begin());
  return window;
}

// The parser keeps a few bytes for each level it is in, so that a long text of brackets would take memory many times
// its length. Verdicts of a window are at level 4.
constexpr int kDeepest = 4;
struct TooDeep {};

// Discarded if it is no JSON that could be a manifest's.
Json parse_text(std::string_view text) try {
  const auto check_depth = [](int depth, Json::parse_event_t, Json&) {
    if (depth > kDeepest) throw TooDeep{};
    return true;
  };
  return Json::parse(text.begin(), text.end(), check_depth, false);
} catch (const TooDeep&) {
  return Json(Json::value_t::discarded);
}

}  // namespace

VerdictCounts& VerdictCounts::operator+=(const VerdictCounts& other) {
  for (const auto& [name, count] : kVerdictCountNames) this->*count += other.*count;
  return *this;
}

std::string to_json(const Manifest& manifest) {
  std::string text = "{\n";
  const Json header = header_json(manifest.header);
  for (const auto& [key, value] : header.items()) {
    text += "  " + line_of(key) + ": " + line_of(value) + ",\n";
  }
  if (manifest.recovered) text += "  \"recovered\": true,\n";
  text += "  \"windows\": [";
  const char* separator = "\n    ";
  for (const ManifestWindow& window : manifest.windows) {
    text += separator + line_of(window_json(window));
    separator = ",\n    ";
  }
  text += manifest.windows.empty() ? "],\n" : "\n  ],\n";
  text += "  \"tail\": {\"verdicts\": " + line_of(counts_json(manifest.tail, kVerdictCountNames)) + "}\n}\n";
  return text;
}

FormatExpected<Manifest> parse_manifest(std::string_view text) {
  const Json json = parse_text(text);
  if (json.is_discarded()) return format_failure("the manifest is not JSON, cut, or nested too deeply");
  Manifest manifest;
  auto header = parse_header(json);
  if (!header) return tl::unexpected(header.error());
  manifest.header = std::move(*header);

  Fields fields(json, "manifest");
  const Json* windows = fields.find("windows");
  if (windows != nullptr && !windows->is_array()) fields.wrong("windows", "a list");
  if (const Json* tail = fields.find("tail")) {
    Fields inner(*tail, "manifest.tail");
    inner.take("verdicts", manifest.tail, kVerdictCountNames);
    if (!inner.ok()) return format_failure(inner.error());
  }
  if (!fields.ok()) return format_failure(fields.error());
  for (const Json& entry : *windows) {
    auto window = parse_window(entry, manifest.windows.size());
    if (!window) return tl::unexpected(window.error());
    manifest.windows.push_back(std::move(*window));
  }
  const auto recovered = json.find("recovered");
  manifest.recovered = recovered != json.end() && recovered->is_boolean() && recovered->get<bool>();
  return manifest;
}

uint64_t max_manifest_bytes(uint64_t archive_bytes) {
  constexpr uint64_t kWindowBytes = 2 << 10, kLeastWindowInArchive = 2 * 512 / 4;
  constexpr uint64_t kSlack = 1 << 20, kMost = 256 << 20;
  return std::min(kMost, kSlack + archive_bytes / kLeastWindowInArchive * kWindowBytes);
}

FormatExpected<std::optional<Manifest>> load_manifest_of(const std::filesystem::path& archive) {
  const std::filesystem::path path = archive.string() + ".json";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  const uint64_t archive_bytes = std::filesystem::file_size(archive, error);
  try {
    const auto text = read_small_file(path, max_manifest_bytes(error ? 0 : archive_bytes));
    if (!text) return tl::unexpected(text.error());
    auto manifest = parse_manifest(*text);
    if (!manifest) return format_failure_in(path.string(), std::move(manifest.error()));
    return std::move(*manifest);
  } catch (const std::bad_alloc&) {
    return format_failure(path.string() + ": not enough memory for it");
  }
}

std::string to_journal_header(const ManifestHeader& header) { return line_of(header_json(header)) + "\n"; }
std::string to_journal_line(const ManifestWindow& window) { return line_of(window_json(window)) + "\n"; }

FormatExpected<Manifest> parse_journal(std::string_view text) {
  Manifest manifest;
  bool first = true;
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    const Json json = parse_text(text.substr(0, end));
    if (first) {
      auto header = parse_header(json);
      if (!header) return format_failure("the journal does not begin with a header");
      manifest.header = std::move(*header);
      first = false;
      continue;
    }
    auto window = parse_window(json, manifest.windows.size());
    if (!window) break;
    manifest.windows.push_back(std::move(*window));
  }
  if (first) return format_failure("the journal is empty, or its header is cut");
  manifest.recovered = true;
  return manifest;
}

std::string xxh3_128_hex(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : checksum_of(bytes)) {
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

}  // namespace trama
