// trama doctor: what this machine can do, and what is missing, with the command that mends it.
#include <GraphBLAS.h>
#include <archive.h>
#include <lz4.h>
#include <openssl/crypto.h>
#include <pcap/pcap.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "control/machine.hpp"
#include "control/run_graph.hpp"
#include "control/terminal.hpp"
#include "control/vector_targets.hpp"
#include "control/verbs.hpp"
#include "engine/suggest.hpp"
#include "modules/support/archive_writer.hpp"

namespace trama {
namespace {

namespace fs = std::filesystem;

enum class State { ok, missing, broken };  // broken: Trama can't work so

struct Finding {
  State state;
  std::string what, value;
  std::string mend;  // what to do about it
};

constexpr uint64_t kMemoryWanted = uint64_t{512} << 20;
constexpr uint64_t kDiskWanted = uint64_t{1} << 30;
constexpr uint64_t kFilesWanted = 256;

Finding processor() {
  const std::string what = "vector instructions";
  const std::vector<std::string> targets = usable_vector_targets();
  if (targets.empty()) return {State::broken, what, "none of those that this build needs", ""};
  const std::string less = joined({targets.begin() + 1, targets.end()});
  const std::string hint = less.empty() ? "" : std::string(" (") + kVectorVariable + " may lower it to " + less + ")";
  return {State::ok, what, targets.front() + hint, ""};
}

Finding cores() {
  const size_t allowed = allowed_processors().size();
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return {State::ok, "cores", std::to_string(allowed) + " allowed of " + std::to_string(online), ""};
}

Finding memory() {
  const uint64_t available = available_memory_bytes();
  return {available >= kMemoryWanted ? State::ok : State::missing, "memory", short_bytes(available) + " available",
          "run with fewer --workers or a smaller --window-packets"};
}

Finding huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string modes;
  std::getline(file, modes);
  const size_t open = modes.find('['), close = modes.find(']');
  const std::string mode = open < close && close != std::string::npos ? modes.substr(open + 1, close - open - 1) : "";
  return {mode == "always" || mode == "madvise" ? State::ok : State::missing, "transparent huge pages",
          mode.empty() ? "not known" : mode, "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"};
}

Finding open_files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return {limit.rlim_cur >= kFilesWanted ? State::ok : State::missing, "open files", std::to_string(limit.rlim_cur),
          "ulimit -n 1024"};
}

Finding locked_memory() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const bool unlimited = limit.rlim_cur == RLIM_INFINITY;
  return {State::ok, "locked memory", unlimited ? "unlimited" : short_bytes(limit.rlim_cur), ""};
}

Finding output_folder(const std::string& folder) {
  const std::string what = "output folder " + folder;
  if (const auto usable = check_output_folder(folder); !usable)
    return {State::broken, what, usable.error().text, usable.error().hint};
  // It needn't be there yet.
  std::error_code error;
  fs::path place = fs::absolute(folder, error);
  while (!fs::exists(place, error) && place.has_parent_path() && place != place.parent_path())
    place = place.parent_path();
  struct statvfs disk {};
  if (statvfs(place.c_str(), &disk) != 0) return {State::ok, what, "free space is not known", ""};
  const uint64_t free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
  return {free_bytes >= kDiskWanted ? State::ok : State::missing, what, short_bytes(free_bytes) + " free",
          "choose a folder on another disk with -w DIR"};
}

// 801 is 0.8.1.
std::string dotted_version(unsigned number) {
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
}

Finding libraries() {
  std::string versions = OpenSSL_version(OPENSSL_VERSION);
  versions = versions.substr(0, versions.find(' ', versions.find(' ') + 1));
  versions += ", GraphBLAS " + std::to_string(GxB_IMPLEMENTATION_MAJOR) + "." +
              std::to_string(GxB_IMPLEMENTATION_MINOR) + "." + std::to_string(GxB_IMPLEMENTATION_SUB);
  versions += std::string(", ") + archive_version_string() + ", LZ4 " + LZ4_versionString() + ", Zstandard " +
              ZSTD_versionString() + ", xxHash " + dotted_version(XXH_versionNumber()) + ", " + pcap_lib_version();
  return {State::ok, "libraries", versions, ""};
}

Finding python() {
  std::error_code error;
  for (const char* folder : {"/usr/lib/python3/dist-packages", "/usr/local/lib/python3/dist-packages"})
    if (fs::exists(fs::path(folder) / "suitesparse_graphblas", error))
      return {State::ok, "GraphBLAS for Python", "suitesparse_graphblas", ""};
  return {State::missing, "GraphBLAS for Python", "not installed (only for reading matrices from Python)",
          "sudo apt-get install python3-suitesparse-graphblas"};
}

// CAP_NET_ADMIN 12, CAP_NET_RAW 13, CAP_PERFMON 38, CAP_BPF 39.
Finding capabilities() {
  uint64_t effective = 0;
  std::istringstream(proc_value("/proc/self/status", "CapEff")) >> std::hex >> effective;
  std::string held;
  for (const auto& [bit, name] : {std::pair{12, "net_admin"}, {13, "net_raw"}, {38, "perfmon"}, {39, "bpf"}})
    if (effective >> bit & 1) held += (held.empty() ? "" : ", ") + std::string(name);
  return {State::ok, "capabilities", held.empty() ? "none (reading captures needs none)" : held, ""};
}

}  // namespace

int doctor_verb(const Arguments& arguments) {
  std::optional<std::string> folder;
  CommandLine line("doctor [-w DIR]",
                   "Says what this machine can do and what is missing, with the command that mends it.",
                   "  trama doctor -w /data/trama\n");
  line.text("-w,--write", folder, "DIR", "folder for archives (./trama-out)");
  if (const auto ended = line.ends(arguments)) return *ended;
  const std::vector<Finding> findings = {processor(),
                                         cores(),
                                         memory(),
                                         huge_pages(),
                                         open_files(),
                                         locked_memory(),
                                         output_folder(folder.value_or("trama-out")),
                                         libraries(),
                                         python(),
                                         capabilities()};
  int status = kDone;
  for (const Finding& finding : findings) {
    std::printf("%-8s%s: %s\n", finding.state == State::ok ? "ok" : "missing", printable(finding.what).c_str(),
                printable(finding.value).c_str());
    if (finding.state != State::ok && !finding.mend.empty())
      std::printf("        %s\n", printable(finding.mend).c_str());
    if (finding.state == State::broken) status = kFailed;
  }
  return status;
}

}  // namespace trama
