// Streams to subscribe to, for tests: a publisher on a thread of its own, and a folder that archives appear in.
#pragma once
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "libclient/formats/archive_finish.hpp"
#include "libclient/formats/file_bytes.hpp"
#include "libclient/formats/manifest.hpp"
#include "libclient/formats/tar_writer.hpp"
#include "modules/support/stream_publisher.hpp"
#include "tests/libclient/stream_cases.hpp"
#include "tests/support/scratch_folder.hpp"

namespace trama::test {

// A StreamPublisher, and the thread that it needs. Everything is done when its call returns.
class PublisherThread {
 public:
  PublisherThread(const StreamConfig& config, const StreamUrl& url) : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    auto listener = StreamListener::open(url);
    if (!listener) throw std::runtime_error(listener.error().text);
    url_ = listener->url;
    publisher_ = std::make_unique<StreamPublisher>(config, std::move(*listener));
    thread_ = std::thread([this] { work(); });
  }
  // As if it had been killed: nobody is told anything.
  ~PublisherThread() {
    if (!thread_.joinable()) return;
    over_ = true;
    eventfd_write(wake_.get(), 1);
    thread_.join();
  }

  const StreamUrl& url() const { return url_; }
  // A call of the publisher's, on its thread.
  void run(std::function<void(StreamPublisher&)> call) {
    std::packaged_task<void()> task([&] { call(*publisher_); });
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
    run([&](StreamPublisher& publisher) { published = publisher.publish(envelope); });
    return published;
  }
  StreamTotals totals() {
    StreamTotals totals;
    run([&](StreamPublisher& publisher) { totals = publisher.totals(); });
    return totals;
  }
  size_t subscribers() {
    size_t count = 0;
    run([&](StreamPublisher& publisher) { count = publisher.subscribers(); });
    return count;
  }
  void finish(int linger_ms = 10'000) {
    run([&](StreamPublisher& publisher) {
      publisher.finish(linger_ms);
      over_ = true;
    });
    thread_.join();
  }

 private:
  void work() {
    for (;;) {
      std::vector<std::packaged_task<void()>> tasks;
      {
        const std::lock_guard lock(mutex_);
        tasks.swap(tasks_);
      }
      for (auto& task : tasks) task();
      if (over_) return publisher_.reset();
      publisher_->serve(wake_.get());
      eventfd_t value;
      (void)eventfd_read(wake_.get(), &value);
    }
  }

  std::unique_ptr<StreamPublisher> publisher_;
  StreamUrl url_;
  FileDescriptor wake_;
  std::mutex mutex_;
  std::vector<std::packaged_task<void()>> tasks_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

// What the tests that hold for every kind of stream need.
class Feed {
 public:
  virtual ~Feed() = default;
  virtual std::string url() const = 0;
  virtual void publish(uint64_t seq) = 0;
  virtual void lose(uint64_t seq) = 0;
  virtual void restart() = 0;  // another run, which begins with number 0
};

class PublisherFeed final : public Feed {
 public:
  explicit PublisherFeed(const std::string& url, size_t queue = 16) {
    url_ = parse_stream_url(url).value();
    config_.queue = queue;
    config_.beat_ns = 50'000'000;
    start();
    url_ = thread_->url();  // the same port again
  }
  std::string url() const override { return url_.text(); }
  void publish(uint64_t seq) override { EXPECT_TRUE(thread_->publish(sample_window(seq)->envelope)); }
  void lose(uint64_t seq) override {
    thread_->run([=](StreamPublisher& publisher) { publisher.pass(seq); });
  }
  void restart() override {
    thread_.reset();
    start();
  }
  void start() { thread_ = std::make_unique<PublisherThread>(config_, url_); }

 private:
  StreamConfig config_;
  StreamUrl url_;
  std::unique_ptr<PublisherThread> thread_;
};

// Each window is an archive. Times go on from run to run.
class FolderFeed final : public Feed {
 public:
  explicit FolderFeed(const std::filesystem::path& folder) : folder_(folder) {}
  std::string url() const override { return "file://" + folder_.string(); }
  void lose(uint64_t) override {}
  void restart() override { run_ns_ += 1'000'000'000; }
  void publish(uint64_t seq) override { write(seq, {}); }

  void write(uint64_t seq, std::function<void(std::vector<uint8_t>& tar, Manifest& manifest)> change) {
    const auto sample = sample_window(seq);
    const Envelope& envelope = sample->envelope;
    Manifest manifest;
    manifest.header = {"roof", "feed", envelope.window_packets, "numeric", "lz4", "crypto-pan-aes128"};
    ManifestWindow window;
    window.seq = seq;
    window.member = window_member_name(0);
    window.bytes = sample->bytes.size();
    window.xxh3_128 = xxh3_128_hex(sample->bytes);
    window.packets = envelope.packets;
    window.links = envelope.links;
    window.first_ns = envelope.first_ns + run_ns_;
    window.last_ns = envelope.last_ns + run_ns_;
    window.verdicts = envelope.verdicts;
    manifest.windows.push_back(window);
    const auto header = make_tar_header(window.member, window.bytes, 0);
    std::vector<uint8_t> tar(header->block.begin(), header->block.end());
    tar.insert(tar.end(), sample->bytes.begin(), sample->bytes.end());
    tar.resize(tar.size() + header->padding_bytes + kTarEnd.size());
    if (change) change(tar, manifest);
    const auto archive = folder_ / archive_file_name(window.first_ns, envelope.window_packets);
    write_file(archive.string() + ".part", tar);
    write_file(archive.string() + ".json", to_json(manifest));
    std::filesystem::rename(archive.string() + ".part", archive);
  }

 private:
  std::filesystem::path folder_;
  int64_t run_ns_ = 0;
};

}  // namespace trama::test
