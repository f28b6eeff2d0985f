// Streams over a NATS server that stores nothing: what comes is live or lost, and no loss makes others.
#include <gmock/gmock.h>

#include "tests/libclient/nats_fixture.hpp"

namespace trama {
namespace {

using test::Nats;
using test::NatsPublisherThread;
using test::NatsServer;
using test::sample_window;

// With the lost ones, more come at once than may wait for a store that might have them.
TEST_F(Nats, AGapHoldsUpNobody) {
  const NatsServer server("jetstream: false");
  NatsPublisherThread publisher(config(server));
  await_said(publisher, "no JetStream");
  SubscribeOptions options;
  options.ahead = 8;
  Subscriber subscriber = subscribe(server, StartKind::live, 0, options);
  publish_at_once(publisher, 0, 6);
  for (uint64_t seq = 0; seq < 6; ++seq) expect_window(subscriber, seq);
  publish_at_once(publisher, 9, 15);
  for (uint64_t seq = 9; seq < 15; ++seq) expect_window(subscriber, seq, seq == 9 ? 3 : 0);
  publish_at_once(publisher, 1'000'000'000, 1'000'000'003);
  expect_window(subscriber, 1'000'000'000, 1'000'000'000 - 15);
  expect_window(subscriber, 1'000'000'001);
}

// That there is no store is known as soon as the server has said so: windows needn't wait for one then.
TEST_F(Nats, NothingIsHeldForAStoreThatIsNotThere) {
  const NatsServer server("jetstream: false");
  NatsPublisherThread publisher(config(server, 2));
  await_said(publisher, "no JetStream");
  Subscriber subscriber = subscribe(server, StartKind::live, 0);
  publish_at_once(publisher, 0, 7);
  for (uint64_t seq = 0; seq < 7; ++seq) expect_window(subscriber, seq);
}

}  // namespace
}  // namespace trama
