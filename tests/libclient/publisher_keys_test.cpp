// Who may subscribe to a publisher with keys.
#include "modules/support/stream_keys.hpp"
#include "tests/libclient/publisher_fixture.hpp"

namespace trama {
namespace {

using namespace std::chrono_literals;
using test::Publisher;
using test::PublisherThread;
using test::sample_window;

TEST_F(Publisher, WithKeysOnlyThoseOnTheListGetIn) {
  const test::ScratchFolder folder;
  for (const char* name : {"publisher", "friend", "stranger"})
    if (auto made = make_stream_key(folder / name); !made) GTEST_SKIP() << made.error().text;
  EXPECT_FALSE(make_stream_key(folder / "friend"));  // never over a file
  const std::string friends = *load_stream_public(folder / "friend.pub");
  test::write_file(folder / "clients", "# those who may\n\n" + friends + "\n");
  StreamConfig with_keys = config();
  auto keys = load_stream_keys(folder / "publisher", folder / "clients");
  ASSERT_TRUE(keys) << keys.error().text;
  with_keys.keys = *keys;
  PublisherThread publisher(with_keys, any_port());
  SubscribeOptions options;
  options.keys = {*load_stream_public(folder / "publisher.pub"), *load_stream_secret(folder / "friend")};
  Subscriber welcome = subscribe(publisher.url().text(), options);
  publish(publisher, 0, 2);
  EXPECT_EQ(take_all(welcome, kPatience, 2).taken, 2u);

  options.reconnect = false;
  options.keys.secret = *load_stream_secret(folder / "stranger");
  auto stranger = Subscriber::open(publisher.url().text(), options);
  EXPECT_EQ(take_all(*stranger).outcome, Outcome::error);
  options.keys = {};
  auto plain = Subscriber::open(publisher.url().text(), options);
  EXPECT_EQ(take_all(*plain).outcome, Outcome::error);
  options.keys = {*load_stream_public(folder / "stranger.pub"), *load_stream_secret(folder / "friend")};
  auto mistaken = Subscriber::open(publisher.url().text(), options);
  EXPECT_EQ(take_all(*mistaken).outcome, Outcome::error);
  EXPECT_EQ(publisher.totals().joined, 1u);
  // One that isn't on the list, one without a key, one with another publisher's: each is counted.
  await([&] {
    uint64_t shut_out = 0;
    publisher.run([&](StreamPublisher& p) { shut_out = p.shut_out(); });
    return shut_out >= 3;
  });
}

TEST(StreamKeys, FilesThatCanNotBeUsedAreNamed) {
  const test::ScratchFolder folder;
  test::write_file(folder / "short", std::string("abc\n"));
  EXPECT_FALSE(load_stream_public(folder / "short"));
  EXPECT_FALSE(load_stream_public(folder / "missing"));
  if (!make_stream_key(folder / "key")) GTEST_SKIP() << "no encryption here";
  std::filesystem::permissions(folder / "key", std::filesystem::perms(0640));
  const auto open_to_others = load_stream_secret(folder / "key");
  ASSERT_FALSE(open_to_others);
  EXPECT_NE(open_to_others.error().hint.find("chmod"), std::string::npos);
  std::filesystem::permissions(folder / "key", std::filesystem::perms(0600));
  EXPECT_TRUE(load_stream_secret(folder / "key"));
  // Both kinds look alike, but for their names and modes.
  const auto secret_given = load_stream_public(folder / "key");
  ASSERT_FALSE(secret_given);
  EXPECT_EQ(secret_given.error().text, "this is the secret key");
  EXPECT_NE(secret_given.error().hint.find("key.pub"), std::string::npos);
  std::filesystem::copy_file(folder / "key", folder / "alone");
  EXPECT_FALSE(load_stream_public(folder / "alone"));
  std::filesystem::copy_file(folder / "key.pub", folder / "copy");
  EXPECT_TRUE(load_stream_public(folder / "copy"));
  EXPECT_TRUE(load_stream_public(folder / "key.pub"));
  const auto public_given = load_stream_secret(folder / "key.pub");
  ASSERT_FALSE(public_given);
  EXPECT_EQ(public_given.error().text, "this is a public key");
  test::write_file(folder / "clients", std::string("nonsense\n"));
  const auto keys = load_stream_keys(folder / "key", folder / "clients");
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.error().place.line, 1);
}

}  // namespace
}  // namespace trama
