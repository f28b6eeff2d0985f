#include <atomic>
#include <thread>

#include "modules/support/exclusion_input.hpp"
#include "modules/support/provenance.hpp"
#include "tests/modules/address_batches.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

using test::Pair;

std::vector<Pair> pairs_of(const AddressBatch& batch) {
  std::vector<Pair> pairs;
  for (size_t i = 0; i < batch.pairs; ++i) pairs.emplace_back(batch.source[i], batch.destination[i]);
  return pairs;
}

std::shared_ptr<const PrivacyRanges> list_of(const std::string& range = "") {
  std::vector<PrivacyRanges::Entry> entries;
  if (!range.empty()) entries.push_back({range, {}});
  return std::make_shared<const PrivacyRanges>(*PrivacyRanges::parse(entries));
}

TEST(Exclude, TakesPairsOutAndKeepsVerdictsInOrder) {
  StageHarness<AddressBatch, AddressBatch> harness("exclude", "ranges = [\"10.0.0.0/8\", \"192.0.2.0/24:source\"]");
  AddressBatch* batch = harness.input();
  if (batch == nullptr) return;
  test::fill(*batch, {{Verdict::counted, 0x0A010203, 1, 11},
                      {Verdict::ipv6},
                      {Verdict::counted, 2, 0x0AFFFFFF, 12},
                      {Verdict::counted, 3, 0xC0000201, 13},
                      {Verdict::counted, 0xC0000201, 4, 14},
                      {Verdict::counted, 0x0302010A, 5, 15}});
  batch->list_in_force = harness.services().get<ExclusionLists>()->current();
  harness.push(batch);
  AddressBatch* out = harness.next();
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(pairs_of(*out), (std::vector<Pair>{{3, 0xC0000201}, {0x0302010A, 5}}));
  EXPECT_NE(out->exclusions, 0u);
  EXPECT_EQ(out->exclusions, out->list_in_force);
  EXPECT_EQ(out->time_ns[0], 13);
  EXPECT_EQ(out->time_ns[1], 15);
  EXPECT_EQ(out->verdicts[0], Verdict::excluded_range);
  EXPECT_EQ(out->verdicts[1], Verdict::ipv6);
  EXPECT_EQ(out->verdicts[2], Verdict::excluded_range);
  EXPECT_EQ(out->verdicts[3], Verdict::counted);
  EXPECT_EQ(out->verdicts[4], Verdict::excluded_range);
  EXPECT_EQ(out->tally[Verdict::excluded_range], 3u);
  EXPECT_EQ(out->tally[Verdict::counted], 2u);
  EXPECT_EQ(out->tally.seen(), 6u);
}

TEST(Exclude, JudgesEachBatchByTheListItEnteredUnder) {
  StageHarness<AddressBatch, AddressBatch> harness("exclude", "ranges = \"10.0.0.0/8\"");
  ASSERT_TRUE(harness.start().empty());
  auto lists = harness.services().get<ExclusionLists>();
  const uint32_t first = lists->current();
  ASSERT_TRUE(lists->publish(list_of("11.0.0.0/8")));
  const uint32_t second = lists->current();
  for (const auto& [list, left] : {std::pair<uint32_t, uint32_t>{0, 2}, {first, 1}, {second, 1}}) {
    AddressBatch* batch = harness.input();
    test::fill(*batch, {{Verdict::counted, 0x0A000001, 1}, {Verdict::counted, 0x0B000001, 1}});
    batch->list_in_force = list;
    harness.push(batch);
    AddressBatch* out = harness.next();
    EXPECT_EQ(out->pairs, left);
    EXPECT_EQ(out->source[0], list == first ? 0x0B000001u : 0x0A000001u);
  }
}

TEST(Exclude, ReadsFilesAgain) {
  const test::ScratchFolder folder;
  const std::string file = folder / "ranges";
  test::write_file(file, std::string("10.0.0.0/8\n# a comment\n"));
  StageHarness<AddressBatch, AddressBatch> harness("exclude", "files = \"" + file + "\"");
  ASSERT_TRUE(harness.start().empty());
  auto input = harness.services().get<ExclusionInput>();
  EXPECT_TRUE(input->has_files());
  EXPECT_TRUE((*input->read())->excludes(0x0A000001, 1));
  test::write_file(file, std::string("11.0.0.0/8\n"));
  EXPECT_FALSE((*input->read(PrivacyRanges::Reading::again))->excludes(0x0A000001, 1));
  test::write_file(file, std::string());
  EXPECT_FALSE(input->read(PrivacyRanges::Reading::again));
}

TEST(Exclude, RefusesAFileWithoutRanges) {
  const test::ScratchFolder folder;
  const std::string file = folder / "ranges";
  for (const auto& [text, good] : {std::pair<std::string, bool>{"", false}, {"# none\n", false}, {"none\n", true}}) {
    test::write_file(file, text);
    StageHarness<AddressBatch, AddressBatch> harness("exclude", "files = \"" + file + "\"");
    EXPECT_EQ(harness.start().empty(), good) << text;
  }
}

TEST(Exclude, RefusesWhatItCanNotRead) {
  for (const char* parameters : {"ranges = \"10.0.0.0/33\"", "ranges = \"ten\"", "files = \"/nonexistent\""}) {
    StageHarness<AddressBatch, AddressBatch> harness("exclude", parameters);
    EXPECT_FALSE(harness.start().empty()) << parameters;
  }
}

std::string network(uint32_t i) { return "10." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24"; }
uint32_t address_in(uint32_t i) { return 0x0A000001 + (i << 8); }

// A quiet input: nothing enters between the changes.
TEST(ExclusionLists, ThatNobodyWasGivenAreNotKept) {
  ExclusionLists lists;
  ASSERT_TRUE(lists.publish(list_of(network(0))));
  const uint32_t used = lists.current();
  for (uint32_t i = 1; i < 400; ++i) ASSERT_TRUE(lists.publish(list_of(network(i)))) << i;
  EXPECT_EQ(lists.kept(), 3u);
  EXPECT_TRUE(lists.list(used).excludes(address_in(0), 1));
  EXPECT_TRUE(lists.list(lists.current()).excludes(address_in(399), 1));
}

TEST(ExclusionLists, AreKeptUntilEachReaderHasPassedThem) {
  ExclusionLists lists;
  ExclusionLists::Reader first = lists.add_reader(), second = lists.add_reader();
  std::vector<uint32_t> ids;
  const auto publish = [&](uint32_t i) {
    EXPECT_TRUE(lists.publish(list_of(network(i))));
    ids.push_back(lists.current());
  };
  for (uint32_t i = 0; i < 4; ++i) publish(i);
  first.passed(ids[3]);
  publish(4);
  EXPECT_EQ(lists.kept(), 6u);  // the other one may still ask for all of them
  for (uint32_t i = 0; i <= 4; ++i) EXPECT_TRUE(lists.list(ids[i]).excludes(address_in(i), 1));
  second.passed(ids[2]);
  publish(5);
  EXPECT_EQ(lists.kept(), 5u);  // none, 2, 3, 4, 5
  for (uint32_t i = 2; i <= 5; ++i) EXPECT_TRUE(lists.list(ids[i]).excludes(address_in(i), 1));
  const KeyIdentity key{"", "", [](std::string_view text) { return std::string(text) + std::string(16, '-'); }};
  EXPECT_EQ(lists.digest(ids[0], key), "unknown");
  EXPECT_EQ(lists.digest(ids[2], key), "10.0.2.0/24:eith");
}

TEST(ExclusionLists, ChangeAsOftenAsReadersFollow) {
  ExclusionLists lists;
  ExclusionLists::Reader reader = lists.add_reader();
  for (uint32_t i = 0; i < 400; ++i) {
    ASSERT_TRUE(lists.publish(list_of(network(i)))) << i;
    reader.passed(lists.current());
    ASSERT_LE(lists.kept(), 3u);
  }
}

TEST(ExclusionLists, AreBoundedWithoutReaders) {
  ExclusionLists lists;
  for (uint32_t i = 1; i < ExclusionLists::kKept; ++i) {
    ASSERT_TRUE(lists.publish(list_of(network(i))));
    lists.current();
  }
  EXPECT_FALSE(lists.publish(list_of(network(0))));
  EXPECT_TRUE(lists.list(lists.current()).excludes(address_in(ExclusionLists::kKept - 1), 1));
  // Those that are there may come back as often as they like.
  const auto one = list_of(network(1)), other = list_of(network(2));
  for (uint32_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(lists.publish(i % 2 == 0 ? one : other));
    EXPECT_TRUE(lists.list(lists.current()).excludes(address_in(1 + i % 2), 1));
  }
}

TEST(ExclusionLists, ThatAreTheSameChangeNothing) {
  ExclusionLists lists;
  EXPECT_FALSE(*lists.publish(list_of()));
  EXPECT_EQ(lists.current(), 0u);
  EXPECT_TRUE(*lists.publish(list_of(network(1))));
  const uint32_t one = lists.current();
  EXPECT_FALSE(*lists.publish(list_of(network(1))));
  EXPECT_EQ(lists.current(), one);
  EXPECT_TRUE(*lists.publish(list_of()));
  EXPECT_GT(lists.current(), one);
  EXPECT_FALSE(lists.list(lists.current()).excludes(address_in(1), 1));
  EXPECT_EQ(lists.digest(lists.current(), {}), "none");
}

// A source in one thread, the stages behind it in another; what ASan or TSan sees of it is the test.
TEST(ExclusionLists, ChangeWhileBatchesPass) {
  ExclusionLists lists;
  ExclusionLists::Reader reader = lists.add_reader();
  std::atomic<uint32_t> entered{0};
  std::atomic<bool> over{false};
  std::thread source([&] {
    while (!over) entered.store(lists.current());
  });
  std::thread stages([&] {
    for (uint32_t before = 0; !over;) {
      const uint32_t id = entered.load();
      EXPECT_GE(id, before);
      EXPECT_EQ(lists.list(id).excludes(0x0A000001, 1), id != 0);
      reader.passed(before = id);
    }
  });
  for (uint32_t i = 1; i < 400; ++i) {
    const auto list = PrivacyRanges::parse({{"10.0.0.0/24", {}}, {network(i), {}}});
    while (!lists.publish(std::make_shared<const PrivacyRanges>(*list))) std::this_thread::yield();
  }
  over = true;
  source.join();
  stages.join();
}

TEST(ExclusionLists, DigestNeedsTheKey) {
  ExclusionLists lists;
  const KeyIdentity keyed{"", "",
                          [](std::string_view text) { return std::string(text.size(), 'a') + std::string(64, 'b'); }};
  EXPECT_EQ(lists.digest(0, keyed), "none");
  ASSERT_TRUE(lists.publish(list_of("10.0.0.0/8")));
  EXPECT_EQ(lists.digest(lists.current(), keyed).size(), 16u);
  EXPECT_EQ(lists.digest(lists.current(), {}), "unkeyed");
}

}  // namespace
}  // namespace trama
