// Windows that have left a publisher's queue come from the archives of its run, in order, and what isn't there is told.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "engine/sanitizers.hpp"
#include "libclient/subscriber.hpp"
#include "modules/support/archive_writer.hpp"
#include "modules/support/stream_archives.hpp"
#include "tests/libclient/stream_feeds.hpp"

namespace trama {
namespace {

using namespace std::chrono_literals;
using test::PublisherThread;
using test::sample_window;

constexpr auto kReplayWait = 60s;
constexpr uint64_t kPerArchive = 8;

#if TRAMA_ADDRESS_SANITIZER || TRAMA_THREAD_SANITIZER
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// A run: what is published is archived as well, as the two stages do.
class PublisherReplay : public ::testing::Test {
 protected:
  explicit PublisherReplay(size_t queue = 4) {
    StreamConfig config;
    config.queue = queue;
    config.beat_ns = 50'000'000;
    config.archives = log_;
    config.sensor = "roof";
    publisher_ =
        std::make_unique<PublisherThread>(config, parse_stream_url("trama+ipc://" + (folder_ / "s").string()).value());
  }
  void archive(uint64_t seq) { archive(*sample_window(seq, packets_)); }
  void archive(const test::SampleWindow& sample) {
    const Envelope& envelope = sample.envelope;
    const ManifestHeader header{"", "feed", packets_, "numeric", "lz4", "crypto-pan-aes128"};
    ManifestWindow window;
    window.seq = envelope.seq;
    window.packets = envelope.packets;
    window.links = envelope.links;
    window.first_ns = envelope.first_ns;
    window.last_ns = envelope.last_ns;
    window.key = envelope.key;
    window.exclusions = envelope.exclusions;
    window.verdicts = envelope.verdicts;
    window.dropped = envelope.dropped;
    const auto written = writer_.append(header, window, sample.bytes);
    ASSERT_TRUE(written) << written.error().text;
    log_->wrote(writer_.part(), window.seq, window.last_ns);
    note_finished();
  }
  void note_finished() {
    for (const auto& path : writer_.take_finished()) {
      archives_.push_back(path);
      log_->finished(path);
    }
  }
  void publish(uint64_t seq) { publish(*sample_window(seq, packets_)); }
  void publish(const test::SampleWindow& sample) { ASSERT_TRUE(publisher_->publish(sample.envelope)); }
  void both(uint64_t from, uint64_t to) {
    for (uint64_t seq = from; seq < to; ++seq) {
      const auto sample = sample_window(seq, packets_);
      archive(*sample);
      publish(*sample);
    }
  }
  Subscriber subscribe(StartKind start, uint64_t at, size_t ahead = 4) {
    SubscribeOptions options;
    options.start = start;
    options.start_at = at;
    options.ahead = ahead;
    return std::move(*Subscriber::open(publisher_->url().text(), options));
  }
  // A live one that is there.
  Subscriber follow() {
    Subscriber subscriber = subscribe(StartKind::live, 0);
    while (!subscriber.connected()) usleep(1000);
    return subscriber;
  }
  void expect_window(Subscriber& subscriber, uint64_t seq, uint64_t missed = 0) {
    const Next next = subscriber.next(kReplayWait);
    ASSERT_EQ(next.outcome, Outcome::window) << "instead of " << seq << next.error.text;
    ASSERT_EQ(next.window->info().seq, seq);
    ASSERT_EQ(next.window->missed, missed) << "before " << seq;
    EXPECT_FALSE(next.window->restarted);
    if (seq % look_at_each_ == 0) expect_contents(*next.window);
  }
  void expect_contents(const StreamWindow& window) const {
    const WindowInfo& info = window.info();
    const auto sample = sample_window(info.seq, packets_);
    const auto& column = window.matrix().column;
    EXPECT_TRUE(std::equal(column.begin(), column.end(), sample->arrays.column.begin(), sample->arrays.column.end()));
    EXPECT_EQ(info.sensor, "roof");
    EXPECT_EQ(info.graph, "feed");
    EXPECT_EQ(info.key, sample->envelope.key);
    EXPECT_EQ(info.verdicts, sample->envelope.verdicts);
    EXPECT_EQ(info.dropped, sample->envelope.dropped);
    EXPECT_EQ(info.last_ns, sample->envelope.last_ns);
  }
  void expect_windows(Subscriber& subscriber, uint64_t from, uint64_t to) {
    for (uint64_t seq = from; seq < to && !HasFatalFailure(); ++seq) expect_window(subscriber, seq);
  }
  // The most memory since the last forget_peak().
  static uint64_t peak_bytes() {
    std::ifstream status("/proc/self/status");
    uint64_t kib = 0;
    for (std::string word; status >> word;)
      if (word == "VmHWM:") status >> kib;
    return kib << 10;
  }
  static void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }
  static uint64_t time_of(uint64_t seq) { return static_cast<uint64_t>(sample_window(seq)->envelope.last_ns); }

  size_t packets_ = 50;        // of a window
  uint64_t look_at_each_ = 1;  // into each such window: making it again takes long when it is large
  const test::ScratchFolder folder_;
  const std::shared_ptr<ArchiveLog> log_ = std::make_shared<ArchiveLog>();
  ArchiveWriter writer_{{folder_ / "out", 50, kPerArchive}};
  std::vector<std::filesystem::path> archives_;  // finished
  std::unique_ptr<PublisherThread> publisher_;
};

TEST_F(PublisherReplay, FromTheFirstWindowToTheLiveOnes) {
  both(0, 30);
  Subscriber subscriber = subscribe(StartKind::number, 0);
  expect_windows(subscriber, 0, 30);
  both(30, 33);
  expect_windows(subscriber, 30, 33);
  EXPECT_GE(publisher_->totals().replayed, 26u);
  EXPECT_EQ(publisher_->totals().lost, 0u);
  publisher_->finish();
  EXPECT_EQ(subscriber.next(kReplayWait).outcome, Outcome::ended);
  EXPECT_EQ(subscriber.counts().missed, 0u);
}

TEST_F(PublisherReplay, TheArchiveThatIsBeingWrittenIsReadToo) {
  both(0, 7);
  ASSERT_TRUE(archives_.empty());
  Subscriber subscriber = subscribe(StartKind::number, 1);
  expect_windows(subscriber, 1, 7);
}

TEST_F(PublisherReplay, BeginsAtATimeOrWithTheLast) {
  both(0, 30);
  struct Case {
    StartKind start;
    uint64_t at, first;
  };
  for (const Case& one : {Case{StartKind::time, time_of(5), 5}, Case{StartKind::time, time_of(5) + 1, 6},
                          Case{StartKind::time, 0, 0}, Case{StartKind::time, time_of(28), 28},
                          Case{StartKind::last, 2, 28}, Case{StartKind::last, 12, 18}, Case{StartKind::last, 100, 0}}) {
    SCOPED_TRACE(testing::Message() << static_cast<int>(one.start) << " at " << one.at);
    Subscriber subscriber = subscribe(one.start, one.at);
    expect_windows(subscriber, one.first, 30);
    EXPECT_EQ(subscriber.counts().missed, 0u);
  }
}

// Many times what the queue holds, to one who begins at the beginning, while another one is live.
TEST_F(PublisherReplay, HundredsOfWindowsInBoundedMemoryBesideALiveSubscriber) {
  constexpr uint64_t kBefore = 300, kMeanwhile = 50;  // of 60 KB
  packets_ = kSanitized ? 50 : 8000;
  look_at_each_ = 16;
  both(0, kBefore);
  Subscriber live = follow(), late = subscribe(StartKind::number, 0);
  forget_peak();
  const uint64_t before = peak_bytes();
  std::thread reader([&] { expect_windows(late, 0, kBefore + kMeanwhile); });
  for (uint64_t seq = kBefore; seq < kBefore + kMeanwhile && !HasFatalFailure(); ++seq) {
    both(seq, seq + 1);
    expect_window(live, seq);
  }
  reader.join();
  EXPECT_EQ(live.counts().missed + late.counts().missed, 0u);
  if (kSanitized) return;
  EXPECT_LT(peak_bytes() - before, uint64_t{12} << 20);
}

TEST_F(PublisherReplay, ASlowSubscriberGetsFromArchivesWhatTheQueueHasNoMore) {
  Subscriber slow = follow();
  both(0, 100);
  expect_windows(slow, 0, 100);
  EXPECT_EQ(publisher_->totals().lost, 0u);
}

TEST_F(PublisherReplay, WhatIsDamagedOrGoneIsMissedExactly) {
  both(0, 40);
  ASSERT_EQ(archives_.size(), 4u);
  {
    std::fstream first(archives_[0], std::ios::in | std::ios::out | std::ios::binary);
    first.seekp(600);  // in the blob of window 0
    first.put('\x55');
  }
  std::filesystem::remove(archives_[2]);                                          // 16 .. 23
  test::write_file(archives_[3].string() + ".json", std::string("no manifest"));  // 24 .. 31
  Subscriber subscriber = subscribe(StartKind::number, 0);
  expect_window(subscriber, 1, 1);
  expect_windows(subscriber, 2, 16);
  expect_window(subscriber, 32, 16);
  expect_windows(subscriber, 33, 40);
  EXPECT_EQ(subscriber.counts().missed, 17u);
  EXPECT_EQ(publisher_->totals().not_replayed, 17u);
  EXPECT_EQ(publisher_->totals().lost, 0u);  // it wasn't slow
  EXPECT_EQ(subscriber.counts().damaged, 0u);
}

TEST_F(PublisherReplay, WhatIsNotInTheArchiveYetIsMissedExactly) {
  both(0, 10);
  for (uint64_t seq = 10; seq < 30; ++seq) publish(seq);
  Subscriber subscriber = subscribe(StartKind::number, 3);
  expect_windows(subscriber, 3, 10);
  expect_window(subscriber, 26, 16);
  expect_windows(subscriber, 27, 30);
  EXPECT_EQ(publisher_->totals().not_replayed, 16u);
  EXPECT_EQ(publisher_->totals().lost, 0u);
}

TEST_F(PublisherReplay, WhatWasNeverPublishedComesFromTheArchive) {
  for (uint64_t seq = 0; seq < 20; ++seq) {
    archive(seq);
    if (seq % 3 == 1)
      publisher_->run([=](StreamPublisher& publisher) { publisher.pass(seq); });
    else
      publish(seq);
  }
  Subscriber subscriber = subscribe(StartKind::number, 0);
  expect_windows(subscriber, 0, 14);  // all that have left the queue
}

TEST_F(PublisherReplay, SomebodyWhoLeavesInTheMiddleHarmsNobody) {
  both(0, 200);
  for (int i = 0; i < 20; ++i) {
    Subscriber leaves = subscribe(StartKind::number, 0);
    expect_window(leaves, 0);
  }
  Subscriber subscriber = subscribe(StartKind::number, 0);
  expect_windows(subscriber, 0, 200);
}

// Its writer gives it its name while somebody looks for it, and tells the log afterwards.
TEST_F(PublisherReplay, AnArchiveThatIsJustBeingFinishedIsFound) {
  for (uint64_t seq = 0; seq < 5; ++seq) archive(seq);
  StreamArchives archives(log_, {7, "roof", "site"}, 1 << 20);
  const std::filesystem::path part = writer_.part();
  ASSERT_TRUE(writer_.finish({}));
  ASSERT_FALSE(std::filesystem::exists(part));
  ASSERT_EQ(log_->find(0, 5, 0)->path, part);
  EXPECT_EQ(archives.find(2, 5, INT64_MIN)->seq, 2u);
  note_finished();
  EXPECT_NE(log_->find(0, 5, 0)->path, part);
  EXPECT_EQ(StreamArchives(log_, {7, "roof", "site"}, 1 << 20).find(4, 5, INT64_MIN)->seq, 4u);
  EXPECT_FALSE(archives.find(5, 100, INT64_MIN));
  EXPECT_FALSE(archives.find(2, 5, INT64_MAX));
  EXPECT_FALSE(StreamArchives(log_, {7, "roof", "site"}, 100).find(0, 5, INT64_MIN));  // all are longer
}

TEST_F(PublisherReplay, WhatIsAppendedToAnOpenArchiveIsFound) {
  for (uint64_t seq = 0; seq < 3; ++seq) archive(seq);
  StreamArchives archives(log_, {7, "roof", "site"}, 1 << 20);
  EXPECT_EQ(archives.find(1, 100, INT64_MIN)->seq, 1u);
  EXPECT_FALSE(archives.find(3, 100, INT64_MIN));
  archive(3);
  EXPECT_EQ(archives.find(3, 100, INT64_MIN)->seq, 3u);
  // Its blob is not longer than that, but its envelope is.
  EXPECT_FALSE(StreamArchives(log_, {7, "roof", "site"}, sample_window(3)->bytes.size()).find(3, 100, INT64_MIN));
}

TEST(ArchiveLog, KnowsTheLastArchivesOnly) {
  ArchiveLog log;
  for (uint64_t i = 0; i < ArchiveLog::kMost + 10; ++i) {
    log.wrote("a" + std::to_string(i) + ".tar.part", i, 0);
    log.finished("a" + std::to_string(i) + ".tar");
  }
  EXPECT_EQ(log.find(0, UINT64_MAX, INT64_MIN)->first, 10u);
}

}  // namespace
}  // namespace trama
