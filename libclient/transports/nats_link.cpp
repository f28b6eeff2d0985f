#include "libclient/transports/nats_link.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "libclient/transports/nats_link_core.hpp"

namespace trama {
namespace {

constexpr std::chrono::seconds kUntilEnded(5);

}  // namespace

NatsLink::NatsLink(std::unique_ptr<Core> core) : core_(std::move(core)) {
  core_->event = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!core_->event) throw std::system_error(errno, std::generic_category(), "eventfd");
  const SignalsBlocked blocked;
  core_->connecting = std::thread([core = core_.get()] { core->connect(); });
}

NatsLink::~NatsLink() {
  core_->connecting.join();
  if (core_->connection) natsConnection_Close(core_->connection);
  for (const auto& subscription : core_->subscriptions) natsSubscription_Destroy(subscription->handle);
  std::unique_lock lock(core_->mutex);
  const bool silent = core_->ended.wait_for(lock, kUntilEnded, [&] { return core_->may_call == 0; });
  lock.unlock();
  if (!silent) (void)core_.release();  // better lost than called when it is gone
}

int NatsLink::descriptor() const { return core_->event.get(); }
void NatsLink::clear() {
  eventfd_t value;
  (void)eventfd_read(core_->event.get(), &value);
}

std::optional<NatsMessage> NatsLink::take() {
  const std::lock_guard lock(core_->mutex);
  if (core_->waiting.empty()) return std::nullopt;
  NatsMessage message = std::move(core_->waiting.front().message);
  --core_->waiting.front().subscription->waiting;
  core_->waiting.pop_front();
  return message;
}

bool NatsLink::connected() const {
  const std::lock_guard lock(core_->mutex);
  return core_->connected && core_->ready() != nullptr;
}
bool NatsLink::over() const { return core_->closed.load(std::memory_order_acquire); }
uint64_t NatsLink::connections() const {
  const std::lock_guard lock(core_->mutex);
  return core_->connections;
}
std::string NatsLink::why() const {
  const std::lock_guard lock(core_->mutex);
  return core_->why;
}
bool NatsLink::not_permitted() const { return core_->not_permitted.load(std::memory_order_relaxed); }
uint64_t NatsLink::most_bytes() const {
  natsConnection* const connection = core_->ready();
  return connection ? static_cast<uint64_t>(std::max<int64_t>(0, natsConnection_GetMaxPayload(connection))) : 0;
}
const std::string& NatsLink::inbox() const { return core_->inbox; }

bool NatsLink::subscribe(const std::string& subject, size_t most_waiting, uint64_t max_bytes) {
  natsConnection* const connection = core_->ready();
  if (!connection) return false;
  const SignalsBlocked blocked;
  auto subscription = std::make_unique<Core::Subscription>(Core::Subscription{core_.get(), most_waiting, max_bytes});
  {
    const std::lock_guard lock(core_->mutex);
    ++core_->may_call;
  }
  if (natsConnection_Subscribe(&subscription->handle, connection, subject.c_str(), &Core::on_message,
                               subscription.get()) != NATS_OK)
    return core_->called_last(), false;
  // What comes moves on at once, so that it never waits in the library.
  natsSubscription_SetPendingLimits(subscription->handle, 4096, 1 << 30);
  if (natsSubscription_SetOnCompleteCB(subscription->handle, &Core::on_complete, core_.get()) != NATS_OK)
    core_->called_last();
  core_->subscriptions.push_back(std::move(subscription));
  return true;
}

NatsSent NatsLink::send(const std::string& subject, std::span<const uint8_t> bytes, const std::string& answer_to,
                        const std::string& id) {
  if (!connected()) return NatsSent::later;
  natsMsg* message = nullptr;
  if (natsMsg_Create(&message, subject.c_str(), answer_to.empty() ? nullptr : answer_to.c_str(),
                     reinterpret_cast<const char*>(bytes.data()), static_cast<int>(bytes.size())) != NATS_OK)
    return NatsSent::later;
  natsStatus status = id.empty() ? NATS_OK : natsMsgHeader_Set(message, "Nats-Msg-Id", id.c_str());
  if (status == NATS_OK) status = natsConnection_PublishMsg(core_->ready(), message);
  natsMsg_Destroy(message);
  if (status == NATS_MAX_PAYLOAD) return NatsSent::too_long;
  return status == NATS_OK ? NatsSent::done : NatsSent::later;
}

NatsSent NatsLink::send(const std::string& subject, std::string_view text, const std::string& answer_to) {
  return send(subject, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()), answer_to);
}

bool NatsLink::flush(int timeout_ms) {
  return connected() && natsConnection_FlushTimeout(core_->ready(), std::max(1, timeout_ms)) == NATS_OK;
}

bool nats_available() { return true; }

}  // namespace trama
