#include "libclient/formats/envelope.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "libclient/formats/byte_fields.hpp"
#include "libclient/formats/stream_note.hpp"
#include "tests/libclient/stream_cases.hpp"
#include "tests/support/allocation_counter.hpp"

namespace trama {
namespace {

using test::enveloped;
using test::sample_window;

void expect_same(const Envelope& a, const Envelope& b) {
  EXPECT_EQ(std::tie(a.run, a.seq, a.window_packets, a.packets, a.links, a.first_ns, a.last_ns, a.closed_by, a.encoding,
                     a.raw_order, a.verdicts, a.dropped, a.removed_in_kernel),
            std::tie(b.run, b.seq, b.window_packets, b.packets, b.links, b.first_ns, b.last_ns, b.closed_by, b.encoding,
                     b.raw_order, b.verdicts, b.dropped, b.removed_in_kernel));
  EXPECT_EQ(std::tie(a.sensor, a.stream, a.graph, a.anonymization, a.key, a.exclusions),
            std::tie(b.sensor, b.stream, b.graph, b.anonymization, b.key, b.exclusions));
  EXPECT_TRUE(std::equal(a.matrix.begin(), a.matrix.end(), b.matrix.begin(), b.matrix.end()));
}

TEST(Envelope, IsReadAsItWasWritten) {
  for (const EnvelopeEncoding encoding : test::kWindowEncodings) {
    const auto sample = sample_window(5, 100, encoding);
    sample->envelope.raw_order = encoding == EnvelopeEncoding::blob_zstd;
    sample->envelope.closed_by = ClosedBy::flush;
    const auto bytes = enveloped(sample->envelope);
    const auto read = read_envelope(bytes);
    ASSERT_TRUE(read) << read.error().text;
    expect_same(*read, sample->envelope);
  }
}

TEST(Envelope, OfATailHasNoMatrix) {
  Envelope tail;
  tail.run = 1;
  tail.seq = 9;
  tail.verdicts.not_ip = 12;
  const auto bytes = enveloped(tail);
  const auto read = read_envelope(bytes);
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->verdicts.not_ip, 12u);
  EXPECT_EQ(bytes.size(), 200u);  // the shortest: header and checksum
}

TEST(Envelope, IsWrittenAsTheDocumentSays) {
  Envelope tail;
  tail.run = 0x0807060504030201;
  tail.seq = 258;
  tail.sensor = "a";
  tail.exclusions = "none";
  const auto bytes = enveloped(tail);
  ASSERT_EQ(bytes.size(), 205u);
  EXPECT_EQ(std::memcmp(bytes.data(), "\xD4TEN\x01\x00\x00\x00\xCD\x00\x00\x00\x00\x00\x00\x00", 16), 0);
  EXPECT_EQ(std::memcmp(bytes.data() + 16, "\x01\x02\x03\x04\x05\x06\x07\x08\x02\x01", 10), 0);
  EXPECT_EQ(std::memcmp(bytes.data() + 176,
                        "\x00\x00\x01\x00\x00\x00\x00\x04"
                        "anone",
                        13),
            0);
  EXPECT_EQ(test::enveloped(tail), bytes);
}

TEST(Envelope, NeedsTheRoomThatItSays) {
  const auto sample = sample_window(1);
  std::vector<uint8_t> out(envelope_bytes(sample->envelope) - 1);
  EXPECT_EQ(write_envelope(sample->envelope, out), 0u);
  const std::string longest(kMostEnvelopeText, 's'), longer(kMostEnvelopeText + 1, 's');
  sample->envelope.sensor = longest;
  EXPECT_TRUE(read_envelope(enveloped(sample->envelope)));
  sample->envelope.sensor = longer;
  out.resize(envelope_bytes(sample->envelope));
  EXPECT_EQ(write_envelope(sample->envelope, out), 0u);
}

TEST(Envelope, IsWrittenWithoutAllocating) {
  if (!test::kCountsAllocations) GTEST_SKIP() << "a sanitizer's allocator can't be counted";
  const auto sample = sample_window(1);
  std::vector<uint8_t> out(envelope_bytes(sample->envelope));
  test::count_this_thread();
  test::start_counting();
  const size_t size = write_envelope(sample->envelope, out);
  test::stop_counting();
  EXPECT_EQ(size, out.size());
  EXPECT_EQ(test::allocations_counted(), 0u);
}

TEST(Envelope, EveryChangeOfAByteIsFound) {
  const auto bytes = enveloped(sample_window(3, 3)->envelope);
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (unsigned change = 1; change < 256; ++change) {
      std::vector<uint8_t> changed = bytes;
      changed[i] = static_cast<uint8_t>(changed[i] ^ change);
      ASSERT_FALSE(read_envelope(changed)) << "byte " << i << " xor " << change;
    }
  }
}

TEST(Envelope, EveryCutIsFound) {
  auto bytes = enveloped(sample_window(3, 3)->envelope);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    ASSERT_FALSE(read_envelope(cut)) << size;
  }
  bytes.push_back(0);
  EXPECT_FALSE(read_envelope(bytes));
}

// Envelopes with a right checksum that say what can't be.
TEST(Envelope, ThatContradictsItselfIsRefused) {
  using Change = std::function<void(Envelope&)>;
  const std::pair<const char*, Change> cases[] = {
      {"no run", [](Envelope& e) { e.run = 0; }},
      {"a number that none can follow", [](Envelope& e) { e.seq = UINT64_MAX; }},
      {"its last packet before its first", [](Envelope& e) { e.last_ns = e.first_ns - 1; }},
      {"more packets than a window has", [](Envelope& e) { e.window_packets = e.packets - 1; }},
      {"a tail with a matrix", [](Envelope& e) { e.encoding = EnvelopeEncoding::tail; }},
      {"a window without a matrix", [](Envelope& e) { e.matrix = {}; }},
      {"a window without a matrix", [](Envelope& e) { e.links = 0; }},
      {"fewer packets than links", [](Envelope& e) { e.links = e.packets + 1; }},
      {"other packets than were counted", [](Envelope& e) { ++e.verdicts.counted; }},
      {"an unknown reason for its end", [](Envelope& e) { e.closed_by = static_cast<ClosedBy>(6); }},
      {"an unknown encoding", [](Envelope& e) { e.encoding = static_cast<EnvelopeEncoding>(5); }}};
  for (const auto& [what, change] : cases) {
    const auto sample = sample_window(3);
    change(sample->envelope);
    const auto read = read_envelope(enveloped(sample->envelope));
    ASSERT_FALSE(read) << what;
    EXPECT_NE(read.error().text.find(what), std::string::npos) << read.error().text;
  }
}

// The same for fields that write_envelope() never writes so: patched, and sealed anew.
TEST(Envelope, FieldsThatDoNotFitAreRefused) {
  struct Patch {
    size_t offset;
    uint64_t value;
    size_t size;
  };
  const auto right = enveloped(sample_window(3)->envelope);
  const Patch patches[] = {{6, 2, 2},                 // an unknown flag
                           {8, right.size() + 1, 8},  // the length
                           {168, 1, 8},               // of the matrix
                           {168, ~uint64_t{0}, 8},    // far too long
                           {178, 255, 1},             // of the sensor
                           {183, 255, 1}};            // of the exclusions
  for (const Patch& patch : patches) {
    auto bytes = right;
    std::memcpy(bytes.data() + patch.offset, &patch.value, patch.size);
    FieldWriter writer(bytes.data());
    writer.bytes(std::vector<uint8_t>(bytes).data(), bytes.size() - kSealBytes);
    writer.seal();
    EXPECT_FALSE(read_envelope(bytes)) << patch.offset;
  }
}

TEST(Envelope, OfAnotherVersionIsNamed) {
  auto bytes = enveloped(sample_window(3)->envelope);
  EXPECT_FALSE(is_of_other_version(bytes));
  bytes[4] = 2;
  EXPECT_TRUE(is_of_other_version(bytes));
  EXPECT_NE(read_envelope(bytes).error().text.find("another version"), std::string::npos);
}

TEST(StreamNote, IsReadAsItWasWritten) {
  StreamNote note;
  note.kind = NoteKind::subscribe;
  note.start = StartKind::time;
  note.refusal = Refusal::full;
  note.run = 1;
  note.number = ~uint64_t{0};
  note.allowed = 3;
  note.text = "roof";
  std::array<uint8_t, kMostNoteBytes> out;
  const size_t size = write_note(note, out);
  const std::vector<uint8_t> bytes(out.begin(), out.begin() + static_cast<ptrdiff_t>(size));
  const auto read = read_note(bytes);
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(*read, note);
  EXPECT_FALSE(looks_like_envelope(bytes));
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (unsigned change = 1; change < 256; ++change) {
      std::vector<uint8_t> changed = bytes;
      changed[i] = static_cast<uint8_t>(changed[i] ^ change);
      ASSERT_FALSE(read_note(changed)) << "byte " << i << " xor " << change;
    }
    ASSERT_FALSE(read_note(std::span(bytes).first(i)));
  }
  const std::string longer(kMostNoteText + 1, 'x');
  note.text = longer;
  EXPECT_EQ(write_note(note, out), 0u);
}

}  // namespace
}  // namespace trama
