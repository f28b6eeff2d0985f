// The function itself is tested in tests/modules/support/crypto_pan_test.cpp; here, what becomes of windows and keys.
#include <sys/stat.h>

#include "modules/support/crypto_pan.hpp"
#include "modules/support/provenance.hpp"
#include "modules/support/run_report.hpp"
#include "tests/modules/address_batches.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

using test::Pair;

const std::string kDigits = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

class Anonymize : public ::testing::Test {
 protected:
  std::string key_file(mode_t mode = 0600) {
    const std::string path = folder_ / "site.key";
    test::write_file(path, kDigits);
    chmod(path.c_str(), mode);
    return "key_file = \"" + path + "\"";
  }
  static std::vector<Pair> run(StageHarness<Window, AnonymizedWindow>& harness, const std::vector<Pair>& pairs) {
    Window* window = harness.input();
    if (window == nullptr) return {};
    test::fill(*window, pairs);
    harness.push(window);
    AnonymizedWindow* out = harness.next();
    if (out == nullptr) return {};
    EXPECT_EQ(out->tally[Verdict::counted], pairs.size());
    EXPECT_EQ(out->first_ns, 1);
    EXPECT_EQ(out->last_ns, 2);
    key_ = out->key;
    return test::pairs_of(*out);
  }
  test::ScratchFolder folder_;
  inline static uint32_t key_ = 0;
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
  const KeyIdentity identity = harness.services().get<KeyIdentities>()->get(key_);
  EXPECT_EQ(identity.anonymization, "crypto-pan-aes128");
  EXPECT_EQ(identity.fingerprint.size(), 16u);
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
  EXPECT_EQ(harness.services().get<KeyIdentities>()->get(key_).anonymization, "none");
}

TEST_F(Anonymize, FailsClosed) {
  static const std::string kContradictions[] = {key_file() + "\nclear = true", key_file() + "\nephemeral = true",
                                                "key_file = \"/nonexistent\"", "clear = true\nephemeral = true"};
  for (const std::string& parameters : kContradictions)
    EXPECT_FALSE((StageHarness<Window, AnonymizedWindow>("anonymize", parameters).start().empty())) << parameters;
  const std::string readable_by_others = key_file(0644);
  EXPECT_FALSE((StageHarness<Window, AnonymizedWindow>("anonymize", readable_by_others).start().empty()));
}

}  // namespace
}  // namespace trama
