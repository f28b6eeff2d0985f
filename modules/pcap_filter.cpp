// pcap_filter: rejects packets that a pcap filter expression doesn't match.
//
//   links = ["capture -> pcap_filter -> parse"]
//   [stages.pcap_filter]
//   expression = "tcp port 443"   # pcap-filter(7); looks behind VLAN tags only with `vlan and`
//
// PacketBatch -> PacketBatch, verdicts written in place. The expression is compiled at start for every link type that
// Trama walks, since one capture may hold several. Packets of a link type that it can't be compiled for are `filtered`
// too, with a warning. Without an expression every packet passes. It selects packets; to keep privacy ranges out is the
// `exclude` stage's part, which judges the addresses that are counted.
#include <pcap/pcap.h>

#include <array>
#include <atomic>

#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/header_walk.hpp"
#include "modules/support/run_report.hpp"

namespace trama {
namespace {

constexpr int kEthernet = 1;

// libpcap's own numbers (DLT) differ from those in files (LINKTYPE) for raw IP only, among what is walked here.
int dlt_of(uint16_t link_type) { return link_type == 101 ? DLT_RAW : link_type; }

// The programs for all link types; shared by all replicas.
class Programs {
 public:
  Programs() = default;
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;
  ~Programs() {
    for (bpf_program& program : programs_) pcap_freecode(&program);
  }

  // The library's own words on what is wrong with the expression; empty when it compiles for `link_type`.
  std::string compile(uint16_t link_type, const std::string& expression) {
    pcap_t* dead = pcap_open_dead(dlt_of(link_type), kMaxCaptured);
    if (dead == nullptr) return "out of memory";
    std::string wrong;
    if (pcap_compile(dead, &programs_[link_type], expression.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0) {
      wrong = pcap_geterr(dead);
      programs_[link_type] = {};
    }
    pcap_close(dead);
    return wrong;
  }

  bool matches(const Packet& packet) const noexcept {
    if (packet.link_type >= programs_.size() || programs_[packet.link_type].bf_insns == nullptr) return false;
    return bpf_filter(programs_[packet.link_type].bf_insns, packet.data, packet.original, packet.captured) != 0;
  }
  bool knows(uint16_t link_type) const noexcept {
    return link_type < programs_.size() && programs_[link_type].bf_insns != nullptr;
  }
  static constexpr uint16_t kLinkTypes = 300;  // those below are tried; the LINKTYPE_ registry ends at 299

 private:
  std::array<bpf_program, kLinkTypes> programs_{};
};

// The expression for all link types that it can be compiled for; null, and what is wrong for Ethernet, if there is
// none.
std::shared_ptr<Programs> compile_all(const std::string& expression, std::string& wrong) {
  auto programs = std::make_shared<Programs>();
  bool any = false;
  for (uint16_t link_type = 0; link_type < Programs::kLinkTypes; ++link_type) {
    if (!walks(link_type)) continue;
    const std::string why = programs->compile(link_type, expression);
    any = any || why.empty();
    if (link_type == kEthernet) wrong = why;
  }
  return any ? programs : nullptr;
}

// The link types that were met and can't be filtered: each is warned of once.
struct UnknownLinkTypes {
  explicit UnknownLinkTypes(std::shared_ptr<RunReport> to) : report(std::move(to)) {}
  void meet(uint16_t link_type) {
    if (met[link_type].exchange(true, std::memory_order_relaxed)) return;
    report->say({Severity::warning,
                 {},
                 std::string("the filter expression can't be compiled for ") + link_type_name(link_type) +
                     ": packets of that link type are filtered",
                 ""});
  }
  std::shared_ptr<RunReport> report;
  std::array<std::atomic<bool>, 65536> met{};
};

class PcapFilter final : public Stage<PacketBatch, PacketBatch> {
 public:
  struct Parameters {
    std::string expression;
    void bind(ParameterBinder& binder) {
      binder.text("expression", expression, "what to keep, as tcpdump takes it (pcap-filter(7))");
      if (!binder.reading() || expression.empty()) return;
      std::string wrong;  // for Ethernet, which most know best
      if (!compile_all(expression, wrong))
        binder.refuse("expression", "the expression can't be compiled: " + wrong, "see pcap-filter(7)");
    }
  };
  static constexpr StageInfo kInfo{.kind = "pcap_filter",
                                   .summary = "rejects packets that a pcap filter expression doesn't match",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves,
                                   .changes_input = true};

  static Expected<StageFactory> make(const Parameters& parameters, const SetupContext& context) {
    std::shared_ptr<Programs> programs;
    std::string wrong;
    if (!parameters.expression.empty()) programs = compile_all(parameters.expression, wrong);
    auto unknown = std::make_shared<UnknownLinkTypes>(context.services.get<RunReport>());
    return StageFactory([programs, unknown](const ReplicaContext&) -> std::unique_ptr<StageBase> {
      return std::make_unique<PcapFilter>(programs, unknown);
    });
  }
  PcapFilter(std::shared_ptr<const Programs> programs, std::shared_ptr<UnknownLinkTypes> unknown)
      : programs_(std::move(programs)), unknown_(std::move(unknown)) {}

  Step process(PacketBatch& in, Output<PacketBatch>& out) override {
    for (size_t i = 0; programs_ && i < in.count; ++i) {
      Packet& packet = in.packets[i];
      if (packet.verdict != Verdict::counted || programs_->matches(packet)) continue;
      packet.verdict = Verdict::filtered;
      if (!programs_->knows(packet.link_type)) unknown_->meet(packet.link_type);
    }
    in.items = static_cast<uint32_t>(in.count);
    out.push(&in);
    return Step::done;
  }

 private:
  std::shared_ptr<const Programs> programs_;  // null: everything passes
  std::shared_ptr<UnknownLinkTypes> unknown_;
};

REGISTER_STAGE(PcapFilter);

}  // namespace
}  // namespace trama
