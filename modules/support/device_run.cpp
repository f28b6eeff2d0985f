#include "modules/support/device_run.hpp"

namespace trama {

DeviceRun::DeviceRun(OpenedDevices opened, std::shared_ptr<RunReport> report, std::shared_ptr<RulesInForce> rules,
                     DeviceRunOptions options)
    : devices_(std::move(opened.devices)),
      report_(std::move(report)),
      rules_(std::move(rules)),
      options_(std::move(options)),
      quota_(options_.packets),
      is_gone_(devices_.size()),
      received_(devices_.size()) {
  for (Diagnostic& remark : opened.remarks) report_->say(std::move(remark));
}

// A run that failed before its end leaves nothing attached either.
DeviceRun::~DeviceRun() { begin_end(); }

template <class Visit>
void DeviceRun::visit_queues(size_t replica, Visit&& visit) const {
  for (size_t device = 0; device < devices_.size(); ++device)
    for (size_t queue = replica; queue < devices_[device]->queues(); queue += options_.replicas)
      visit(device, devices_[device]->queue(queue));
}

std::vector<ReceiveQueue*> DeviceRun::queues_of(size_t replica) const {
  std::vector<ReceiveQueue*> queues;
  visit_queues(replica, [&](size_t, ReceiveQueue& queue) { queues.push_back(&queue); });
  return queues;
}

DeviceLosses DeviceRun::take_losses() noexcept {
  DeviceLosses losses;
  for (const auto& device : devices_) losses += device->take_losses();
  if (options_.filters) losses.removed_in_kernel += options_.filters->take_removed();
  return losses;
}

DeviceLosses DeviceRun::take_last_losses() {
  for (const auto& device : devices_) device->finish();
  return take_losses();
}

void DeviceRun::look_after_devices() {
  const std::lock_guard lock(ending_);
  if (admission_closed_ || !options_.filters) return;
  for (size_t device = 0; device < devices_.size(); ++device) {
    if (is_gone_[device] || options_.filters->is_on(device)) continue;
    is_gone_[device] = true;
    report_->say({Severity::error, {}, devices_[device]->name() + " has ceased to receive", ""});
    gone_.fetch_add(1, std::memory_order_relaxed);
  }
}

void DeviceRun::begin_end() {
  const std::lock_guard lock(ending_);
  if (!admission_closed_ && options_.filters) options_.filters->detach();
  admission_closed_ = true;
}

bool DeviceRun::replica_ended(size_t replica, std::span<const ReceivedCount> received) {
  const std::lock_guard lock(ending_);
  size_t next = 0;
  visit_queues(replica, [&](size_t device, ReceiveQueue&) { received_[device] += received[next++]; });
  return ++replicas_ended_ == options_.replicas;
}

void DeviceRun::report_end() {
  for (size_t i = 0; i < devices_.size(); ++i) {
    InputReport input;
    input.name = devices_[i]->name();
    input.packets = received_[i].packets;
    input.bytes = received_[i].bytes;
    input.readable = true;
    if (is_gone_[i]) {
      input.status = InputStatus::unreadable;
      input.detail = "it has ceased to receive";
    }
    report_->input_ended(input);
  }
}

}  // namespace trama
