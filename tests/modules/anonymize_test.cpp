// The function itself is tested in tests/modules/support/crypto_pan_test.cpp; here, what becomes of windows and keys.
#include <sys/stat.h>

#include <random>

#include "modules/support/crypto_pan.hpp"
#include "modules/support/run_report.hpp"
#include "tests/modules/address_batches.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

using test::Pair;

const std::string kDigits = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

// A window of these pairs, filled under the rules in force.
Window* filled(StageHarness<Window, AnonymizedWindow>& harness, const std::vector<Pair>& pairs) {
  Window* window = harness.input();
  if (window == nullptr) return nullptr;
  test::fill(*window, pairs);
  window->rules = harness.services().get<RulesInForce>()->current();
  return window;
}

class Anonymize : public ::testing::Test {
 protected:
  std::string key_file(mode_t mode = 0600) {
    const std::string path = folder_ / "site.key";
    test::write_file(path, kDigits);
    chmod(path.c_str(), mode);
    return "key_file = \"" + path + "\"";
  }
  static std::vector<Pair> run(StageHarness<Window, AnonymizedWindow>& harness, const std::vector<Pair>& pairs) {
    Window* window = filled(harness, pairs);
    if (window == nullptr) return {};
    harness.push(window);
    AnonymizedWindow* out = harness.next();
    if (out == nullptr) return {};
    EXPECT_EQ(out->tally[Verdict::counted], pairs.size());
    EXPECT_EQ(out->first_ns, 1);
    EXPECT_EQ(out->last_ns, 2);
    key_ = out->key->identity;
    return test::pairs_of(*out);
  }
  test::ScratchFolder folder_;
  inline static KeyIdentity key_;
  const std::vector<Pair> pairs_ = {{0, 0xFFFFFFFF}, {0x0A000001, 0x0A000001}, {7, 8}};
};

TEST_F(Anonymize, IsCryptoPanUnderTheKeyOfTheFile) {
  StageHarness<Window, AnonymizedWindow> harness("anonymize", key_file());
  const std::vector<Pair> got = run(harness, pairs_);
  std::array<uint8_t, 32> key;
  for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<uint8_t>(i);
  const CryptoPan right(key);
  ASSERT_EQ(got.size(), pairs_.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i], Pair(right.anonymize_one(pairs_[i].first), right.anonymize_one(pairs_[i].second)));
  EXPECT_EQ(key_.anonymization, "crypto-pan-aes128");
  EXPECT_EQ(key_.fingerprint.size(), 16u);
}

TEST_F(Anonymize, AnEphemeralKeyIsSaidAndDiffers) {
  StageHarness<Window, AnonymizedWindow> one("anonymize"), other("anonymize", "ephemeral = true");
  EXPECT_NE(run(one, pairs_), run(other, pairs_));
  const auto messages = one.services().get<RunReport>()->take_messages();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].severity, Severity::note);
}

TEST_F(Anonymize, ClearOnlyWhenAskedFor) {
  StageHarness<Window, AnonymizedWindow> harness("anonymize", "clear = true");
  EXPECT_EQ(run(harness, pairs_), pairs_);
  EXPECT_EQ(key_.anonymization, "none");
}

TEST_F(Anonymize, EachWindowIsUnderTheKeyItWasFilledUnder) {
  StageHarness<Window, AnonymizedWindow> harness("anonymize", key_file());
  ASSERT_TRUE(harness.start().empty());
  const auto rules = harness.services().get<RulesInForce>();
  const RulesShare before = rules->current();
  const auto under = [&](const RulesShare& share) {
    Window* window = filled(harness, pairs_);
    window->rules = share;
    harness.push(window);
    const AnonymizedWindow* out = harness.next();
    return std::pair(out->key->identity.fingerprint, test::pairs_of(*out));
  };
  const auto first = under(before);
  const std::string other = folder_ / "other.key";
  test::write_file(other, std::string(64, '7'));
  chmod(other.c_str(), 0600);
  const auto rotated = harness.services().get<KeyRotation>()->rotate(other);
  ASSERT_TRUE(rotated);
  const auto second = under(rules->current());
  EXPECT_EQ(second.first, *rotated);
  EXPECT_NE(second.second, first.second);
  EXPECT_EQ(under(before), first);  // it was filled before, and comes later
  EXPECT_EQ(difference(before, rules->current()), ClosedBy::key);

  chmod(other.c_str(), 0644);
  EXPECT_FALSE(harness.services().get<KeyRotation>()->rotate(other));
  EXPECT_EQ(under(rules->current()), second);
  EXPECT_TRUE(harness.services().get<KeyRotation>()->rotate(std::nullopt));
  EXPECT_NE(under(rules->current()).second, second.second);
}

// Whoever gets hold of the process later can't undo what was anonymized before.
TEST_F(Anonymize, AKeyIsGoneWithItsLastWindow) {
  StageHarness<Window, AnonymizedWindow> harness("anonymize", key_file());
  ASSERT_TRUE(harness.start().empty());
  const auto rules = harness.services().get<RulesInForce>();
  const std::weak_ptr<const AnonymizationKey> first = rules->current()->key;
  Window* window = filled(harness, pairs_);
  ASSERT_TRUE(harness.services().get<KeyRotation>()->rotate(std::nullopt));
  rules->forget_former();
  EXPECT_FALSE(first.expired()) << "a window that was filled under it is still under way";
  harness.push(window);
  ASSERT_NE(harness.next(), nullptr);
  EXPECT_EQ(harness.next(), nullptr);  // the one before is let go
  rules->forget_former();
  EXPECT_TRUE(first.expired());
}

TEST_F(Anonymize, InClearThereIsNoKeyToRotate) {
  StageHarness<Window, AnonymizedWindow> harness("anonymize", "clear = true");
  ASSERT_TRUE(harness.start().empty());
  EXPECT_FALSE(harness.services().get<KeyRotation>()->rotate(std::nullopt));
}

TEST_F(Anonymize, FailsClosed) {
  static const std::string kContradictions[] = {key_file() + "\nclear = true", key_file() + "\nephemeral = true",
                                                "key_file = \"/nonexistent\"", "clear = true\nephemeral = true"};
  for (const std::string& parameters : kContradictions)
    EXPECT_FALSE((StageHarness<Window, AnonymizedWindow>("anonymize", parameters).start().empty())) << parameters;
  const std::string readable_by_others = key_file(0644);
  EXPECT_FALSE((StageHarness<Window, AnonymizedWindow>("anonymize", readable_by_others).start().empty()));
}

constexpr size_t kMany = 4096;  // pairs, enough to judge by
const HarnessOptions kLargeWindows{.sizes = {.batch_items = 1, .window_items = kMany}};

// Of 300 sources, a few of which send most, each to destinations of its own choice.
std::vector<Pair> repetitive_pairs(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random()) % limit; };
  std::vector<Pair> pairs(kMany);
  for (Pair& pair : pairs) {
    const uint32_t rank = below(1 + below(300)), source = rank * 0x9E3779B1u;
    pair = {source, source + below(1 + rank % 40)};
  }
  return pairs;
}

Matrix matrix_of(TrafficMatrix* message) {
  const HyperCsr view = message->storage.view();
  return {{view.row.begin(), view.row.end()},
          {view.start.begin(), view.start.end()},
          {view.column.begin(), view.column.end()},
          {view.count.begin(), view.count.end()}};
}

bool is_summed(StageHarness<Window, AnonymizedWindow>& harness, const std::vector<Pair>& pairs) {
  harness.push(filled(harness, pairs));
  return harness.next()->is_summed;
}

TEST_F(Anonymize, AWindowThatWasSummedFirstIsTheSameMatrix) {
  for (const char* order : {"numeric", "raw"}) {
    StageHarness<Window, AnonymizedWindow> harness("anonymize", key_file(), kLargeWindows);
    StageHarness<AnonymizedWindow, TrafficMatrix> build("build", std::string("index_order = \"") + order + "\"",
                                                        kLargeWindows);
    std::array<uint8_t, 32> key;
    for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<uint8_t>(i);
    const CryptoPan right(key);
    for (uint32_t seed = 0; seed < 5; ++seed) {
      SCOPED_TRACE("order " + std::string(order) + ", seed " + std::to_string(seed));
      const std::vector<Pair> pairs = repetitive_pairs(seed);
      harness.push(filled(harness, pairs));
      AnonymizedWindow* summed = harness.next();
      ASSERT_TRUE(summed->is_summed);

      AnonymizedWindow* plain = build.input();
      plain->is_summed = false;
      std::vector<Pair> replaced;
      for (const Pair& pair : pairs)
        replaced.emplace_back(right.anonymize_one(pair.first), right.anonymize_one(pair.second));
      test::fill(*plain, replaced);
      build.push(plain);
      const Matrix expected = matrix_of(build.next());

      AnonymizedWindow* again = build.input();
      test::fill(*again, pairs);  // which must not be looked at
      again->is_summed = true;
      std::swap(again->summed, summed->summed);
      build.push(again);
      EXPECT_EQ(matrix_of(build.next()), expected);
    }
  }
}

TEST_F(Anonymize, SumsFirstOnlyWherePairsRepeat) {
  StageHarness<Window, AnonymizedWindow> harness("anonymize", key_file(), kLargeWindows);
  std::mt19937 random(1);
  std::vector<Pair> anything(kMany);
  for (Pair& pair : anything) pair = {static_cast<uint32_t>(random()), static_cast<uint32_t>(random())};
  EXPECT_TRUE(is_summed(harness, repetitive_pairs(1)));
  EXPECT_FALSE(is_summed(harness, anything));
  EXPECT_TRUE(is_summed(harness, repetitive_pairs(2)));
  EXPECT_FALSE(is_summed(harness, {{1, 2}, {1, 2}}));
}

TEST_F(Anonymize, StopsSummingForAWhileWhenItDidNotPay) {
  StageHarness<Window, AnonymizedWindow> harness("anonymize", key_file(), kLargeWindows);
  std::vector<size_t> summed;
  // Neighbouring sources, which look skewed, but no two packets have anything in common.
  for (uint32_t i = 0; i < 70; ++i) {
    std::vector<Pair> pairs(kMany);
    for (uint32_t p = 0; p < pairs.size(); ++p) pairs[p] = {p, i << 16 | p};
    if (is_summed(harness, pairs)) summed.push_back(i);
  }
  EXPECT_EQ(summed, (std::vector<size_t>{0, 32, 64}));
}

}  // namespace
}  // namespace trama
