#include "control/run_graph.hpp"

#include <openssl/evp.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <stdexcept>

#include "control/builtin_graphs.hpp"
#include "control/live_interface.hpp"
#include "ebpf/loader.hpp"
#include "ebpf/verifier.hpp"
#include "engine/suggest.hpp"

namespace trama {
namespace {

using WantedKind = std::function<bool(const StageKind&)>;

bool has_parameter(const StageKind& kind, const std::string& name) {
  return std::any_of(kind.parameters.begin(), kind.parameters.end(),
                     [&](const ParameterHelp& parameter) { return parameter.name == name; });
}

WantedKind any_stage() {
  return [](const StageKind&) { return true; };
}
WantedKind source_stage() {
  return [](const StageKind& kind) { return kind.source; };
}
WantedKind stage_of_kind(const char* name) {
  return [name](const StageKind& kind) { return kind.info.kind == name; };
}

// Does its result depend on the order in which it judges packets? An object that can't be used is told about when its
// stage is made.
bool runs_serially(const StageSpec& stage) {
  const auto given = stage.parameters.values.find("object");
  if (given == stage.parameters.values.end()) return false;
  const auto* const path = std::get_if<std::string>(&given->second.value);
  if (!path) return false;
  const auto object = ebpf::load_object(*path);
  if (!object) return false;
  const auto analysis = ebpf::analyze(*object);
  return analysis && analysis->properties.serial();
}

// Applies options to a graph, and gathers what is wrong with them.
class GraphOptions {
 public:
  GraphOptions(GraphSpec& spec, const Registry& registry) : spec_(spec), registry_(registry) {}

  template <class T>
  void set(const char* option, const std::optional<T>& value, const char* parameter, WantedKind wanted = any_stage()) {
    if (value) give(option, value_of(*value), parameter, wanted);
  }
  void set_list(const char* option, const std::vector<std::string>& values, const char* parameter, WantedKind wanted) {
    if (!values.empty()) give(option, values, parameter, wanted);
  }
  void append(const char* option, const std::vector<std::string>& values, const char* parameter, WantedKind wanted);
  void choose_key(const RunOptions& options);
  void replicas(const std::string& assignment);
  void parameter(const std::string& assignment, const char* option);
  void filters(const RunOptions& options);
  void spread(size_t processors);
  Diagnostics take_wrong() { return std::move(wrong_); }

 private:
  using Value = decltype(ParameterValue::value);
  static Value value_of(const std::string& text) { return text; }
  static Value value_of(uint64_t number) { return static_cast<int64_t>(number); }
  static Value value_of(double seconds) { return seconds; }
  static Value value_of(bool flag) { return flag; }

  StageSpec* the_one(const char* option, const char* parameter, const WantedKind& wanted);
  void give(const char* option, Value value, const char* parameter, const WantedKind& wanted) {
    if (StageSpec* stage = the_one(option, parameter, wanted))
      stage->parameters.values[parameter] = {std::move(value), {option, 0}};
  }
  void refuse(const std::string& place, std::string text, std::string hint) {
    wrong_.push_back({Severity::error, {place, 0}, std::move(text), std::move(hint)});
  }

  GraphSpec& spec_;
  const Registry& registry_;
  Diagnostics wrong_;
};

// The stage that an option means: the only one with such a parameter.
StageSpec* GraphOptions::the_one(const char* option, const char* parameter, const WantedKind& wanted) {
  std::vector<StageSpec*> having;
  std::vector<std::string> names, kinds;
  for (StageSpec& stage : spec_.stages) {
    const StageKind* kind = registry_.find(stage.kind);
    if (!kind || !wanted(*kind) || !has_parameter(*kind, parameter)) continue;
    having.push_back(&stage);
    names.push_back("stages." + stage.name + "." + parameter);
  }
  if (having.size() == 1) return having[0];
  if (having.size() > 1) {
    refuse(option, "several stages of this graph have a parameter `" + std::string(parameter) + "`",
           "use --set with one of " + joined(names));
    return nullptr;
  }
  for (const StageKind& kind : registry_.kinds())
    if (wanted(kind) && has_parameter(kind, parameter)) kinds.emplace_back(kind.info.kind);
  refuse(option, "no stage of this graph has a parameter `" + std::string(parameter) + "`",
         kinds.empty() ? "" : "put a stage of this kind into its links: " + joined(kinds));
  return nullptr;
}

// Ranges and lists of them are added to what the graph file has: an option must not let out what the file keeps in.
void GraphOptions::append(const char* option, const std::vector<std::string>& values, const char* parameter,
                          WantedKind wanted) {
  if (values.empty()) return;
  StageSpec* stage = the_one(option, parameter, wanted);
  if (!stage) return;
  const auto given = stage->parameters.values.find(parameter);
  std::vector<std::string> all;
  if (given != stage->parameters.values.end()) {
    if (const auto* list = std::get_if<std::vector<std::string>>(&given->second.value)) {
      all = *list;
    } else if (const auto* one = std::get_if<std::string>(&given->second.value)) {
      all = {*one};
    } else {
      return;  // of a wrong type: the checker says so at its line
    }
  }
  all.insert(all.end(), values.begin(), values.end());
  stage->parameters.values[parameter] = {std::move(all), {option, 0}};
}

// One choice among three: the option takes the place of what the graph file chose.
void GraphOptions::choose_key(const RunOptions& options) {
  const char* const option = options.key_file        ? "--key"
                             : options.ephemeral_key ? "--ephemeral-key"
                             : options.no_anonymize  ? "--no-anonymize"
                                                     : nullptr;
  if (!option) return;
  const char* const parameter = options.key_file ? "key_file" : options.ephemeral_key ? "ephemeral" : "clear";
  StageSpec* stage = the_one(option, parameter, any_stage());
  if (!stage) return;
  for (const char* other : {"key_file", "ephemeral", "clear"}) stage->parameters.values.erase(other);
  Value value = true;
  if (options.key_file) value = *options.key_file;
  stage->parameters.values[parameter] = {std::move(value), {option, 0}};
}

void GraphOptions::replicas(const std::string& assignment) {
  const size_t equals = assignment.find('=');
  const std::string number = equals == std::string::npos ? "" : assignment.substr(equals + 1);
  const bool is_number = !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || equals == 0) {
    refuse("--replicas", "`" + assignment + "` is not STAGE=N", "write --replicas anonymize=2");
    return;
  }
  parameter("stages." + assignment.substr(0, equals) + ".replicas=" + number, "--replicas");
}

void GraphOptions::parameter(const std::string& assignment, const char* option) {
  if (auto wrong = set_parameter(spec_, assignment, {option, 0})) wrong_.push_back(std::move(*wrong));
}

// Replicas cost next to nothing, and as many as workers keep every worker busy. Those of a source have memory and
// devices of their own, and are a matter of choice.
void GraphOptions::spread(size_t processors) {
  const size_t workers = spec_.workers > 0 ? spec_.workers : processors;
  for (StageSpec& stage : spec_.stages) {
    const StageKind* kind = registry_.find(stage.kind);
    if (kind && !kind->source && kind->info.parallelism == Parallelism::replicated)
      stage.replicas = std::max<size_t>(1, workers);
  }
  // A module that needs the packets in their order has one replica, and so have those before it.
  const auto serial = std::find_if(spec_.stages.rbegin(), spec_.stages.rend(),
                                   [](const StageSpec& stage) { return stage.kind == "xdp" && runs_serially(stage); });
  for (auto stage = serial; stage != spec_.stages.rend(); ++stage)
    if (stage->kind == "xdp") stage->replicas = 1;
}

// The modules of --filter, as stages filter_1, filter_2, ... before the pcap filter of a built-in graph; of a graph
// file, the object of its xdp stage.
void GraphOptions::filters(const RunOptions& options) {
  const char* const option = "--filter";
  if (options.graph_file) {
    if (options.filters.size() > 1)
      refuse(option, "a graph file takes one --filter, for its xdp stage", "write the others into the file");
    else if (!options.filters.empty())
      give(option, options.filters.front(), "object", stage_of_kind("xdp"));
    return;
  }
  for (size_t i = 0; i < options.filters.size(); ++i) {
    StageSpec stage;
    stage.name = "filter_" + std::to_string(i + 1);
    stage.kind = "xdp";
    stage.place = stage.parameters.place = {option, 0};
    stage.parameters.values["object"] = {options.filters[i], {option, 0}};
    const auto into = std::find_if(spec_.links.begin(), spec_.links.end(),
                                   [](const LinkSpec& link) { return link.to == "pcap_filter"; });
    if (into == spec_.links.end()) return;  // our own graphs have it
    const LinkSpec onwards{stage.name, into->to, {option, 0}};
    into->to = stage.name;
    spec_.links.insert(into + 1, onwards);
    spec_.stages.push_back(std::move(stage));
  }
}

tl::expected<GraphSpec, Diagnostics> base_graph(const RunOptions& options) {
  if (options.graph_file) return load_graph(*options.graph_file);
  const std::string name = options.interfaces.empty() ? "pcap" : live_interfaces(options.interfaces)->graph;
  return parse_graph(find_builtin_graph(name)->text, "built-in graph " + name);
}

}  // namespace

tl::expected<GraphSpec, Diagnostics> make_graph(const RunOptions& options, const Registry& registry,
                                                size_t processors) {
  auto spec = base_graph(options);
  if (!spec) return spec;
  GraphOptions apply(*spec, registry);
  apply.filters(options);
  if (options.workers) apply.parameter("graph.workers=" + std::to_string(*options.workers), "--workers");
  if (options.window_packets)
    apply.parameter("graph.window_packets=" + std::to_string(*options.window_packets), "--window-packets");
  if (!options.graph_file) apply.spread(processors);
  for (const std::string& assignment : options.set) apply.parameter(assignment, "--set");

  apply.set_list("-r", options.read, "files", source_stage());
  if (!options.interfaces.empty()) {
    const LiveInterfaces live = *live_interfaces(options.interfaces);
    apply.set_list("-i", live.names, live.parameter.c_str(), source_stage());
  }
  if (options.not_promiscuous) apply.set("-p", std::optional(false), "promiscuous", source_stage());
  apply.set("--window-timeout", options.window_timeout_s, "window_timeout");
  apply.set("--packets", options.packets, "packets", source_stage());
  if (!options.expression.empty())
    apply.set("filter expression", std::optional(options.expression), "expression", stage_of_kind("pcap_filter"));
  apply.append("--exclude", options.exclude, "ranges", stage_of_kind("exclude"));
  apply.append("--exclude-file", options.exclude_files, "files", stage_of_kind("exclude"));
  apply.choose_key(options);
  apply.set("--index-order", options.index_order, "index_order");
  apply.set("--compression", options.compression, "compression");
  apply.set("-w", options.directory, "directory");
  apply.set("--windows-per-archive", options.windows_per_archive, "windows_per_archive");
  apply.set("--sensor", options.sensor, "sensor");
  for (const std::string& assignment : options.replicas) apply.replicas(assignment);

  if (Diagnostics wrong = apply.take_wrong(); !wrong.empty()) return tl::unexpected(std::move(wrong));
  return spec;
}

std::string graph_identity(const GraphSpec& spec) {
  // Places and names of things, and keys, don't change the result. Privacy ranges, filter expressions, modules and what
  // is in their maps do, but this hash has no key and is published: whoever guesses an address in them could see by
  // trying that the guess is right. The manifest has a keyed digest of the ranges instead.
  static const std::vector<std::string> kLeftOut = {
      "files", "file", "directory", "key_file", "ephemeral", "ranges", "expression", "sensor", "sync", "object", "maps",
      "map_files", "kernel_filters", "kernel_ranges", "kernel_files", "kernel_maps", "kernel_map_files", "kernel_mode",
      // Where packets come from, and how.
      "interfaces", "devices", "ring_bytes", "block_timeout_ms", "fanout", "eal", "huge_pages", "memory_mb",
      "descriptors", "mbufs", "burst", "wait", "sleep_us", "queues", "frames", "copy", "mode",
      // Where windows go besides.
      "url", "queue", "subscribers", "max_bytes", "linger", "insecure", "server_key_file", "clients_file", "replay",
      "mirror", "store_bytes", "store_age", "ca_file", "certificate_file", "certificate_key_file", "credentials_file",
      "login_file"};
  const std::string text = canonical_text(spec, kLeftOut);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int bytes = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &bytes, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("OpenSSL can't do SHA-256");
  std::string hex;
  for (unsigned int i = 0; i < bytes; ++i) {
    hex += "0123456789abcdef"[digest[i] >> 4];
    hex += "0123456789abcdef"[digest[i] & 15];
  }
  return hex;
}

SourceLines graph_lines(const std::string& path) {
  const auto text = read_graph_text(path);
  return text ? lines_of(*text, path) : SourceLines();
}

std::vector<std::string> files_read(const GraphSpec& spec) {
  std::vector<std::string> files;
  if (!spec.place.file.empty()) files.push_back(spec.place.file);
  for (const StageSpec& stage : spec.stages) {
    for (const auto& [name, value] : stage.parameters.values) {
      if (name != "files" && name != "key_file") continue;
      if (const auto* one = std::get_if<std::string>(&value.value)) files.push_back(*one);
      if (const auto* list = std::get_if<std::vector<std::string>>(&value.value))
        files.insert(files.end(), list->begin(), list->end());
    }
  }
  return files;
}

std::string text_parameter(const GraphSpec& spec, const std::string& name) {
  for (const StageSpec& stage : spec.stages) {
    const auto given = stage.parameters.values.find(name);
    if (given == stage.parameters.values.end()) continue;
    if (const auto* text = std::get_if<std::string>(&given->second.value)) return *text;
  }
  return "";
}

std::vector<int> allowed_processors() {
  std::vector<int> processors;
  cpu_set_t* set = nullptr;
  // The kernel may know more processors than fit into a cpu_set_t.
  for (size_t count = 1024; count <= 65536 && processors.empty(); count *= 4) {
    set = CPU_ALLOC(count);
    const size_t bytes = CPU_ALLOC_SIZE(count);
    CPU_ZERO_S(bytes, set);
    if (sched_getaffinity(0, bytes, set) == 0)
      for (size_t i = 0; i < count; ++i)
        if (CPU_ISSET_S(i, bytes, set)) processors.push_back(static_cast<int>(i));
    CPU_FREE(set);
  }
  if (processors.empty()) processors.push_back(0);
  return processors;
}

}  // namespace trama
