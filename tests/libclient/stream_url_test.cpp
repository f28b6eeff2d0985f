#include "libclient/formats/stream_url.hpp"

#include <gtest/gtest.h>

namespace trama {
namespace {

TEST(StreamUrl, IsTakenApart) {
  struct Case {
    const char *url, *endpoint, *stream, *path;
    bool stays;
  };
  const Case cases[] = {
      {"trama+tcp://127.0.0.1:7801/roof", "tcp://127.0.0.1:7801", "roof", "", true},
      {"trama+tcp://127.0.0.1:0", "tcp://127.0.0.1:0", "", "", true},
      {"trama+tcp://localhost:7801/a/b", "tcp://127.0.0.1:7801", "a/b", "", true},
      {"trama+tcp://[::1]:65535/x", "tcp://[::1]:65535", "x", "", true},
      {"trama+tcp://*:7801", "tcp://*:7801", "", "", false},
      {"trama+tcp://0.0.0.0:7801", "tcp://0.0.0.0:7801", "", "", false},
      {"trama+tcp://127.example.org:1/x", "tcp://127.example.org:1", "x", "", false},
      {"trama+tcp://localhost.example.org:1/x", "tcp://localhost.example.org:1", "x", "", false},
      {"trama+ipc:///run/trama/a.sock", "ipc:///run/trama/a.sock", "", "/run/trama/a.sock", true},
      {"trama+ipc://a.sock", "ipc://a.sock", "", "a.sock", true},
      {"file:///var/lib/trama%20out", "", "", "/var/lib/trama out", true},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.url);
    const auto url = parse_stream_url(one.url);
    ASSERT_TRUE(url) << url.error().text;
    const bool is_file = url->way == StreamUrl::Way::file;
    EXPECT_EQ(is_file ? "" : url->endpoint(), one.endpoint);
    EXPECT_EQ(url->stream, one.stream);
    EXPECT_EQ(url->path, one.path);
    EXPECT_EQ(url->stays_on_machine(), one.stays);
    EXPECT_EQ(is_file ? one.url : url->text(), one.url);
  }
}

TEST(StreamUrl, IsRefusedWithTheReason) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "not the URL"},
      {"http://x:1", "not the URL"},
      {"nats://x:1", "subject"},
      {"nats://x:1/", "subject"},
      {"nats://x:1/roof.*", "subject"},
      {"nats://x:1/roof..a", "subject"},
      {"nats://x:1/$JS.roof", "subject"},
      {"nats://x:0/roof", "port"},
      {"nats://:1/roof", "host"},
      {"nats://:secret@x:1/roof", "user"},
      {"nats://us%er:secret@x:1/roof", "user"},
      {"nats://x:1/roof?color=red", "store=NAME"},
      {"nats://x:1/roof?store=a.b", "no name"},
      {"nats://x:1/" + std::string(256, 'x'), "255"},
      {"trama+tcp://127.0.0.1", "without a port"},
      {"trama+tcp://me:secret@127.0.0.1:7801/roof", "a URL with a login"},
      {"trama+tcp://127.0.0.1:", "without a port"},
      {"trama+tcp://127.0.0.1:65536", "port"},
      {"trama+tcp://127.0.0.1:7x", "port"},
      {"trama+tcp://:7801", "host"},
      {"trama+tcp://::1:7801", "brackets"},
      {"trama+tcp://a:1/" + std::string(256, 'x'), "255"},
      {"trama+ipc://", "path"},
      {"trama+ipc:///" + std::string(200, 'x'), "107"},
      {"file://relative", "whole path"},
      {"file:///a%2", "%"},
      {"file:///a%00b", "%"},
      {"trama+ipc:///a\nb", "control"},
  };
  for (const auto& [url, what] : cases) {
    SCOPED_TRACE(url);
    const auto parsed = parse_stream_url(url);
    ASSERT_FALSE(parsed);
    EXPECT_NE(parsed.error().text.find(what), std::string::npos) << parsed.error().text;
  }
}

TEST(StreamUrl, OfNatsIsTakenApart) {
  struct Case {
    const char *url, *host, *subject, *user, *password, *text;
    uint16_t port;
    bool encrypted, stays;
  };
  const Case cases[] = {
      {"nats://127.0.0.1:4222/trama.roof", "127.0.0.1", "trama.roof", "", "", "nats://127.0.0.1:4222/trama.roof", 4222,
       false, true},
      {"nats://hub/roof", "hub", "roof", "", "", "nats://hub:4222/roof", 4222, false, false},
      {"nats+tls://[::1]/roof", "::1", "roof", "", "", "nats+tls://[::1]:4222/roof", 4222, true, true},
      {"nats+tls://me:se%40c%3Aret@hub:1/roof?store=a&domain=b", "hub", "roof", "me", "se@c:ret",
       "nats+tls://hub:1/roof?store=a&domain=b", 1, true, false},
      {"nats://token@hub:1/roof", "hub", "roof", "token", "", "nats://hub:1/roof", 1, false, false},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.url);
    const auto url = parse_stream_url(one.url);
    ASSERT_TRUE(url) << url.error().text;
    EXPECT_EQ(url->host, one.host);
    EXPECT_EQ(url->port, one.port);
    EXPECT_EQ(url->stream, one.subject);
    EXPECT_EQ(url->user, one.user);
    EXPECT_EQ(url->password, one.password);
    EXPECT_EQ(url->encrypted, one.encrypted);
    EXPECT_EQ(url->stays_on_machine(), one.stays);
    EXPECT_EQ(url->text(), one.text);
  }
}

TEST(StreamUrl, PasswordsAreNotShown) {
  EXPECT_EQ(shown_stream_url("nats://me:secret@hub:1/roof"), "nats://hub:1/roof");
  EXPECT_EQ(shown_stream_url("nats+tls://me:s@cr@t@hub/*"), "nats+tls://hub/*");  // also one that is refused
  EXPECT_EQ(shown_stream_url("trama+tcp://127.0.0.1:1/a@b"), "trama+tcp://127.0.0.1:1/a@b");
}

}  // namespace
}  // namespace trama
