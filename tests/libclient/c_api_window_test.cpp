// trama.h: what a window has is what the publisher, or the archive, said of it.
#include <gtest/gtest.h>

#include <cstring>

#include "libclient/trama.h"
#include "tests/libclient/c_api_handles.hpp"
#include "tests/libclient/stream_feeds.hpp"

namespace trama {
namespace {

using test::expect_null_named;
using test::FolderFeed;
using test::next_window;
using test::Options;
using test::Stream;
using test::Window;

constexpr int64_t kWindowWaitMs = 20'000;

class CApiWindow : public ::testing::Test {
 protected:
  // The envelope as a subscriber of a real publisher gets it.
  Window through_a_publisher(const Envelope& envelope) {
    test::PublisherThread publisher(StreamConfig{}, parse_stream_url("trama+tcp://127.0.0.1:0/site").value());
    EXPECT_TRUE(publisher.publish(envelope));
    publisher.run([this](StreamPublisher& asked) { run_ = asked.run(); });
    const Options options;
    trama_options_start_last(options.get(), 1);
    return next_window(Stream(trama_open(publisher.url().text().c_str(), options.get())),
                       kWindowWaitMs);  // outlives it
  }
  const test::ScratchFolder folder_;
  uint64_t run_ = 0;  // of the publisher
};

template <class Value>
void expect_array(const Value* given, size_t size, const std::vector<Value>& expected) {
  ASSERT_EQ(size, expected.size());
  ASSERT_NE(given, nullptr);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), given));
}

TEST_F(CApiWindow, HasTheMatrixInEveryEncoding) {
  const int encodings[] = {TRAMA_BLOB, TRAMA_BLOB_LZ4, TRAMA_BLOB_ZSTD, TRAMA_COMPACT};
  for (size_t i = 0; i < std::size(encodings); ++i) {
    const auto sample = test::sample_window(6, 700, test::kWindowEncodings[i]);
    const Window window = through_a_publisher(sample->envelope);
    ASSERT_NE(window, nullptr) << i;
    const trama_window* const of = window.get();
    EXPECT_EQ(trama_window_encoding(of), encodings[i]);
    expect_array(trama_window_rows(of), trama_window_n_rows(of), sample->arrays.row);
    expect_array(trama_window_starts(of), trama_window_n_rows(of) + 1, sample->arrays.start);
    expect_array(trama_window_columns(of), trama_window_n_links(of), sample->arrays.column);
    expect_array(trama_window_counts(of), trama_window_n_links(of), sample->arrays.count);
    size_t bytes = 0;
    const void* const serialized = trama_window_serialized(of, &bytes);
    expect_array(static_cast<const uint8_t*>(serialized), bytes, sample->bytes);
    EXPECT_EQ(trama_window_raw_order(of), 0);
  }
}

TEST_F(CApiWindow, HasWhatThePublisherSaidOfIt) {
  const auto sample = test::sample_window(6, 100);
  Envelope& said = sample->envelope;
  said.window_packets = 128;
  said.closed_by = ClosedBy::exclusions;
  said.verdicts = {100, 2, 3, 4, 5, 6, 7, 8};
  said.dropped = {11, 12, 13};
  said.removed_in_kernel = 14;
  const Window window = through_a_publisher(said);
  ASSERT_NE(window, nullptr);
  const trama_window* const of = window.get();
  EXPECT_NE(run_, 0u);
  EXPECT_EQ(trama_window_run(of), run_);
  EXPECT_EQ(trama_window_seq(of), 6u);
  EXPECT_EQ(trama_window_full_packets(of), 128u);
  EXPECT_EQ(trama_window_packets(of), 100u);
  EXPECT_EQ(trama_window_first_ns(of), said.first_ns);
  EXPECT_EQ(trama_window_last_ns(of), said.last_ns);
  EXPECT_EQ(trama_window_closed_by(of), TRAMA_CLOSED_EXCLUSIONS);
  const uint64_t verdicts[] = {100, 2, 3, 4, 5, 6, 7, 8, 135};
  for (int verdict = TRAMA_COUNTED; verdict <= TRAMA_SEEN; ++verdict)
    EXPECT_EQ(trama_window_verdict(of, verdict), verdicts[verdict]) << verdict;
  EXPECT_EQ(trama_window_dropped(of, TRAMA_DROPPED_KERNEL), 11u);
  EXPECT_EQ(trama_window_dropped(of, TRAMA_DROPPED_NIC), 12u);
  EXPECT_EQ(trama_window_dropped(of, TRAMA_DROPPED_RING), 13u);
  EXPECT_EQ(trama_window_removed_in_kernel(of), 14u);
  EXPECT_STREQ(trama_window_sensor(of), "roof");
  EXPECT_STREQ(trama_window_stream(of), "site");
  EXPECT_STREQ(trama_window_graph(of), "feed");
  EXPECT_STREQ(trama_window_anonymization(of), "crypto-pan-aes128");
  EXPECT_STREQ(trama_window_key(of), "0123456789abcdef");
  EXPECT_STREQ(trama_window_exclusions(of), "none");
}

TEST_F(CApiWindow, HasTheIndexOrder) {
  auto sample = test::sample_window(6, 100, EnvelopeEncoding::blob_plain);
  sample->envelope.raw_order = true;
  const Window window = through_a_publisher(sample->envelope);
  ASSERT_NE(window, nullptr);
  EXPECT_EQ(trama_window_raw_order(window.get()), 1);
}

TEST_F(CApiWindow, ComesFromArchivesToo) {
  FolderFeed feed(folder_.path());
  feed.publish(0);
  const Options options;
  trama_options_start_number(options.get(), 0);
  trama_options_follow(options.get(), 0);
  const Window window = next_window(Stream(trama_open(feed.url().c_str(), options.get())), kWindowWaitMs);
  ASSERT_NE(window, nullptr);
  EXPECT_EQ(trama_window_run(window.get()), 0u);
  EXPECT_STREQ(trama_window_sensor(window.get()), "roof");
  const auto sample = test::sample_window(0);
  expect_array(trama_window_columns(window.get()), trama_window_n_links(window.get()), sample->arrays.column);
}

TEST_F(CApiWindow, NullIsAnErrorAndNoCrash) {
  expect_null_named("window", [] { return trama_window_missed(nullptr) == 0; });
  expect_null_named("window", [] { return trama_window_restarted(nullptr) == 0; });
  expect_null_named("window", [] { return trama_window_run(nullptr) == 0; });
  expect_null_named("window", [] { return trama_window_seq(nullptr) == 0; });
  expect_null_named("window", [] { return trama_window_full_packets(nullptr) == 0; });
  expect_null_named("window", [] { return trama_window_packets(nullptr) == 0; });
  expect_null_named("window", [] { return trama_window_first_ns(nullptr) == 0; });
  expect_null_named("window", [] { return trama_window_last_ns(nullptr) == 0; });
  expect_null_named("window", [] { return trama_window_closed_by(nullptr) == -1; });
  expect_null_named("window", [] { return trama_window_verdict(nullptr, TRAMA_CUT) == 0; });
  expect_null_named("window", [] { return trama_window_dropped(nullptr, TRAMA_DROPPED_NIC) == 0; });
  expect_null_named("window", [] { return trama_window_removed_in_kernel(nullptr) == 0; });
  for (const auto text : {trama_window_sensor, trama_window_stream, trama_window_graph, trama_window_anonymization,
                          trama_window_key, trama_window_exclusions})
    expect_null_named("window", [=] { return std::strcmp(text(nullptr), "") == 0; });
  for (const auto array : {trama_window_rows, trama_window_starts, trama_window_columns, trama_window_counts})
    expect_null_named("window", [=] { return array(nullptr) == nullptr; });
  expect_null_named("window", [] { return trama_window_n_rows(nullptr) == 0; });
  expect_null_named("window", [] { return trama_window_n_links(nullptr) == 0; });
  expect_null_named("window", [] { return trama_window_raw_order(nullptr) == 0; });
  expect_null_named("window", [] { return trama_window_encoding(nullptr) == -1; });
  size_t bytes = 1;
  expect_null_named("window", [&] { return trama_window_serialized(nullptr, &bytes) == nullptr && bytes == 0; });
}

TEST_F(CApiWindow, UnknownConstantsAreErrors) {
  const Window window = through_a_publisher(test::sample_window(0)->envelope);
  ASSERT_NE(window, nullptr);
  expect_null_named("bytes", [&] { return trama_window_serialized(window.get(), nullptr) == nullptr; });
  for (const int unknown : {-1, TRAMA_SEEN + 1}) {
    EXPECT_EQ(trama_window_verdict(window.get(), unknown), 0u);
    EXPECT_STREQ(trama_error_text(), "trama_window_verdict: is none of the verdicts");
    EXPECT_EQ(trama_window_dropped(window.get(), unknown), 0u);
    EXPECT_THAT(trama_error_text(), testing::HasSubstr("trama_window_dropped"));
  }
}

}  // namespace
}  // namespace trama
