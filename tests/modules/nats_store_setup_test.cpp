// The queue of a publisher over NATS, and its conversation about the store, without a server.
#include "modules/support/nats_store_setup.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "modules/support/nats_outbox.hpp"

namespace trama {
namespace {

using nlohmann::json;

StreamFrame frame() { return {}; }

TEST(NatsOutbox, KeepsWhatIsNotAcknowledged) {
  NatsOutbox outbox(3);
  for (uint64_t seq = 0; seq < 3; ++seq) outbox.add(seq, frame());
  EXPECT_EQ(outbox.settled(), 0u);
  EXPECT_EQ(outbox.next(), 3u);
  outbox.stored(1);
  EXPECT_EQ(outbox.settled(), 0u);
  outbox.stored(0);
  outbox.stored(0);  // twice
  EXPECT_EQ(outbox.settled(), 2u);
  outbox.stored(2);
  EXPECT_EQ(outbox.settled(), 3u);
  EXPECT_TRUE(outbox.empty());
  EXPECT_EQ(outbox.totals().stored, 3u);
  outbox.pass(3);
  EXPECT_EQ(outbox.settled(), 4u);
}

TEST(NatsOutbox, GivesTheOldestUpAndCountsIt) {
  NatsOutbox outbox(2);
  for (uint64_t seq = 0; seq < 5; ++seq) outbox.add(seq, frame());
  EXPECT_EQ(outbox.size(), 2u);
  EXPECT_EQ(outbox.settled(), 3u);
  EXPECT_EQ(outbox.totals().given_up, 3u);
  outbox.stored(0);  // too late
  EXPECT_EQ(outbox.totals().stored, 0u);
  outbox.refuse_too_long(3);
  outbox.give_up_rest();
  EXPECT_EQ(outbox.totals().given_up, 4u);
  EXPECT_EQ(outbox.totals().too_long, 1u);
  EXPECT_EQ(outbox.settled(), 5u);
}

TEST(NatsOutbox, SendsInOrderAndAgainWhenItIsTime) {
  NatsOutbox outbox(4);
  outbox.add(0, frame());
  outbox.add(1, frame());
  const auto send = [&](int64_t now, bool again) -> int64_t {
    NatsOutbox::Entry* const entry = outbox.due(now, again);
    if (!entry) return -1;
    outbox.sent(*entry, now + 10);
    return static_cast<int64_t>(entry->seq);
  };
  EXPECT_EQ(send(1, true), 0);
  EXPECT_EQ(send(2, true), 1);
  EXPECT_EQ(send(3, true), -1);
  EXPECT_EQ(outbox.next_due_ns(), 11);
  EXPECT_EQ(send(11, false), -1);  // nobody there to store it
  EXPECT_EQ(send(11, true), 0);
  outbox.later(1, 100);
  EXPECT_EQ(send(20, true), -1);
  outbox.everything_again();
  EXPECT_EQ(send(20, true), 0);
  EXPECT_EQ(send(20, true), 1);
}

class NatsStoreSetupTest : public ::testing::Test {
 protected:
  static StreamUrl url() { return parse_stream_url("nats://127.0.0.1/trama.roof").value(); }
  static bool hear(NatsStoreSetup& setup, const std::string& text) {
    return setup.hear({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  static constexpr const char* kInUse = R"({"error":{"code":400,"err_code":10058,"description":"in use"}})";
  static json there() {
    return {{"config",
             {{"name", "trama-roof"},
              {"subjects", {"trama.roof.*.*"}},
              {"num_replicas", 3},
              {"allow_direct", true},
              {"max_msgs_per_subject", 1},
              {"max_bytes", 1000},
              {"max_age", 5'000'000'000}}}};
  }
};

TEST_F(NatsStoreSetupTest, MakesTheStreamAndItsMirror) {
  NatsStoreSetup setup(url(), {1000, 5'000'000'000, "hub"});
  const auto made = setup.question();
  ASSERT_TRUE(made);
  EXPECT_EQ(made->subject, "$JS.API.STREAM.CREATE.trama-roof");
  const json config = json::parse(made->body);
  EXPECT_EQ(config["subjects"], json({"trama.roof.*.*"}));
  EXPECT_EQ(config["max_bytes"], 1000);
  EXPECT_EQ(config["max_age"], 5'000'000'000);
  EXPECT_EQ(config["max_msgs_per_subject"], 1);
  EXPECT_TRUE(config["allow_direct"]);
  EXPECT_FALSE(setup.ready());
  EXPECT_TRUE(hear(setup, "{}"));
  EXPECT_TRUE(setup.ready());
  EXPECT_EQ(setup.question()->subject, "$JS.API.INFO");
  EXPECT_TRUE(hear(setup, R"({"domain":"leaf"})"));
  EXPECT_EQ(setup.question()->subject, "$JS.hub.API.STREAM.CREATE.trama-roof");
  EXPECT_EQ(json::parse(setup.question()->body)["mirror"]["external"]["api"], "$JS.leaf.API");
  EXPECT_TRUE(hear(setup, "{}"));
  EXPECT_FALSE(setup.question());
}

// One of that name is no mirror for its name alone.
TEST_F(NatsStoreSetupTest, LooksAtTheMirrorThatIsThere) {
  json copy = {{"config",
                {{"name", "trama-roof"},
                 {"mirror", {{"name", "trama-roof"}, {"external", {{"api", "$JS.leaf.API"}, {"deliver", ""}}}}},
                 {"allow_direct", true},
                 {"max_bytes", 1000},
                 {"max_age", 5'000'000'000}}}};
  const auto after_name_in_use = [] {
    NatsStoreSetup setup(url(), {1000, 5'000'000'000, "hub"});
    for (const char* answer : {"{}", R"({"domain":"leaf"})", kInUse}) EXPECT_TRUE(hear(setup, answer));
    EXPECT_EQ(setup.question()->subject, "$JS.hub.API.STREAM.INFO.trama-roof");
    return setup;
  };
  NatsStoreSetup fits = after_name_in_use();
  EXPECT_TRUE(hear(fits, copy.dump()));
  EXPECT_FALSE(fits.question());

  NatsStoreSetup smaller = after_name_in_use();
  copy["config"]["max_bytes"] = 10;
  EXPECT_TRUE(hear(smaller, copy.dump()));
  EXPECT_EQ(smaller.question()->subject, "$JS.hub.API.STREAM.UPDATE.trama-roof");
  EXPECT_EQ(json::parse(smaller.question()->body)["max_bytes"], 1000);
  EXPECT_TRUE(hear(smaller, "{}"));
  EXPECT_FALSE(smaller.question());

  // A copy that keeps more, or for ever, does so on purpose.
  for (const auto& [bytes, age] : {std::pair<int64_t, int64_t>{2000, 6'000'000'000}, {-1, 0}}) {
    NatsStoreSetup larger = after_name_in_use();
    copy["config"]["max_bytes"] = bytes;
    copy["config"]["max_age"] = age;
    EXPECT_TRUE(hear(larger, copy.dump()));
    EXPECT_FALSE(larger.question());
  }

  json of_another_leaf = copy, of_another_stream = copy, strange = copy;
  of_another_leaf["config"]["mirror"]["external"]["api"] = "$JS.cellar.API";
  of_another_stream["config"]["mirror"]["name"] = "trama-cellar";
  strange["config"]["mirror"] = "trama-roof";
  for (const json& other : {there(), of_another_leaf, of_another_stream, strange}) {
    NatsStoreSetup setup = after_name_in_use();
    EXPECT_FALSE(hear(setup, other.dump()));
    EXPECT_NE(setup.error().find("no copy of this one"), std::string::npos) << setup.error();
    EXPECT_NE(setup.hint().find("?store=NAME"), std::string::npos);
    EXPECT_TRUE(setup.ready());     // stored all the same
    EXPECT_TRUE(setup.question());  // and asks again
  }
}

TEST_F(NatsStoreSetupTest, FitsTheLimitsOfAStreamThatIsThere) {
  NatsStoreSetup setup(url(), {2000, 6'000'000'000, ""});
  EXPECT_TRUE(hear(setup, kInUse));
  EXPECT_EQ(setup.question()->subject, "$JS.API.STREAM.INFO.trama-roof");
  EXPECT_TRUE(hear(setup, there().dump()));
  EXPECT_FALSE(setup.ready());
  EXPECT_EQ(setup.question()->subject, "$JS.API.STREAM.UPDATE.trama-roof");
  const json config = json::parse(setup.question()->body);
  EXPECT_EQ(config["max_bytes"], 2000);
  EXPECT_EQ(config["max_age"], 6'000'000'000);
  EXPECT_EQ(config["num_replicas"], 3);  // as somebody wanted
  EXPECT_TRUE(hear(setup, "{}"));
  EXPECT_TRUE(setup.ready());
  EXPECT_FALSE(setup.question());
}

TEST_F(NatsStoreSetupTest, MakesWhatWasRemovedInBetween) {
  constexpr const char* kGone = R"({"error":{"err_code":10059,"description":"stream not found"}})";
  NatsStoreSetup setup(url(), {1000, 5'000'000'000, "hub"});
  EXPECT_FALSE(hear(setup, kGone));  // what is to be made can't be gone: it is asked for again
  EXPECT_EQ(setup.question()->subject, "$JS.API.STREAM.CREATE.trama-roof");
  EXPECT_TRUE(hear(setup, kInUse));
  EXPECT_FALSE(hear(setup, kGone));
  EXPECT_EQ(setup.question()->subject, "$JS.API.STREAM.CREATE.trama-roof");
  EXPECT_TRUE(hear(setup, "{}"));
  EXPECT_TRUE(hear(setup, R"({"domain":"leaf"})"));
  EXPECT_TRUE(hear(setup, kInUse));
  EXPECT_FALSE(hear(setup, kGone));
  EXPECT_EQ(setup.question()->subject, "$JS.hub.API.STREAM.CREATE.trama-roof");
}

TEST_F(NatsStoreSetupTest, AnswersOfTheWrongKindAreRefused) {
  for (const char* const wrong : {R"({"config":7})", R"({})"}) {
    NatsStoreSetup setup(url(), {1000, 5'000'000'000, ""});
    EXPECT_TRUE(hear(setup, kInUse));
    EXPECT_FALSE(hear(setup, wrong)) << wrong;
  }
  for (const char* const name : {"allow_direct", "max_bytes", "max_age", "duplicate_window", "max_msgs_per_subject"}) {
    NatsStoreSetup setup(url(), {2000, 5'000'000'000, ""});
    json config = there();
    config["config"][name] = json::array();
    EXPECT_TRUE(hear(setup, kInUse));
    EXPECT_FALSE(hear(setup, config.dump())) << name;
    EXPECT_NE(setup.error().find("makes no sense"), std::string::npos) << setup.error();
  }
}

TEST_F(NatsStoreSetupTest, LeavesAStreamThatFitsAlone) {
  NatsStoreSetup setup(url(), {1000, 5'000'000'000, ""});
  EXPECT_TRUE(hear(setup, kInUse));
  EXPECT_TRUE(hear(setup, there().dump()));
  EXPECT_TRUE(setup.ready());
}

TEST_F(NatsStoreSetupTest, RefusesStreamsThatWindowsCanNotBeFoundIn) {
  json other = there(), many = there();
  other["config"]["subjects"] = {"trama-roof.*.*"};
  many["config"]["max_msgs_per_subject"] = -1;
  for (const auto& [config, hint] : {std::pair{other, "store=NAME"}, std::pair{many, "max_msgs_per_subject"}}) {
    NatsStoreSetup setup(url(), {1000, 5'000'000'000, ""});
    EXPECT_TRUE(hear(setup, kInUse));
    EXPECT_FALSE(hear(setup, config.dump()));
    EXPECT_NE(setup.hint().find(hint), std::string::npos) << setup.hint();
    EXPECT_FALSE(setup.ready());
    EXPECT_TRUE(setup.question());  // and asks again
  }
}

TEST_F(NatsStoreSetupTest, SaysWhatTheServerSays) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no JetStream"},
      {"[]", "no JetStream"},
      {"\xff{", "no JetStream"},
      {R"({"error":{"err_code":10047,"description":"insufficient storage"}})", "insufficient storage"},
      {R"({"error":{}})", "JetStream says"},
      {R"({"error":{"err_code":"x","description":7}})", "JetStream says"},
  };
  for (const auto& [answer, text] : cases) {
    NatsStoreSetup setup(url(), {});
    EXPECT_FALSE(hear(setup, answer)) << answer;
    EXPECT_NE(setup.error().find(text), std::string::npos) << setup.error();
  }
  NatsStoreSetup without_domain(url(), {1000, 1000, "hub"});
  EXPECT_TRUE(hear(without_domain, "{}"));
  EXPECT_FALSE(hear(without_domain, "{}"));
  EXPECT_TRUE(without_domain.ready());  // stored all the same
  EXPECT_NE(without_domain.hint().find("leaf.conf"), std::string::npos);
}

TEST_F(NatsStoreSetupTest, WhatAWindowIsRefusedForMayBeAnything) {
  const auto refusal = [](const std::string& text) {
    return NatsStoreSetup::refusal_in({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  };
  EXPECT_EQ(refusal(R"({"error":{"description":"maximum bytes exceeded"}})"), "maximum bytes exceeded");
  for (const std::string& text :
       {std::string(R"({"error":{"description":7}})"), std::string("\"error\""), std::string(1 << 20, '['),
        R"({"error":{"description":")" + std::string(1 << 20, 'x') + "\"}}"})
    EXPECT_EQ(refusal(text), "nothing that makes sense");
}

}  // namespace
}  // namespace trama
