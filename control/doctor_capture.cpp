#include <linux/bpf.h>
#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "control/doctor_findings.hpp"
#include "control/machine.hpp"
#include "ebpf/kernel_privileges.hpp"

namespace trama {
namespace {

using State = Finding::State;

// A probe's descriptor, closed at once; else the reason.
struct Probe {
  explicit Probe(int fd) : works(fd >= 0), reason(fd >= 0 ? 0 : errno) {
    if (fd >= 0) close(fd);
  }
  bool refused() const { return reason == EPERM || reason == EACCES; }
  const bool works;
  const int reason;
};

Finding capabilities() {
  uint64_t effective = 0;
  std::istringstream(proc_value("/proc/self/status", "CapEff")) >> std::hex >> effective;
  std::string held;
  for (const auto& [capability, name] :
       {std::pair{CAP_NET_ADMIN, "net_admin"}, {CAP_NET_RAW, "net_raw"}, {CAP_PERFMON, "perfmon"}, {CAP_BPF, "bpf"}})
    if (effective >> capability & 1) held += (held.empty() ? "" : ", ") + std::string(name);
  return {State::ok, "capabilities", held.empty() ? "none (reading captures needs none)" : held, ""};
}

Finding packet_sockets() {
  const std::string what = "packet sockets (af_packet)";
  const Probe probe(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (probe.works) return {State::ok, what, "can be made", ""};
  if (probe.refused())
    return {State::missing, what, "are not allowed without CAP_NET_RAW (only for capturing)",
            ebpf::how_to_grant_capabilities()};
  return {State::missing, what, std::strerror(probe.reason), "sudo modprobe af_packet"};
}

// The kernel allows eBPF to everybody, to nobody but the privileged, or to these until the next start.
std::string unprivileged_bpf() {
  std::ifstream file("/proc/sys/kernel/unprivileged_bpf_disabled");
  std::string value;
  return file >> value ? "unprivileged_bpf_disabled is " + value : "no unprivileged_bpf_disabled";
}

// return XDP_PASS;
Probe load_smallest_program() {
  const bpf_insn program[] = {{BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, XDP_PASS},
                              {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  bpf_attr load{};
  load.prog_type = BPF_PROG_TYPE_XDP;
  load.insns = reinterpret_cast<uint64_t>(program);
  load.insn_cnt = 2;
  load.license = reinterpret_cast<uint64_t>("Apache-2.0");
  return Probe(static_cast<int>(syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof load)));
}

Finding kernel_programs() {
  const std::string what = "eBPF programs in the kernel";
  const Probe probe = load_smallest_program();
  std::string lacking;
  for (const std::string& missing : ebpf::missing_capabilities()) lacking += (lacking.empty() ? "" : ", ") + missing;
  if (probe.works && lacking.empty()) return {State::ok, what, "can be loaded", ""};
  const std::string only = " (only for filters on an interface)";
  if (!probe.works && !probe.refused()) return {State::missing, what, std::strerror(probe.reason) + only, ""};
  if (lacking.empty())
    return {State::missing, what, "are refused here, as in a container; " + unprivileged_bpf() + only, ""};
  return {State::missing, what, "take " + lacking + "; " + unprivileged_bpf() + only,
          ebpf::how_to_grant_capabilities()};
}

Finding xdp_sockets() {
  const std::string what = "AF_XDP sockets";
  const Probe probe(socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (probe.works)
    return {State::ok, what, "can be made; whether a driver spares the copy shows when one is bound", ""};
  if (probe.refused())
    return {State::missing, what, "are not allowed without CAP_NET_RAW (only for af_xdp)",
            ebpf::how_to_grant_capabilities()};
  return {State::missing, what, std::string(std::strerror(probe.reason)) + " (only for af_xdp)",
          probe.reason == EAFNOSUPPORT ? "take a kernel with CONFIG_XDP_SOCKETS, as Debian's" : ""};
}

}  // namespace

Findings capture_findings() { return {capabilities(), packet_sockets(), kernel_programs(), xdp_sockets()}; }

}  // namespace trama
