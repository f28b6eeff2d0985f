#include <cstring>

#include "libclient/formats/archive_verify.hpp"
#include "modules/messages.hpp"
#include "modules/support/run_identity.hpp"
#include "modules/support/run_report.hpp"
#include "tests/modules/address_batches.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

class Archive : public ::testing::Test {
 protected:
  using Harness = StageHarness<SerializedMatrix, Nothing>;

  std::string parameters(const std::string& more = "") const {
    return "directory = \"" + (folder_ / "out").string() + "\"\n" + more;
  }
  static void begin(Harness& harness) { harness.services().get<RunIdentity>()->graph = "feed"; }
  // One window of one link with `packets` packets; 0: a tail.
  static void push(Harness& harness, uint32_t packets, uint64_t cut = 0) {
    SerializedMatrix* window = harness.input();
    if (window == nullptr) return;
    const uint32_t row[] = {7}, start[] = {0, 1}, column[] = {9}, count[] = {packets};
    window->tally = {};
    window->tally[Verdict::counted] = packets;
    window->tally[Verdict::cut] = cut;
    window->first_ns = 1'700'000'000'000'001'000;
    window->last_ns = 1'700'000'000'000'002'000;
    window->closed_by = ClosedBy::end;  // a full window would have 256 packets
    window->key = test::some_key();
    window->judged = false;
    window->packets = packets;
    window->links = 1;
    window->skip = packets == 0;
    window->bytes =
        packets == 0 ? 0 : BlobWriter(16).write({row, start, column, count}, {window->blob, window->capacity});
    harness.push(window);
  }
  Manifest manifest(const std::string& archive) const {
    auto parsed = parse_manifest(test::read_text(folder_ / "out" / (archive + ".json")));
    EXPECT_TRUE(parsed);
    return parsed.value_or(Manifest{});
  }
  static constexpr const char* kFirst = "20231114-221320-000001.768.tar";  // 256 packets a window, 3 windows
  const test::ScratchFolder folder_;
};

TEST_F(Archive, WritesArchivesWithManifests) {
  Harness harness("archive", parameters("windows_per_archive = 3\nsensor = \"tap\""));
  begin(harness);
  for (uint32_t i = 1; i <= 7; ++i) push(harness, i, i);
  push(harness, 0, 100);
  harness.finish();
  const auto archives = harness.services().get<RunReport>()->archives();
  ASSERT_EQ(archives.size(), 3u);
  uint64_t seq = 0, cut = 0;
  for (const std::string& path : archives) {
    const VerifyReport report = verify_archive(path);
    EXPECT_TRUE(report.ok()) << path;
    EXPECT_TRUE(report.has_manifest);
    const Manifest written = manifest(std::filesystem::path(path).filename());
    EXPECT_EQ(written.header.sensor, "tap");
    EXPECT_EQ(written.header.graph, "feed");
    EXPECT_EQ(written.header.window_packets, 256u);
    EXPECT_EQ(written.header.anonymization, "crypto-pan-aes128");
    for (const ManifestWindow& window : written.windows) {
      EXPECT_EQ(window.seq, seq++);
      EXPECT_EQ(window.packets, seq);
      EXPECT_EQ(window.key, "0123456789abcdef");
      EXPECT_EQ(window.exclusions, "none");
      cut += window.verdicts.cut;
    }
    cut += written.tail.cut;
  }
  EXPECT_EQ(seq, 7u);
  EXPECT_EQ(cut, 28u + 100u);
  EXPECT_EQ(manifest(kFirst).tail.seen(), 0u);  // the tail is the last archive's
}

TEST_F(Archive, ATailBehindAFullArchiveIsInItsManifest) {
  Harness harness("archive", parameters("windows_per_archive = 3"));
  begin(harness);
  for (uint32_t i = 1; i <= 3; ++i) push(harness, i);
  push(harness, 0, 5);
  harness.finish();
  EXPECT_EQ(manifest(kFirst).tail.cut, 5u);
}

TEST_F(Archive, WithoutWindowsNothingIsWritten) {
  Harness harness("archive", parameters());
  begin(harness);
  push(harness, 0, 5);
  harness.finish();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(Archive, NeverOverAFileOfTheSameName) {
  std::filesystem::create_directories(folder_ / "out");
  test::write_file(folder_ / "out" / kFirst, std::string("precious"));
  Harness harness("archive", parameters("windows_per_archive = 3"));
  begin(harness);
  push(harness, 1);
  harness.finish();
  EXPECT_EQ(test::read_text(folder_ / "out" / kFirst), "precious");
  EXPECT_EQ(harness.services().get<RunReport>()->archives(),
            std::vector<std::string>{folder_ / "out" / "20231114-221320-000001-1.768.tar"});
}

TEST_F(Archive, AFolderThatCanNotBeUsedIsRefusedAtOnce) {
  test::write_file(folder_ / "out", std::string());
  Harness harness("archive", parameters());
  EXPECT_FALSE(harness.start().empty());
}

TEST_F(Archive, AWindowThatCanNotBeSerializedIsLostAndNamed) {
  Harness harness("archive", parameters());
  begin(harness);
  push(harness, 1);
  SerializedMatrix* window = harness.input();
  window->skip = false;
  window->bytes = 0;
  harness.push(window);
  push(harness, 3);
  harness.finish();
  auto report = harness.services().get<RunReport>();
  EXPECT_EQ(report->windows_lost(), 1u);
  EXPECT_FALSE(report->has_output_failed());
  const auto messages = report->take_messages();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].text.find("window 1"), std::string::npos);
}

TEST_F(Archive, WhenWritingFailsTheRunEndsAndWhatWasWholeStays) {
  Harness harness("archive", parameters("windows_per_archive = 1"));
  begin(harness);
  push(harness, 1);
  push(harness, 2);  // finishes the first archive and opens the second
  harness.finish();
  EXPECT_EQ(harness.services().get<RunReport>()->archives().size(), 2u);

  std::filesystem::remove_all(folder_ / "out");
  Harness failing("archive", parameters("windows_per_archive = 1"));
  begin(failing);
  ASSERT_TRUE(failing.start().empty());
  test::write_file(folder_ / "out", std::string("in the way"));  // after the check at start
  push(failing, 1);
  push(failing, 2);
  failing.finish();
  auto report = failing.services().get<RunReport>();
  EXPECT_TRUE(report->has_output_failed());
  EXPECT_EQ(report->windows_lost(), 2u);
  EXPECT_EQ(report->take_messages().size(), 1u);  // the first failure is said, not each window
}

}  // namespace
}  // namespace trama
