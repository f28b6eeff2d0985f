#include "ebpf/kernel_privileges.hpp"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <system_error>

namespace trama::ebpf {
namespace {

struct Wanted {
  uint32_t number;
  bool within_sys_admin;  // the kernel takes CAP_SYS_ADMIN for it, too
  const char* text;
};
constexpr Wanted kWanted[] = {
    {CAP_BPF, true, "CAP_BPF (to load programs and maps)"},
    {CAP_NET_ADMIN, false, "CAP_NET_ADMIN (to attach a program to an interface)"},
    {CAP_PERFMON, true, "CAP_PERFMON (for programs that compare pointers into packets)"},
};

// What this thread may do: threads may differ.
uint64_t effective_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return 0;
  return sets[0].effective | uint64_t{sets[1].effective} << 32;
}

}  // namespace

std::vector<std::string> missing_capabilities() {
  const uint64_t held = effective_capabilities();
  const auto holds = [held](uint32_t capability) { return (held >> capability & 1) != 0; };
  std::vector<std::string> missing;
  for (const Wanted& wanted : kWanted)
    if (!holds(wanted.number) && !(wanted.within_sys_admin && holds(CAP_SYS_ADMIN))) missing.push_back(wanted.text);
  return missing;
}

std::string how_to_grant_capabilities() {
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  // setcap replaces what a file had, so that the command names all that a live run needs.
  return "sudo setcap cap_net_raw,cap_net_admin,cap_bpf,cap_perfmon=ep " + (program.empty() ? "trama" : program) +
         "; or in a systemd unit AmbientCapabilities=CAP_NET_RAW CAP_NET_ADMIN CAP_BPF CAP_PERFMON; or start it with "
         "sudo";
}

Expected<void> check_capabilities() {
  std::string list;
  for (const std::string& missing : missing_capabilities()) list += (list.empty() ? "" : ", ") + missing;
  if (list.empty()) return {};
  return refuse("filters in the kernel need what this process lacks: " + list, how_to_grant_capabilities());
}

}  // namespace trama::ebpf
