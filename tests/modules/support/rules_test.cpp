#include "modules/support/rules.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "modules/support/filter_inputs.hpp"

namespace trama {
namespace {

std::shared_ptr<const PrivacyRanges> list_of(const std::vector<std::string>& ranges) {
  std::vector<PrivacyRanges::Entry> entries;
  for (const std::string& range : ranges) entries.push_back({range, {}});
  return std::make_shared<const PrivacyRanges>(*PrivacyRanges::parse(entries));
}
std::string network(uint32_t i) { return "10." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24"; }
uint32_t address_in(uint32_t i) { return 0x0A000001 + (i << 8); }
bool excludes(const RulesShare& rules, uint32_t address) { return rules->ranges->excludes(address, 1); }

TEST(RulesInForce, AreKeptAsLongAsSomebodyHasAShare) {
  RulesInForce rules;
  ASSERT_TRUE(rules.set_ranges(list_of({network(0)})));
  RulesShare first = rules.current(), again = first;
  for (uint32_t i = 1; i < 400; ++i) ASSERT_TRUE(rules.set_ranges(list_of({network(i)}))) << i;
  EXPECT_EQ(rules.kept(), 2u);  // those nobody was given are gone
  EXPECT_TRUE(excludes(first, address_in(0)));
  EXPECT_TRUE(excludes(rules.current(), address_in(399)));
  first.give_back();
  ASSERT_TRUE(rules.set_ranges(list_of({network(1)})));
  EXPECT_TRUE(excludes(again, address_in(0)));
  again = {};
  ASSERT_TRUE(rules.set_ranges(list_of({network(2)})));
  EXPECT_EQ(rules.kept(), 1u);
}

TEST(RulesInForce, AreBounded) {
  RulesInForce rules;
  std::vector<RulesShare> shares;
  for (uint32_t i = 1; i < RulesInForce::kKept; ++i) {
    shares.push_back(rules.current());
    ASSERT_TRUE(rules.set_ranges(list_of({network(i)})));
  }
  shares.push_back(rules.current());
  EXPECT_FALSE(rules.set_ranges(list_of({network(0)})));
  EXPECT_TRUE(excludes(rules.current(), address_in(RulesInForce::kKept - 1)));  // as before
  shares[7].give_back();
  EXPECT_TRUE(rules.set_ranges(list_of({network(0)})));
}

TEST(RulesInForce, ThatAreTheSameChangeNothing) {
  RulesInForce rules;
  const uint32_t before = rules.id();
  EXPECT_FALSE(*rules.set_ranges(list_of({})));
  EXPECT_EQ(rules.id(), before);
  EXPECT_TRUE(*rules.set_ranges(list_of({network(1), network(2)})));
  const uint32_t one = rules.id();
  EXPECT_FALSE(*rules.set_ranges(list_of({network(2), network(1)})));
  EXPECT_EQ(rules.id(), one);
  EXPECT_TRUE(*rules.set_ranges(list_of({})));
  EXPECT_GT(rules.id(), one);
  EXPECT_FALSE(excludes(rules.current(), address_in(1)));
}

struct Module final : ModuleRules {
  explicit Module(const std::string& text) { canonical = text; }
};

TEST(RulesInForce, TellWhyAWindowEnds) {
  RulesInForce rules;
  const size_t first = rules.add_module(std::make_shared<Module>("")),
               second = rules.add_module(std::make_shared<Module>("a\n"));
  EXPECT_EQ(first, 0u);
  EXPECT_EQ(second, 1u);
  rules.add_judge();
  EXPECT_EQ(rules.judges(), 3u);
  const RulesShare start = rules.current();
  EXPECT_EQ(start->modules.size(), 2u);
  auto reason = [&, before = start](const std::function<void(Rules&)>& edit) mutable {
    EXPECT_TRUE(*rules.change(edit));
    const RulesShare after = rules.current();
    return difference(std::exchange(before, after), after);
  };
  EXPECT_EQ(reason([](Rules& all) { ++all.flushes; }), ClosedBy::flush);
  EXPECT_EQ(reason([](Rules& all) { all.key = std::make_shared<AnonymizationKey>(); }), ClosedBy::key);
  EXPECT_EQ(reason([](Rules& all) { all.key = nullptr, ++all.flushes; }), ClosedBy::key);
  EXPECT_EQ(reason([](Rules& all) { all.modules[1] = std::make_shared<Module>("b\n"); }), ClosedBy::exclusions);
  EXPECT_EQ(reason([](Rules& all) { all.ranges = list_of({"10.0.0.0/8"}); }), ClosedBy::exclusions);
}

// Notes what it was told, as a filter in the kernel would judge by it.
struct Teller final : ModuleRules {
  Teller(std::string& told, const std::string& text, bool refuses = false) : told_(told), refuses_(refuses) {
    canonical = text;
  }
  Diagnostics tell_others() const override {
    if (refuses_) return {{Severity::error, {}, "refused", ""}};
    told_ = canonical;
    return {};
  }
  std::string& told_;
  const bool refuses_;
};

TEST(FilterInputs, PutAllInForceOrNothing) {
  RulesInForce rules;
  std::string first = "a", second = "b";
  rules.add_module(std::make_shared<Teller>(first, "a"));
  rules.add_module(std::make_shared<Teller>(second, "b"));
  const uint32_t before = rules.id();
  const auto changes = [&](bool refuses) {
    return FilterInputs::Changes{{0, std::make_shared<Teller>(first, "A")},
                                 {1, std::make_shared<Teller>(second, "B", refuses)}};
  };
  EXPECT_FALSE(FilterInputs::put_in_force(changes(true), rules));
  EXPECT_EQ(std::tuple(first, second, rules.id()), std::tuple("a", "b", before));

  // Others were told, and then there is no place for the rules.
  std::vector<RulesShare> shares;
  do shares.push_back(rules.current());
  while (rules.flush());
  const uint32_t last = rules.id();
  EXPECT_FALSE(FilterInputs::put_in_force(changes(false), rules));
  EXPECT_EQ(std::tuple(first, second, rules.id()), std::tuple("a", "b", last));
  shares.clear();
  EXPECT_TRUE(FilterInputs::put_in_force(changes(false), rules));
  EXPECT_EQ(std::tuple(first, second), std::tuple("A", "B"));
  EXPECT_EQ(rules.current()->canonical(), "module 0\nAmodule 1\nB");
}

TEST(Rules, TheDigestIsOfRangesAndModules) {
  const KeyIdentity identity{"", "", [](std::string_view text) { return std::string(text) + std::string(16, '-'); }};
  Rules rules;
  rules.modules = {std::make_shared<Module>("")};
  EXPECT_EQ(rules.digest(identity), "none");
  EXPECT_EQ(rules.digest({}), "none");
  rules.modules.push_back(std::make_shared<Module>("10.0.0.0/8\n"));
  EXPECT_EQ(rules.digest(identity), "module 1\n10.0.0.");
  EXPECT_EQ(rules.digest({}), "unkeyed");
  rules.ranges = list_of({"10.0.2.0/24"});
  EXPECT_EQ(rules.digest(identity), "10.0.2.0/24:eith");
}

// A source in one thread, the stages behind it in another; what ASan or TSan sees of it is the test, and that rules are
// whole and never go back.
TEST(RulesInForce, ChangeWhileBatchesPass) {
  RulesInForce rules;
  std::atomic<bool> over{false};
  constexpr size_t kPlaces = 8;
  struct Place {
    std::atomic<bool> full{false};
    RulesShare share;
  };
  std::array<Place, kPlaces> ring;
  std::thread source([&] {
    for (size_t at = 0; !over; at = (at + 1) % kPlaces) {
      while (ring[at].full && !over) std::this_thread::yield();
      if (over) return;
      ring[at].share = rules.current();
      ring[at].full = true;
    }
  });
  uint64_t taken = 0;
  std::thread stages([&] {
    uint32_t before = 0;
    for (size_t at = 0; !over; at = (at + 1) % kPlaces) {
      while (!ring[at].full && !over) std::this_thread::yield();
      if (over) return;
      const RulesShare share = std::move(ring[at].share);
      EXPECT_GE(share.id(), before);
      EXPECT_EQ(excludes(share, 0x0A000001), share.id() != 1);
      before = share.id();
      ++taken;
      ring[at].full = false;
    }
  });
  for (uint32_t i = 1; i < 400; ++i)
    while (!rules.set_ranges(list_of({"10.0.0.0/24", network(i)}))) std::this_thread::yield();
  over = true;
  source.join();
  stages.join();
  EXPECT_LE(rules.kept(), 1 + kPlaces);
}

}  // namespace
}  // namespace trama
