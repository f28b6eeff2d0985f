// What `trama run` was told, as plain data.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/command_line.hpp"
#include "control/metrics_address.hpp"
#include "engine/diagnostic.hpp"

namespace trama {

struct RunOptions {
  bool help_wanted = false;
  std::optional<std::string> graph_file;
  std::string expression;               // of the pcap filter; empty: none
  std::vector<std::string> read;        // -r
  std::vector<std::string> interfaces;  // -i, with their prefixes
  bool not_promiscuous = false;         // -p
  std::optional<std::string> directory, key_file, compression, index_order, summary, sensor, user;
  bool ephemeral_key = false, no_anonymize = false;
  std::optional<uint64_t> window_packets, windows_per_archive, workers, packets;
  std::optional<double> duration_s, window_timeout_s;
  std::vector<std::string> exclude, exclude_files;
  std::vector<std::string> filters;   // eBPF objects, in the order in which they judge
  std::vector<std::string> replicas;  // STAGE=N
  std::vector<std::string> set;       // stages.NAME.KEY=VALUE
  std::optional<std::string> socket;  // a path
  std::optional<MetricsAddress> metrics;
  bool core = false, quiet = false, verbose = false;
};

// The first error is the only one: what follows a wrong option may be meant differently.
Expected<RunOptions> parse_run_options(const Arguments& arguments);
std::string run_help();

}  // namespace trama
