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
      {"nats://x:1/roof", "not in this version"},
      {"trama+tcp://127.0.0.1", "without a port"},
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

}  // namespace
}  // namespace trama
