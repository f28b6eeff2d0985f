#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "control/doctor_findings.hpp"
#include "control/machine.hpp"
#include "control/run_graph.hpp"
#include "control/terminal.hpp"
#include "control/vector_targets.hpp"
#include "engine/suggest.hpp"
#include "modules/support/archive_writer.hpp"

namespace trama {
namespace {

namespace fs = std::filesystem;
using State = Finding::State;

constexpr uint64_t kMemoryWanted = uint64_t{512} << 20;
constexpr uint64_t kDiskWanted = uint64_t{1} << 30;
constexpr uint64_t kFilesWanted = 256;
constexpr uint64_t kLockedWanted = uint64_t{64} << 20;

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
  return {available >= kMemoryWanted ? State::ok : State::note, "memory", short_bytes(available) + " available",
          "run with fewer --workers or a smaller --window-packets"};
}

Finding transparent_huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string modes;
  std::getline(file, modes);
  const size_t open = modes.find('['), close = modes.find(']');
  const std::string mode = open < close && close != std::string::npos ? modes.substr(open + 1, close - open - 1) : "";
  return {mode == "always" || mode == "madvise" ? State::ok : State::note, "transparent huge pages",
          mode.empty() ? "not known" : mode, "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"};
}

Finding open_files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return {limit.rlim_cur >= kFilesWanted ? State::ok : State::note, "open files", std::to_string(limit.rlim_cur),
          "ulimit -n 1024"};
}

Finding locked_memory() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const bool unlimited = limit.rlim_cur == RLIM_INFINITY;
  const bool enough = unlimited || limit.rlim_cur >= kLockedWanted;
  return {enough ? State::ok : State::note, "locked memory",
          (unlimited ? "unlimited" : short_bytes(limit.rlim_cur)) + std::string(enough ? "" : " (only for af_xdp)"),
          "ulimit -l unlimited, as root; LimitMEMLOCK=infinity in a unit"};
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
  return {free_bytes >= kDiskWanted ? State::ok : State::note, what, short_bytes(free_bytes) + " free",
          "choose a folder on another disk with -w DIR"};
}

Finding clock_synchronised() {
  timex clock{};
  const bool known = adjtimex(&clock) >= 0;
  const bool synchronised = known && (clock.status & STA_UNSYNC) == 0;
  return {synchronised ? State::ok : State::note, "clock",
          synchronised ? "synchronised"
          : known      ? "not synchronised (times of live captures may be wrong)"
                       : "can't be asked",
          "sudo timedatectl set-ntp true"};
}

// As sd_booted(3) asks.
Finding service_manager() {
  std::error_code error;
  const bool runs = fs::exists("/run/systemd/system", error);
  return {runs ? State::ok : State::missing, "systemd", runs ? "runs" : "doesn't run (only for trama@.service)", ""};
}

}  // namespace

Findings machine_findings(const std::string& folder) {
  return {processor(),
          cores(),
          memory(),
          transparent_huge_pages(),
          open_files(),
          locked_memory(),
          output_folder(folder),
          clock_synchronised(),
          service_manager()};
}

}  // namespace trama
