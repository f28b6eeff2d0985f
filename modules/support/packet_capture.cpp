#include "modules/support/packet_capture.hpp"

#include <algorithm>

#include "engine/suggest.hpp"
#include "modules/support/header_walk.hpp"
#include "modules/support/packet_socket_frame.hpp"

namespace trama {
namespace {

// Of the interfaces that lose packets which would have been captured.
std::vector<int> indices_of(const std::vector<NetworkInterface>& interfaces) {
  std::vector<int> indices;
  for (const NetworkInterface& interface : interfaces)
    if (interface.index != 0) indices.push_back(interface.index);
  if (indices.empty()) indices = interface_indices();
  return indices;
}

Expected<std::vector<NetworkInterface>> find_interfaces(const std::vector<std::string>& names) {
  std::vector<NetworkInterface> found;
  for (const std::string& name : names) {
    auto interface = find_interface(name);
    if (!interface) return tl::unexpected(std::move(interface.error()));
    const auto same = std::find_if(found.begin(), found.end(), [&](const NetworkInterface& other) {
      return other.index == interface->index || other.index == 0 || interface->index == 0;
    });
    if (same != found.end())
      return failure("each packet would be captured twice: `" + same->name + "` and `" + name + "`",
                     "name one of them");
    found.push_back(std::move(*interface));
  }
  return found;
}

}  // namespace

Expected<std::shared_ptr<PacketCapture>> PacketCapture::open(const PacketCaptureOptions& options,
                                                             std::shared_ptr<RunReport> report) {
  auto interfaces = find_interfaces(options.interfaces);
  if (!interfaces) return tl::unexpected(std::move(interfaces.error()));
  auto sockets = open_packet_sockets(*interfaces, options.socket, options.fanout, options.replicas);
  if (!sockets) return tl::unexpected(std::move(sockets.error()));
  std::shared_ptr<PacketCapture> capture(new PacketCapture(options, *interfaces, std::move(report)));
  capture->sockets_ = std::move(*sockets);
  for (const Input& input : capture->inputs_) capture->warn_of(input);
  return capture;
}

PacketCapture::PacketCapture(const PacketCaptureOptions& options, const std::vector<NetworkInterface>& interfaces,
                             std::shared_ptr<RunReport> report)
    : losses_(indices_of(interfaces)), report_(std::move(report)), quota_(options.packets), running_(options.replicas) {
  for (const NetworkInterface& interface : interfaces) inputs_.emplace_back(interface);
}

void PacketCapture::tell(Severity severity, std::string text, std::string hint) {
  report_->say({severity, {}, std::move(text), std::move(hint)});
}

void PacketCapture::warn_of(const Input& input) {
  const NetworkInterface& facts = input.facts;
  if (const auto merging = merging_offloads(facts); !merging.empty() && !facts.loopback) {
    tell(Severity::warning,
         facts.name + " merges received packets before they can be captured (" + joined(merging) +
             "): several count as one",
         "`ethtool -K " + facts.device + " " + joined(merging, " off ") + " off`");
  }
}

void PacketCapture::begin() {
  if (begun_.load(std::memory_order_relaxed) || begun_.exchange(true)) return;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const NetworkInterface& facts = inputs_[i].facts;
    bool admitted = true;
    for (std::vector<PacketSocket>& of_replica : sockets_) admitted = of_replica[i].admit() && admitted;
    if (!admitted) tell(Severity::error, facts.name + ": the kernel doesn't let packets through to the capture");
    const uint16_t link_type = link_type_of(facts.hardware_type);
    tell(Severity::note,
         "listening on " + facts.name + (is_any(i) ? "" : std::string(", ") + link_type_name(link_type)));
    if (!is_any(i) && !walks(link_type)) has_link_type(i, link_type);
    if (!facts.up) is_down(i);
  }
}

void PacketCapture::captured(size_t input, uint64_t packets, uint64_t bytes) noexcept {
  inputs_[input].packets.fetch_add(packets, std::memory_order_relaxed);
  inputs_[input].bytes.fetch_add(bytes, std::memory_order_relaxed);
  report_->progress(bytes, packets);
}

void PacketCapture::is_down(size_t input) {
  const NetworkInterface& facts = inputs_[input].facts;
  if (inputs_[input].said_down.exchange(true)) return;
  tell(Severity::warning, facts.name + " is down: the capture goes on when it is up",
       "`ip link set " + facts.device + " up`");
}

void PacketCapture::is_gone(size_t input) {
  if (inputs_[input].gone.exchange(true)) return;
  tell(Severity::warning, inputs_[input].facts.name + " has disappeared");
}

void PacketCapture::has_link_type(size_t input, uint16_t link_type) {
  if (inputs_[input].said_link.exchange(true)) return;
  tell(Severity::warning, std::string(link_type_name(link_type)) + " on " + inputs_[input].facts.name +
                              " isn't walked: its packets are unknown_link");
}

bool PacketCapture::replica_ended() {
  if (running_.fetch_sub(1) != 1) return false;
  losses_.finish();
  return true;
}

void PacketCapture::report_end() {
  if (const uint64_t dropped = losses_.dropped(); dropped > 0)
    tell(Severity::note,
         "the interfaces count " + std::to_string(dropped) +
             " received packets as rx_dropped: losses of their drivers, or packets that only this capture wanted",
         "docs/live.md says how to tell");
  for (const Input& input : inputs_) {
    InputReport report;
    report.name = input.facts.name;
    report.packets = input.packets;
    report.bytes = input.bytes;
    report.readable = true;
    if (input.gone) {
      report.status = InputStatus::unreadable;
      report.detail = "the interface has disappeared";
      report.readable = report.packets > 0;
    }
    report_->input_ended(report);
  }
}

}  // namespace trama
