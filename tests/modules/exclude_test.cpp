#include "modules/support/exclusion_input.hpp"
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
  batch->rules = harness.services().get<RulesInForce>()->current();
  harness.push(batch);
  AddressBatch* out = harness.next();
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(pairs_of(*out), (std::vector<Pair>{{3, 0xC0000201}, {0x0302010A, 5}}));
  EXPECT_EQ(out->judges, 1u);
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
  auto rules = harness.services().get<RulesInForce>();
  const RulesShare first = rules->current();
  ASSERT_TRUE(rules->set_ranges(list_of("11.0.0.0/8")));
  const RulesShare second = rules->current();
  ASSERT_TRUE(rules->set_ranges(list_of()));
  const RulesShare none = rules->current();
  for (const auto& [share, left] : {std::pair{none, 2u}, {first, 1u}, {second, 1u}, {first, 1u}}) {
    AddressBatch* batch = harness.input();
    test::fill(*batch, {{Verdict::counted, 0x0A000001, 1}, {Verdict::counted, 0x0B000001, 1}});
    batch->rules = share;
    harness.push(batch);
    AddressBatch* out = harness.next();
    EXPECT_EQ(out->pairs, left);
    EXPECT_EQ(out->source[0], share.id() == first.id() ? 0x0B000001u : 0x0A000001u);
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
  EXPECT_FALSE((*input->read(Reading::again))->excludes(0x0A000001, 1));
  test::write_file(file, std::string());
  EXPECT_FALSE(input->read(Reading::again));
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

}  // namespace
}  // namespace trama
