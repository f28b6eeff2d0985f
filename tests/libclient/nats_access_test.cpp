// Who a publisher or subscriber is to a NATS server.
#include <gmock/gmock.h>

#include "tests/libclient/nats_fixture.hpp"

namespace trama {
namespace {

using namespace std::chrono_literals;
using test::Nats;
using test::NatsPublisherThread;
using test::NatsServer;
using test::sample_window;
using testing::HasSubstr;

TEST_F(Nats, AWrongPasswordIsSaidWithoutIt) {
  const NatsServer server("authorization { user: me, password: sesame }", "me:guess@");
  NatsPublisherThread publisher(config(server));
  await_said(publisher, "no connection");
  for (const Diagnostic& said : publisher.said()) EXPECT_EQ((said.text + said.hint).find("guess"), std::string::npos);
  SubscribeOptions options;
  options.reconnect = false;
  auto subscriber = Subscriber::open(server.url(), options);
  const Next next = subscriber->next(kPatience);
  EXPECT_EQ(next.outcome, Outcome::error);
  EXPECT_EQ(next.error.text.find("guess"), std::string::npos) << next.error.text;
}

TEST_F(Nats, WithoutAServerASubscriberThatDoesNotWaitIsTold) {
  NatsServer server;
  server.kill();
  SubscribeOptions options;
  options.reconnect = false;
  auto subscriber = Subscriber::open(server.url(), options);
  const Next next = subscriber->next(kPatience);
  EXPECT_EQ(next.outcome, Outcome::error);
  EXPECT_THAT(next.error.text, HasSubstr("no connection"));
}

TEST_F(Nats, OfAServerThatIsStoppedInOrderItIsSaidWhyThereIsNone) {
  NatsServer server;
  NatsPublisherThread publisher(config(server));
  await_said(publisher, "publishing at");
  server.stop();
  await_said(publisher, "no connection");
  for (const Diagnostic& said : publisher.said())
    EXPECT_EQ(said.text.find_last_not_of(": "), said.text.size() - 1) << said.text;
}

TEST(NatsAccess, FilesThatCanNotBeUsedAreNamed) {
  const test::ScratchFolder folder;
  test::write_file(folder / "text", std::string("abc\n"));
  test::write_file(folder / "login", std::string("me:sesame\n"));
  const std::string text = folder / "text", login = folder / "login", missing = folder / "missing";
  std::filesystem::permissions(login, std::filesystem::perms(0600));
  EXPECT_EQ(NatsAccess::load("", "", "", "", login)->password, "sesame");
  EXPECT_THAT(NatsAccess::load(text, "", "", "", "").error().text, HasSubstr("PEM"));
  EXPECT_THAT(NatsAccess::load(missing, "", "", "", "").error().text, HasSubstr(missing));
  EXPECT_THAT(NatsAccess::load("", text, "", "", "").error().text, HasSubstr("together"));
  EXPECT_THAT(NatsAccess::load("", text, "", "", "").error().hint, HasSubstr("give both"));
  EXPECT_THAT(NatsAccess::load("", "", "", missing, "").error().text, HasSubstr(missing));
  EXPECT_THAT(NatsAccess::load("", "", "", login, login).error().text, HasSubstr("exclude"));
  EXPECT_THAT(NatsAccess::load("", "", "", login, "").error().text, HasSubstr("JWT"));
  const std::string credentials = folder / "credentials";
  test::write_file(credentials,
                   std::string("-----BEGIN NATS USER JWT-----\neyJ0.abc\n------END NATS USER JWT------\n\n"
                               "-----BEGIN USER NKEY SEED-----\r\nSUAB\r\n------END USER NKEY SEED------\n"));
  std::filesystem::permissions(credentials, std::filesystem::perms(0600));
  const auto access = NatsAccess::load("", "", "", credentials, "");
  ASSERT_TRUE(access) << access.error().text;
  EXPECT_EQ(access->user_jwt, "eyJ0.abc");
  EXPECT_EQ(access->user_seed, "SUAB");
  std::filesystem::permissions(login, std::filesystem::perms(0640));
  EXPECT_THAT(NatsAccess::load("", "", "", "", login).error().hint, HasSubstr("chmod"));
}

}  // namespace
}  // namespace trama
