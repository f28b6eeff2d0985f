#include "libclient/transports/nats_link.hpp"

#include <nats/nats.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <mutex>
#include <system_error>
#include <vector>

#include "libclient/formats/file_bytes.hpp"

namespace trama {
namespace {

constexpr int64_t kConnectMs = 2000, kReconnectMs = 250, kJitterMs = 100, kPingMs = 2000, kWriteMs = 2000;
constexpr int kPingsOut = 3;
// Of the library, while it connects anew: one message at most. Windows are kept by their publisher, who sends them
// again.
constexpr int kPendingBytes = 1;
constexpr std::chrono::seconds kUntilEnded(5);

std::string words(natsStatus status) { return natsStatus_GetText(status); }

// Threads that the library starts here are none of those who handle signals.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

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

struct NatsLink::Core {
  struct Subscription {
    Core* core;
    size_t most_waiting;
    uint64_t max_bytes;
    natsSubscription* handle = nullptr;
    size_t waiting = 0;
  };
  struct Waiting {
    NatsMessage message;
    Subscription* subscription;
  };

  ~Core() {
    natsConnection_Destroy(connection);
    natsOptions_Destroy(options);
  }
  // All below are the library's threads.
  static void on_message(natsConnection*, natsSubscription*, natsMsg* message, void* closure);
  static void on_complete(void* closure) { static_cast<Core*>(closure)->called_last(); }
  static void on_connected(natsConnection*, void* closure) { static_cast<Core*>(closure)->change(true, NATS_OK); }
  static void on_disconnected(natsConnection* nc, void* closure) {
    const char* ignored = nullptr;
    static_cast<Core*>(closure)->change(false, natsConnection_GetLastError(nc, &ignored));
  }
  static void on_closed(natsConnection* nc, void* closure) {
    const auto core = static_cast<Core*>(closure);
    const char* ignored = nullptr;
    const natsStatus status = natsConnection_GetLastError(nc, &ignored);
    core->change(false, status == NATS_OK ? NATS_CONNECTION_CLOSED : status);
    core->closed.store(true, std::memory_order_release);
    core->raise();
    core->called_last();
  }
  // The library frees what it is given.
  static natsStatus give_jwt(char** jwt, char**, void* closure) {
    *jwt = strdup(static_cast<Core*>(closure)->user_jwt.c_str());
    return *jwt ? NATS_OK : NATS_NO_MEMORY;
  }
  static natsStatus sign(char**, unsigned char** signature, int* length, const char* nonce, void* closure) {
    return nats_Sign(static_cast<Core*>(closure)->user_seed.c_str(), nonce, signature, length);
  }
  static void on_error(natsConnection*, natsSubscription*, natsStatus status, void* closure) {
    if (status == NATS_NOT_PERMITTED) static_cast<Core*>(closure)->not_permitted.store(true, std::memory_order_relaxed);
  }
  void raise() { (void)eventfd_write(event.get(), 1); }
  void change(bool is_connected, natsStatus status) {
    {
      const std::lock_guard lock(mutex);
      if (is_connected) ++connections;
      if (status != NATS_OK) why = words(status);
      connected = is_connected;
    }
    raise();
  }
  void called_last() {
    const std::lock_guard lock(mutex);
    may_call -= may_call > 0;
    ended.notify_all();
  }

  void connect();
  natsConnection* ready() const { return handle.load(std::memory_order_acquire); }

  natsOptions* options = nullptr;
  natsConnection* connection = nullptr;  // the connecting thread's, until it ends
  std::atomic<natsConnection*> handle{nullptr};
  std::atomic<bool> closed{false}, not_permitted{false};
  FileDescriptor event;
  std::string inbox, user_jwt, user_seed;
  mutable std::mutex mutex;
  std::condition_variable ended;
  std::deque<Waiting> waiting;
  std::vector<std::unique_ptr<Subscription>> subscriptions;
  size_t may_call = 0;  // the connection and the subscriptions that haven't called for the last time
  bool connected = false;
  uint64_t connections = 0;
  std::string why;
  std::thread connecting;
};

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

FormatExpected<std::unique_ptr<NatsLink>> NatsLink::open(const StreamUrl& url, const NatsAccess& access, bool lasting) {
  const SignalsBlocked blocked;
  auto core = std::make_unique<Core>();
  natsOptions*& options = core->options;
  natsStatus status = natsOptions_Create(&options);
  const auto then = [&](auto call, auto... arguments) {
    if (status == NATS_OK) status = call(options, arguments...);
  };
  const std::string host = url.host.find(':') == std::string::npos ? url.host : "[" + url.host + "]";
  const std::string server = "nats://" + host + ":" + std::to_string(url.port);
  then(natsOptions_SetURL, server.c_str());
  then(natsOptions_SetName, "trama");
  then(natsOptions_SetTimeout, kConnectMs);
  then(natsOptions_SetPingInterval, kPingMs);
  then(natsOptions_SetMaxPingsOut, kPingsOut);
  then(natsOptions_SetWriteDeadline, kWriteMs);
  then(natsOptions_SetReconnectBufSize, kPendingBytes);
  then(natsOptions_SetReconnectWait, kReconnectMs);
  then(natsOptions_SetReconnectJitter, kJitterMs, kJitterMs);
  then(natsOptions_SetMaxReconnect, -1);
  then(natsOptions_SetAllowReconnect, lasting);
  // What the library would print on stderr otherwise; which windows are missing, their numbers say.
  then(natsOptions_SetErrorHandler, &Core::on_error, core.get());
  // Who we are, and what we send, is for the server that was named, and not for those that it names.
  then(natsOptions_SetIgnoreDiscoveredServers, true);
  then(natsOptions_SetDisconnectedCB, &Core::on_disconnected, core.get());
  then(natsOptions_SetReconnectedCB, &Core::on_connected, core.get());
  then(natsOptions_SetClosedCB, &Core::on_closed, core.get());
  if (lasting) then(natsOptions_SetRetryOnFailedConnect, true, &Core::on_connected, core.get());
  const std::string& user = access.user.empty() ? url.user : access.user;
  const std::string& password = access.user.empty() ? url.password : access.password;
  if (!user.empty() && password.empty()) then(natsOptions_SetToken, user.c_str());
  if (!user.empty() && !password.empty()) then(natsOptions_SetUserInfo, user.c_str(), password.c_str());
  if (!access.user_jwt.empty()) {
    core->user_jwt = access.user_jwt;
    core->user_seed = access.user_seed;
    then(natsOptions_SetUserCredentialsCallbacks, &Core::give_jwt, core.get(), &Core::sign, core.get());
  }
  if (status != NATS_OK) return format_failure(url.text() + ": " + words(status));
  if (url.encrypted) {
    then(natsOptions_SetSecure, true);
    then(natsOptions_SetExpectedHostname, url.host.c_str());
    if (!access.authorities.empty()) then(natsOptions_SetCATrustedCertificates, access.authorities.c_str());
    if (!access.certificate.empty())
      then(natsOptions_SetCertificatesChain, access.certificate.c_str(), access.key.c_str());
    if (status != NATS_OK)
      return format_failure(url.text() + ": the certificates can't be used: " + words(status),
                            "they are in PEM, and a certificate belongs to its key");
  }
  natsInbox* inbox = nullptr;
  if (natsInbox_Create(&inbox) != NATS_OK) return format_failure(url.text() + ": out of memory");
  core->inbox = inbox;
  natsInbox_Destroy(inbox);
  return std::unique_ptr<NatsLink>(new NatsLink(std::move(core)));
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
