#include "ebpf/port_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ebpf/trama_filter.h"

namespace trama::ebpf {
namespace {

using testing::HasSubstr;

TEST(PortText, ReadsWhatItWrites) {
  const std::pair<const char*, uint32_t> cases[] = {{"any", 0},
                                                    {"tcp", TRAMA_PORT_KEY(6, 0)},
                                                    {"tcp/443", TRAMA_PORT_KEY(6, 443)},
                                                    {"udp/65535", TRAMA_PORT_KEY(17, 65535)},
                                                    {"icmp6", TRAMA_PORT_KEY(58, 0)},
                                                    {"89/0", TRAMA_PORT_KEY(89, 0)}};
  for (const auto& [text, key] : cases) {
    SCOPED_TRACE(text);
    EXPECT_EQ(port_text(key), text);
    ASSERT_TRUE(port_key_of(text));
    EXPECT_EQ(*port_key_of(text), key);
  }
  EXPECT_EQ(*port_key_of("any/0"), 0u);
  EXPECT_EQ(*port_key_of("6/0x1bb"), TRAMA_PORT_KEY(6, 443));
  for (uint32_t protocol = 0; protocol < 300; ++protocol)
    for (const uint32_t port : {0u, 1u, 443u, 65535u}) {
      const std::string text = port_text(protocol << 16 | port);
      if (text.empty()) continue;
      ASSERT_TRUE(port_key_of(text)) << text;
      EXPECT_EQ(*port_key_of(text), protocol << 16 | port) << text;
    }
}

TEST(PortText, KeysThatNoEntryHasHaveNone) {
  for (const uint32_t key : {TRAMA_PORT_KEY(0, 443), TRAMA_PORT_KEY(1, 8), TRAMA_PORT_KEY(256, 0)})
    EXPECT_EQ(port_text(key), "");
}

TEST(PortText, RefusalsSayWhatMendsThem) {
  for (const char* never : {"any/443", "icmp/8", "47/1"}) {
    SCOPED_TRACE(never);
    ASSERT_FALSE(port_key_of(never));
    EXPECT_THAT(port_key_of(never).error().text, HasSubstr("would never be met"));
    EXPECT_THAT(port_key_of(never).error().hint, HasSubstr("tcp/443 and udp/443"));
    EXPECT_THAT(port_key_of(never).error().text, Not(HasSubstr(never)));
  }
  for (const char* none : {"", "tpc/443", "tcp/", "tcp/65536", "256/0", "tcp/x", "6"}) {
    SCOPED_TRACE(none);
    ASSERT_FALSE(port_key_of(none));
    EXPECT_THAT(port_key_of(none).error().text, HasSubstr("no protocol and port"));
  }
}

}  // namespace
}  // namespace trama::ebpf
