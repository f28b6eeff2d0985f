// trama filter run: how a module judges the packets of captures. What it prints of maps may hold addresses: it is what
// was asked for, on standard output, and nowhere else.
#include <arpa/inet.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "control/data_output.hpp"
#include "control/filter.hpp"
#include "control/terminal.hpp"
#include "ebpf/filter_module.hpp"
#include "ebpf/port_text.hpp"
#include "modules/support/capture_reader.hpp"
#include "modules/support/header_walk_frame.hpp"
#include "modules/support/input_paths.hpp"
#include "modules/support/privacy_ranges.hpp"

namespace trama {
namespace {

struct Options {
  std::vector<std::string> words, read, ranges, maps;
  std::optional<std::string> program;
  std::optional<uint64_t> packets;
  bool json = false, interpreter = false;
};

// What became of the packets.
struct Counts {
  static constexpr std::array<const char*, 5> kVerdicts = {"XDP_ABORTED", "XDP_DROP", "XDP_PASS", "XDP_TX",
                                                           "XDP_REDIRECT"};
  static constexpr std::array<const char*, 4> kDecisions = {"passed", "excluded", "filtered", "fault"};  // Decision's

  std::array<uint64_t, 5> verdicts{};   // of programs that came to their end
  std::array<uint64_t, 4> decisions{};  // of all packets that were shown
  uint64_t packets = 0, not_shown = 0;
  uint64_t judged_ns = 0;
  std::string first_fault;

  double ns_a_packet() const {
    return packets == 0 ? 0 : static_cast<double>(judged_ns) / static_cast<double>(packets);
  }
};

// Shows a module packets, a batch at a time. The time is the processor's, so that a busy machine doesn't count; it
// includes making frames for links that are not Ethernet.
class Judge {
 public:
  explicit Judge(const ebpf::FilterModule& module) : filter_(module, 0, EthernetFrames::kMostBytes) {}

  void judge(std::span<const Packet> packets) {
    const uint64_t before = processor_ns();
    filter_.begin_batch();
    for (const Packet& packet : packets) {
      if (const auto frame = frames_.show(packet))
        count(filter_.judge(*frame, packet.time_ns));
      else
        ++counts.not_shown;
    }
    filter_.end_batch();
    counts.judged_ns += processor_ns() - before;
    counts.packets += packets.size();
  }

  Counts counts;

 private:
  static uint64_t processor_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
  }
  void count(ebpf::Decision decision) {
    ++counts.decisions[static_cast<size_t>(decision)];
    if (filter_.fault() == ebpf::Fault::none && filter_.verdict() < counts.verdicts.size())
      ++counts.verdicts[filter_.verdict()];
    if (decision == ebpf::Decision::fault && counts.first_fault.empty()) counts.first_fault = filter_.describe_fault();
  }

  ebpf::FilterReplica filter_;
  EthernetFrames frames_;
};

// False: something of the input was not read, which has been said.
bool read_capture(const std::string& path, uint64_t& left, Judge& judge) {
  auto reader = CaptureReader::open(path);
  if (!reader) return print(reader.error()), false;
  PacketBlock block;
  std::vector<Packet> packets(1024);
  while (left > 0) {
    size_t count = 0;
    const auto room = std::span(packets).first(std::min<uint64_t>(packets.size(), left));
    const auto status = reader->read(block, room, count);
    judge.judge(std::span(packets).first(count));
    left -= count;
    if (status == CaptureReader::Status::end) break;
    if (status == CaptureReader::Status::wait && count == 0) {
      pollfd readable{reader->wait_fd(), POLLIN, 0};
      ::poll(&readable, 1, -1);
    }
  }
  const InputReport& report = reader->report();
  if (report.status == InputStatus::ok || left == 0) return true;
  print_warning(printable(path) + ": " + std::string(to_string(report.status)) + ": " + printable(report.detail));
  return false;
}

std::string hex(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::optional<uint64_t> number(std::span<const uint8_t> bytes) {
  if (bytes.size() != 1 && bytes.size() != 2 && bytes.size() != 4 && bytes.size() != 8) return std::nullopt;
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

// As map_entries.hpp reads it.
std::string key_text(const ebpf::MapSpec& map, std::span<const uint8_t> key) {
  if (map.type == BPF_MAP_TYPE_LPM_TRIE && (key.size() == 8 || key.size() == 20)) {
    char address[INET6_ADDRSTRLEN];
    ::inet_ntop(key.size() == 8 ? AF_INET : AF_INET6, key.data() + 4, address, sizeof address);
    return std::string(address) + "/" + std::to_string(*number(key.first(4)));
  }
  const auto value = number(key);
  if (value && map.name == "ports" && key.size() == 4)
    if (const std::string text = ebpf::port_text(static_cast<uint32_t>(*value)); !text.empty()) return text;
  return value ? std::to_string(*value) : "hex:" + hex(key);
}

// Numbers of 8 bytes, as most structures of counters are; or one number; or bytes.
std::string value_text(std::span<const uint8_t> value) {
  if (const auto one = number(value)) return std::to_string(*one);
  if (value.size() % 8 != 0 || value.size() > 64) return "hex:" + hex(value);
  std::string text;
  for (size_t at = 0; at < value.size(); at += 8)
    text += (text.empty() ? "" : " ") + std::to_string(*number(value.subspan(at, 8)));
  return text;
}

// Entries whose value isn't all zeros.
template <class Visit>
void for_each_set_entry(const ebpf::Map& map, const Visit& visit) {
  map.for_each([&](const ebpf::MapEntry& entry) {
    if (std::any_of(entry.value.begin(), entry.value.end(), [](uint8_t byte) { return byte != 0; }))
      visit(key_text(map.spec(), entry.key), entry.value);
  });
}

bool is_shown(const ebpf::Map& map) { return map.spec().section != ebpf::Section::rodata && map.layout().elements > 0; }

std::string summary_text(const ebpf::FilterModule& module, const Counts& counts) {
  constexpr size_t kMostEntries = 16;  // of a map; --json has all
  std::string text = counted(counts.packets, "packet") + ": ";
  for (size_t i = 0; i < counts.decisions.size(); ++i)
    text += std::to_string(counts.decisions[i]) + " " + Counts::kDecisions[i] + (i + 1 < 4 ? ", " : "");
  if (counts.not_shown > 0)
    text += ", " + std::to_string(counts.not_shown) + " that can't be shown as Ethernet frames (excluded)";
  text += "\n";
  for (size_t i = 0; i < counts.verdicts.size(); ++i)
    if (counts.verdicts[i] > 0)
      text += std::string("  ") + Counts::kVerdicts[i] + " " + std::to_string(counts.verdicts[i]) + "\n";
  if (!counts.first_fault.empty()) text += "first fault: " + printable(counts.first_fault) + "\n";
  text += std::to_string(static_cast<uint64_t>(counts.ns_a_packet() + 0.5)) + " ns a packet (" +
          (module.jit() ? "machine code" : "interpreter") + ", processor time)\n";
  if (!module.why_interpreted().empty()) text += "interpreted: " + printable(module.why_interpreted()) + "\n";
  for (uint32_t index = 0; index < module.maps().size(); ++index) {
    const ebpf::Map& map = module.maps()[index];
    if (!is_shown(map)) continue;
    size_t entries = 0;
    std::string lines;
    for_each_set_entry(map, [&](const std::string& key, std::span<const uint8_t> value) {
      if (++entries <= kMostEntries) lines += "  " + key + " = " + value_text(value) + "\n";
    });
    text += "map " + printable(map.spec().name) + ": " + counted(entries, "value") + " other than 0\n" + lines;
    if (entries > kMostEntries) text += "  ... (--json has all)\n";
  }
  return text;
}

std::string summary_json(const ebpf::FilterModule& module, const Counts& counts) {
  nlohmann::ordered_json json{{"object", module.object().name},
                              {"program", module.entry().name},
                              {"packets", counts.packets},
                              {"not_shown", counts.not_shown}};
  for (size_t i = 0; i < counts.decisions.size(); ++i) json["decisions"][Counts::kDecisions[i]] = counts.decisions[i];
  for (size_t i = 0; i < counts.verdicts.size(); ++i) json["verdicts"][Counts::kVerdicts[i]] = counts.verdicts[i];
  json["first_fault"] = counts.first_fault;
  json["engine"] = module.jit() ? "jit" : "interpreter";
  json["why_interpreted"] = module.why_interpreted();
  json["ns_a_packet"] = counts.ns_a_packet();
  json["maps"] = nlohmann::ordered_json::object();
  for (uint32_t index = 0; index < module.maps().size(); ++index) {
    const ebpf::Map& map = module.maps()[index];
    if (!is_shown(map)) continue;
    nlohmann::ordered_json& entries = json["maps"][map.spec().name] = nlohmann::ordered_json::object();
    for_each_set_entry(
        map, [&](const std::string& key, std::span<const uint8_t> value) { entries[key] = value_text(value); });
  }
  return json.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// Canonical ranges, a line each; what is wrong with them has been said.
std::optional<std::vector<std::string>> ranges_of(const std::vector<std::string>& texts) {
  std::vector<PrivacyRanges::Entry> entries;
  for (const std::string& text : texts) entries.push_back({text, {"--range", 0}});
  const auto parsed = PrivacyRanges::parse(entries);
  if (!parsed) return print(parsed.error()), std::nullopt;
  std::vector<std::string> lines;
  const std::string text = parsed->canonical();
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  return lines;
}

int judge_captures(const Options& options, const ebpf::FilterModule& module) {
  const auto paths = expand_inputs(options.read);
  if (!paths) return print(paths.error()), kFailed;
  Judge judge(module);
  uint64_t left = options.packets.value_or(UINT64_MAX);
  size_t unread = 0;
  for (const std::string& path : *paths) unread += !read_capture(path, left, judge);
  if (judge.counts.packets == 0 && unread == paths->size()) return kFailed;
  DataOutput output;
  output.write(options.json ? summary_json(module, judge.counts) : summary_text(module, judge.counts));
  if (!output.finish()) return kFailed;
  return unread == 0 ? kDone : kLossy;
}

}  // namespace

int filter_run(const Arguments& arguments) {
  Options options;
  CommandLine command("filter run OBJECT.bpf.o -r FILE|DIR|- [options]",
                      "Shows a module the packets of captures: verdicts, what is in its maps, and its time.",
                      "  trama filter run privacy_ranges.bpf.o -r day.pcapng --range 10.0.0.0/8\n"
                      "  trama filter run ports.bpf.o -r day.pcapng --map 'ports: tcp/443 = 1'\n");
  command.texts("-r,--read", options.read, "FILE|DIR|-", "capture, folder of captures, or standard input");
  command.text("--program", options.program, "NAME", "which program, where the object has several");
  command.texts("--map", options.maps, "'MAP: KEY = VALUE'", "an entry of a map");
  command.texts("--range", options.ranges, "CIDR[:SIDE]", "a privacy range, for modules with maps of such");
  command.integer("--packets", options.packets, 1, UINT64_MAX >> 1, "N", "stop after N packets");
  command.flag("--interpreter", options.interpreter, "interpret the module, as where there is no machine code for it");
  command.flag("--json", options.json, "as JSON, with all entries of maps but those of zeros");
  command.words(options.words, "OBJECT.bpf.o", 1, 1);
  if (const auto ended = command.ends(arguments)) return *ended;
  if (options.read.empty()) {
    print_error("nothing to read", "name a capture, as in -r day.pcap");
    return kMisused;
  }
  auto ranges = ranges_of(options.ranges);
  if (!ranges) return kMisused;
  ebpf::ModuleOptions wanted;
  wanted.program = options.program.value_or("");
  wanted.ranges = std::move(*ranges);
  wanted.entries = options.maps;
  if (options.interpreter) wanted.engine = ebpf::Engine::interpreter;
  const auto module = ebpf::FilterModule::load(options.words[0], wanted);
  if (!module) return print(module.error()), kMisused;
  return judge_captures(options, **module);
}

}  // namespace trama
