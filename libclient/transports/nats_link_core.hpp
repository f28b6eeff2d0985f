// What is behind a NatsLink: the NATS library's objects, and what its threads bring. Not meant for others.
//
//   nats_link.cpp        what the user's thread asks for
//   nats_link_core.cpp   what the library's threads say
//   nats_link_open.cpp   how a connection is to be made
#pragma once
#include <nats/nats.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#include "libclient/formats/file_bytes.hpp"
#include "libclient/transports/nats_link.hpp"

namespace trama {

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
  static void on_disconnected(natsConnection* nc, void* closure);
  static void on_closed(natsConnection* nc, void* closure);
  static void on_error(natsConnection*, natsSubscription*, natsStatus status, void* closure);
  static natsStatus give_jwt(char** jwt, char**, void* closure);
  static natsStatus sign(char**, unsigned char** signature, int* length, const char* nonce, void* closure);
  void raise() { (void)eventfd_write(event.get(), 1); }
  void change(bool is_connected, natsStatus status);
  void called_last();

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

}  // namespace trama
