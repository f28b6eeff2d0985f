#include "control/run_options.hpp"

#include <filesystem>
#include <system_error>

#include "control/live_interface.hpp"
#include "engine/suggest.hpp"

namespace trama {
namespace {

constexpr uint64_t kMostPackets = uint64_t{1} << 62;

// One object, so that what is read and what the help says can't differ.
class RunCommandLine {
 public:
  RunCommandLine();
  Expected<RunOptions> parse(const Arguments& arguments);
  std::string help() const { return line_.help(); }

 private:
  void add_inputs();
  void add_privacy();
  void add_output();
  void add_others();
  std::optional<Diagnostic> sort_words();
  std::optional<Diagnostic> judge_inputs() const;

  RunOptions options_;
  std::vector<std::string> words_, behind_;
  std::optional<std::string> metrics_;
  CommandLine line_{
      "run [GRAPH.toml] [-r FILE|DIR|-]... [-i IFACE]... [-w DIR] [options] [--] [pcap filter expression]",
      "Turns packets into an archive of anonymized traffic matrices.",
      "  trama run -r day.pcapng.zst -w out --key site.key\n"
      "  trama run -r captures/ --exclude 10.0.0.0/8 tcp and not port 22\n"
      "  trama run -i eth0 -w out --key site.key --window-timeout 60\n"
      "  cat day.pcap | trama run -r - --summary -\n"
      "  trama run site.toml --set stages.archive.windows_per_archive=8\n"};
};

RunCommandLine::RunCommandLine() {
  add_inputs();
  add_privacy();
  add_output();
  add_others();
  line_.words(words_, behind_);
}

void RunCommandLine::add_inputs() {
  line_.texts("-r,--read", options_.read, "FILE|DIR|-", "capture, folder of captures, or standard input");
  line_.integer("--packets", options_.packets, 1, kMostPackets, "N", "stop after N packets");
  line_.seconds("--duration", options_.duration_s, "stop after S seconds");
  line_.texts("-i,--interface", options_.interfaces, "IFACE",
              "interface to capture from; any: all; also xdp:IFACE, dpdk:DEVICE");
  line_.flag("-p", options_.not_promiscuous, "with -i: only what is sent to or from this machine");
  line_.seconds("--window-timeout", options_.window_timeout_s,
                "with -i: close a window S seconds after its first packet");
}

void RunCommandLine::add_privacy() {
  line_.text("--key", options_.key_file, "FILE", "anonymize under this key (`trama key new FILE` makes one)");
  line_.flag("--ephemeral-key", options_.ephemeral_key, "anonymize under a key that is then forgotten (the standard)");
  line_.flag("--no-anonymize", options_.no_anonymize, "write original addresses");
  line_.texts("--exclude", options_.exclude, "CIDR[:SIDE]",
              "keep a range out; SIDE: either, both, source, destination");
  line_.texts("--exclude-file", options_.exclude_files, "FILE", "ranges, one a line; read again on SIGUSR2");
  line_.texts("--filter", options_.filters, "OBJECT.bpf.o",
              "run an eBPF module on each packet (`trama filter --help`)");
}

void RunCommandLine::add_output() {
  line_.text("-w,--write", options_.directory, "DIR", "folder for archives (./trama-out)");
  line_.integer("--window-packets", options_.window_packets, 1, uint64_t{1} << 26, "N", "packets of a window (131072)");
  line_.integer("--windows-per-archive", options_.windows_per_archive, 1, kMostPackets, "N",
                "windows of an archive (64)");
  line_.choice("--compression", options_.compression, {"lz4", "zstd", "none"}, "of matrices (lz4)");
  line_.choice("--index-order", options_.index_order, {"numeric", "raw"}, "1.2.3.4 is 0x01020304, or 0x04030201");
  line_.text("--sensor", options_.sensor, "NAME", "name of this sensor, for manifest and summary");
  line_.text("--summary", options_.summary, "FILE|-", "write what was counted, as JSON");
  line_.text("--socket", options_.socket, "PATH", "answer `trama status`, `top` and `ctl` at this socket");
  line_.text("--metrics", metrics_, "[ADDRESS:]PORT", "metrics for Prometheus (127.0.0.1)");
}

void RunCommandLine::add_others() {
  line_.integer("--workers", options_.workers, 1, 1024, "N", "worker threads (all cores)");
  line_.texts("--replicas", options_.replicas, "STAGE=N", "replicas of a stage");
  line_.texts("--set", options_.set, "stages.NAME.KEY=VALUE", "set a parameter of a stage");
  line_.text("--user", options_.user, "NAME", "go on as this user once everything is open (root only)");
  line_.flag("--core", options_.core, "allow core dumps, which may hold addresses");
  line_.flag("-q,--quiet", options_.quiet, "only warnings and errors");
  line_.flag("-v,--verbose", options_.verbose, "say at the end what each stage did");
}

// Words before `--` may begin with the graph file; all others are the filter expression.
std::optional<Diagnostic> RunCommandLine::sort_words() {
  if (!words_.empty() && std::string_view(words_.front()).ends_with(".toml")) {
    options_.graph_file = words_.front();
    words_.erase(words_.begin());
  }
  // `-r *.pcap`: the shell has made many words of it, and only the first belongs to -r.
  std::error_code ignored;
  if (!words_.empty() && words_.front().find_first_of("./") != std::string::npos &&
      std::filesystem::is_regular_file(words_.front(), ignored)) {
    return Diagnostic{Severity::error,
                      {},
                      "`" + words_.front() + "` is a file, and stands where a filter expression does",
                      "write -r before each file, or name their folder; a graph file ends in .toml"};
  }
  words_.insert(words_.end(), behind_.begin(), behind_.end());
  options_.expression = joined(words_, " ");
  return std::nullopt;
}

std::optional<Diagnostic> RunCommandLine::judge_inputs() const {
  const auto refusal = [](std::string text, std::string hint) {
    return Diagnostic{Severity::error, {}, std::move(text), std::move(hint)};
  };
  if (!options_.interfaces.empty()) {
    if (!options_.read.empty()) return refusal("-i and -r exclude each other", "one run has one source");
    if (auto live = live_interfaces(options_.interfaces); !live) return std::move(live.error());
    return std::nullopt;
  }
  if (options_.graph_file) return std::nullopt;
  if (options_.read.empty())
    return refusal("nothing to read",
                   "name a capture, as in `trama run -r day.pcap -w out`, an interface with -i, or a graph file");
  if (options_.not_promiscuous || options_.window_timeout_s)
    return refusal(std::string(options_.not_promiscuous ? "-p" : "--window-timeout") + " is for live capture",
                   "leave it out, or capture with -i IFACE");
  return std::nullopt;
}

Expected<RunOptions> RunCommandLine::parse(const Arguments& arguments) {
  const auto go_on = line_.parse(arguments);
  if (!go_on) return tl::unexpected(go_on.error());
  options_.help_wanted = !*go_on;
  if (options_.help_wanted) return options_;
  if (auto wrong = sort_words()) return tl::unexpected(std::move(*wrong));
  if (metrics_) {
    auto address = MetricsAddress::parse(*metrics_);
    if (!address) return tl::unexpected(std::move(address.error()));
    options_.metrics = std::move(*address);
  }
  if (options_.key_file.has_value() + options_.ephemeral_key + options_.no_anonymize > 1)
    return failure("--key, --ephemeral-key and --no-anonymize exclude each other", "keep one of them");
  if (auto wrong = judge_inputs()) return tl::unexpected(std::move(*wrong));
  return options_;
}

}  // namespace

Expected<RunOptions> parse_run_options(const Arguments& arguments) { return RunCommandLine().parse(arguments); }

std::string run_help() { return RunCommandLine().help(); }

}  // namespace trama
