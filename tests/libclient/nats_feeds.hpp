// A NATS server with the configuration that ships, and a publisher at it, for tests.
#pragma once
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <filesystem>
#include <set>
#include <string>

#include "modules/support/nats_publisher.hpp"
#include "tests/libclient/stream_feeds.hpp"

namespace trama::test {

// A port that nobody listens at now.
inline uint16_t free_port() {
  static std::set<uint16_t> given;
  for (;;) {
    const FileDescriptor probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(probe.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no free port");
    if (given.insert(ntohs(address.sin_port)).second) return ntohs(address.sin_port);
  }
}

// Starts nats-server with hub.conf; its store outlives kill() and is gone with this.
class NatsServer {
 public:
  static bool installed() {
    return std::filesystem::exists("/usr/sbin/nats-server") || std::filesystem::exists("/usr/bin/nats-server");
  }

  // `more`: lines of configuration.
  explicit NatsServer(const std::string& more = "", const std::string& url_rest = "")
      : port_(free_port()), leaf_port_(free_port()) {
    std::filesystem::copy_file(TRAMA_NATS_CONF "/hub.conf", folder_ / "hub.conf");
    write_file(folder_ / "hub.site", "HUB_HOST: \"127.0.0.1\"\nHUB_PORT: " + std::to_string(port_) +
                                         "\nHUB_LEAF_PORT: " + std::to_string(leaf_port_) + "\nHUB_STORE: \"" +
                                         (folder_ / "store").string() + "\"\n");
    write_file(folder_ / "main.conf", "include \"hub.conf\"\n" + more);
    url_ = "nats://" + url_rest + "127.0.0.1:" + std::to_string(port_) + "/test.site";
    start();
  }
  ~NatsServer() { kill(); }
  NatsServer(const NatsServer&) = delete;
  NatsServer& operator=(const NatsServer&) = delete;

  void start() {
    const std::string config = (folder_ / "main.conf").string(), log = (folder_ / "log").string();
    // It goes with this program, however that ends.
    const char* const arguments[] = {"setpriv",      "--pdeathsig", "KILL",      "nats-server", "-c",
                                     config.c_str(), "-l",          log.c_str(), nullptr};
    if (posix_spawnp(&process_, "setpriv", nullptr, nullptr, const_cast<char**>(arguments), environ) != 0)
      throw std::runtime_error("nats-server does not start");
    for (const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30); !answers();) {
      if (std::chrono::steady_clock::now() > until)
        throw std::runtime_error("nats-server does not answer: " + read_text(log));
      usleep(5000);
    }
  }
  void kill() { end(SIGKILL); }
  void stop() { end(SIGTERM); }
  pid_t process() const { return process_; }
  const std::string& url() const { return url_; }

 private:
  void end(int signal) {
    if (process_ <= 0) return;
    ::kill(process_, signal);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  bool answers() const {
    const FileDescriptor probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port_);
    return connect(probe.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }

  ScratchFolder folder_;
  const uint16_t port_, leaf_port_;
  std::string url_;
  pid_t process_ = 0;
};

// A NatsPublisher, and the thread that it needs.
class NatsPublisherThread {
 public:
  explicit NatsPublisherThread(const NatsConfig& config) : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    thread_ = std::thread([this, config] { work(config); });
  }
  // As if it had been killed.
  ~NatsPublisherThread() {
    if (!thread_.joinable()) return;
    over_ = true;
    eventfd_write(wake_.get(), 1);
    thread_.join();
  }
  void run(std::function<void(NatsPublisher&)> call) {
    std::packaged_task<void(NatsPublisher&)> task(std::move(call));
    auto done = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    eventfd_write(wake_.get(), 1);
    done.get();
  }
  bool publish(const Envelope& envelope) {
    bool published = false;
    run([&](NatsPublisher& publisher) { published = publisher.publish(envelope); });
    return published;
  }
  NatsOutbox::Totals totals() {
    NatsOutbox::Totals totals;
    run([&](NatsPublisher& publisher) { totals = publisher.totals(); });
    return totals;
  }
  size_t waiting() {
    size_t count = 0;
    run([&](NatsPublisher& publisher) { count = publisher.waiting(); });
    return count;
  }
  // Ends the run; what it says of it.
  std::optional<Diagnostic> finish(int linger_ms = 20'000) {
    std::optional<Diagnostic> account;
    run([&](NatsPublisher& publisher) {
      publisher.finish(linger_ms);
      account = publisher.account();
      over_ = true;
    });
    thread_.join();
    return account;
  }
  std::vector<Diagnostic> said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

 private:
  void work(const NatsConfig& config) {
    NatsPublisher publisher(config, [this](Diagnostic said) {
      const std::lock_guard lock(mutex_);
      said_.push_back(std::move(said));
    });
    for (;;) {
      std::vector<std::packaged_task<void(NatsPublisher&)>> tasks;
      {
        const std::lock_guard lock(mutex_);
        tasks.swap(tasks_);
      }
      for (auto& task : tasks) task(publisher);
      if (over_) return;
      publisher.serve(wake_.get());
      eventfd_t value;
      (void)eventfd_read(wake_.get(), &value);
    }
  }

  FileDescriptor wake_;
  std::mutex mutex_;
  std::vector<std::packaged_task<void(NatsPublisher&)>> tasks_;
  std::vector<Diagnostic> said_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

class NatsFeed final : public Feed {
 public:
  NatsFeed() {
    config_.url = parse_stream_url(server_.url()).value();
    config_.store.bytes = 64 << 20;
    config_.beat_ns = 50'000'000;
    restart();
  }
  std::string url() const override { return server_.url(); }
  // Returns when it is stored: who subscribes then is late for it.
  void publish(uint64_t seq) override {
    EXPECT_TRUE(publisher_->publish(sample_window(seq)->envelope));
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (publisher_->waiting() > 0 && std::chrono::steady_clock::now() < until) usleep(500);
    EXPECT_EQ(publisher_->waiting(), 0u);
  }
  void lose(uint64_t seq) override {
    publisher_->run([=](NatsPublisher& publisher) { publisher.pass(seq); });
  }
  void restart() override {
    publisher_.reset();
    publisher_ = std::make_unique<NatsPublisherThread>(config_);
  }

 private:
  NatsServer server_;
  NatsConfig config_;
  std::unique_ptr<NatsPublisherThread> publisher_;
};

}  // namespace trama::test
