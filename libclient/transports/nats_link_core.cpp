#include "libclient/transports/nats_link_core.hpp"

#include <charconv>

namespace trama {
namespace {

template <class Number>
Number header_number(natsMsg* message, const char* name) {
  const char* text = nullptr;
  Number value = 0;
  if (natsMsgHeader_Get(message, name, &text) == NATS_OK && text)
    std::from_chars(text, text + std::strlen(text), value);
  return value;
}

NatsMessage taken_over(natsMsg* message) {
  NatsMessage result;
  result.owner = std::shared_ptr<natsMsg>(message, natsMsg_Destroy);
  result.subject = natsMsg_GetSubject(message);
  result.bytes = {reinterpret_cast<const uint8_t*>(natsMsg_GetData(message)),
                  static_cast<size_t>(natsMsg_GetDataLength(message))};
  result.status = result.bytes.empty() ? header_number<int>(message, "Status") : 0;
  result.sequence = header_number<uint64_t>(message, "Nats-Sequence");
  return result;
}

}  // namespace

void NatsLink::Core::on_message(natsConnection*, natsSubscription*, natsMsg* message, void* closure) {
  auto& subscription = *static_cast<Subscription*>(closure);
  Core& core = *subscription.core;
  auto taken = taken_over(message);
  if (taken.bytes.size() > subscription.max_bytes) taken.bytes = {}, taken.status = kNatsTooLong;
  {
    const std::lock_guard lock(core.mutex);
    if (subscription.waiting >= subscription.most_waiting) return;
    ++subscription.waiting;
    core.waiting.push_back({std::move(taken), &subscription});
  }
  core.raise();
}

void NatsLink::Core::on_disconnected(natsConnection* nc, void* closure) {
  const char* ignored = nullptr;
  // None is known of a server that was stopped in order, or already forgotten.
  const natsStatus status = natsConnection_GetLastError(nc, &ignored);
  static_cast<Core*>(closure)->change(false, status == NATS_OK ? NATS_CONNECTION_DISCONNECTED : status);
}

void NatsLink::Core::on_closed(natsConnection* nc, void* closure) {
  const auto core = static_cast<Core*>(closure);
  const char* ignored = nullptr;
  const natsStatus status = natsConnection_GetLastError(nc, &ignored);
  core->change(false, status == NATS_OK ? NATS_CONNECTION_CLOSED : status);
  core->closed.store(true, std::memory_order_release);
  core->raise();
  core->called_last();
}

void NatsLink::Core::on_error(natsConnection*, natsSubscription*, natsStatus status, void* closure) {
  if (status == NATS_NOT_PERMITTED) static_cast<Core*>(closure)->not_permitted.store(true, std::memory_order_relaxed);
}

// The library frees what it is given.
natsStatus NatsLink::Core::give_jwt(char** jwt, char**, void* closure) {
  *jwt = strdup(static_cast<Core*>(closure)->user_jwt.c_str());
  return *jwt ? NATS_OK : NATS_NO_MEMORY;
}

natsStatus NatsLink::Core::sign(char**, unsigned char** signature, int* length, const char* nonce, void* closure) {
  return nats_Sign(static_cast<Core*>(closure)->user_seed.c_str(), nonce, signature, length);
}

void NatsLink::Core::change(bool is_connected, natsStatus status) {
  {
    const std::lock_guard lock(mutex);
    if (is_connected) ++connections;
    if (status != NATS_OK) why = natsStatus_GetText(status);
    connected = is_connected;
  }
  raise();
}

void NatsLink::Core::called_last() {
  const std::lock_guard lock(mutex);
  may_call -= may_call > 0;
  ended.notify_all();
}

void NatsLink::Core::connect() {
  natsConnection* made = nullptr;
  {
    const std::lock_guard lock(mutex);
    ++may_call;
  }
  const natsStatus status = natsConnection_Connect(&made, options);
  connection = made;
  if (made == nullptr) {  // without a connection nobody calls
    change(false, status);
    closed.store(true, std::memory_order_release);
    called_last();
  } else {
    handle.store(made, std::memory_order_release);
    if (status == NATS_OK)
      change(true, NATS_OK);
    else
      change(false, NATS_NO_SERVER);
  }
  raise();
  nats_ReleaseThreadMemory();
}

}  // namespace trama
