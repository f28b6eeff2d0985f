#include "control/run_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scratch_folder.hpp"

namespace trama {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RunOptions read(const Arguments& arguments) {
  auto options = parse_run_options(arguments);
  EXPECT_TRUE(options.has_value()) << options.error().text;
  return options ? *options : RunOptions();
}

TEST(RunOptions, ReadsAllOfThem) {
  const RunOptions options = read({"-r",
                                   "a.pcap",
                                   "-r",
                                   "-",
                                   "-w",
                                   "out",
                                   "--key",
                                   "k",
                                   "--window-packets",
                                   "1000",
                                   "--windows-per-archive",
                                   "8",
                                   "--compression",
                                   "zstd",
                                   "--index-order",
                                   "raw",
                                   "--replicas",
                                   "parse=2",
                                   "--workers",
                                   "3",
                                   "--set",
                                   "stages.archive.sync=window",
                                   "--exclude",
                                   "10.0.0.0/8:both",
                                   "--exclude-file",
                                   "e",
                                   "--summary",
                                   "s",
                                   "--duration",
                                   "2.5",
                                   "--packets",
                                   "7",
                                   "--sensor",
                                   "roof",
                                   "--user",
                                   "nobody",
                                   "--socket",
                                   "a.sock",
                                   "--metrics",
                                   "0.0.0.0:9100",
                                   "-q",
                                   "-v",
                                   "--core"});
  EXPECT_THAT(options.read, ElementsAre("a.pcap", "-"));
  EXPECT_EQ(options.directory, "out");
  EXPECT_EQ(options.key_file, "k");
  EXPECT_EQ(options.window_packets, 1000u);
  EXPECT_EQ(options.windows_per_archive, 8u);
  EXPECT_EQ(options.compression, "zstd");
  EXPECT_EQ(options.index_order, "raw");
  EXPECT_THAT(options.replicas, ElementsAre("parse=2"));
  EXPECT_EQ(options.workers, 3u);
  EXPECT_THAT(options.set, ElementsAre("stages.archive.sync=window"));
  EXPECT_THAT(options.exclude, ElementsAre("10.0.0.0/8:both"));
  EXPECT_THAT(options.exclude_files, ElementsAre("e"));
  EXPECT_EQ(options.summary, "s");
  EXPECT_EQ(options.duration_s, 2.5);
  EXPECT_EQ(options.packets, 7u);
  EXPECT_EQ(options.sensor, "roof");
  EXPECT_EQ(options.user, "nobody");
  EXPECT_EQ(options.socket, "a.sock");
  ASSERT_TRUE(options.metrics);
  EXPECT_EQ(options.metrics->text(), "0.0.0.0:9100");
  EXPECT_TRUE(options.quiet && options.verbose && options.core);
  EXPECT_FALSE(options.ephemeral_key || options.no_anonymize || options.graph_file);
  EXPECT_EQ(options.expression, "");
}

TEST(RunOptions, TellsGraphFileAndFilterExpressionApart) {
  const struct {
    Arguments arguments;
    const char *graph, *expression;
  } cases[] = {
      {{"-r", "a", "tcp", "and", "port", "80"}, nullptr, "tcp and port 80"},
      {{"-r", "a", "--", "tcp[0]", "-", "1"}, nullptr, "tcp[0] - 1"},
      {{"-r", "a", "tcp", "-w", "out", "port 80"}, nullptr, "tcp port 80"},
      {{"-r", "a", "udp", "--", "and", "-q"}, nullptr, "udp and -q"},
      {{"site.toml"}, "site.toml", ""},
      {{"site.toml", "-r", "a", "udp"}, "site.toml", "udp"},
      {{"-q", "site.toml", "--", "udp"}, "site.toml", "udp"},
      {{"-r", "a", "--", "site.toml"}, nullptr, "site.toml"},
      {{"-r", "a", "udp", "site.toml"}, nullptr, "udp site.toml"},
  };
  for (const auto& right : cases) {
    SCOPED_TRACE(testing::PrintToString(right.arguments));
    const RunOptions options = read(right.arguments);
    EXPECT_EQ(options.graph_file, right.graph ? std::optional<std::string>(right.graph) : std::nullopt);
    EXPECT_EQ(options.expression, right.expression);
  }
}

TEST(RunOptions, RefusesWhatMakesNoSense) {
  const struct {
    Arguments arguments;
    const char *text, *hint;
  } cases[] = {
      {{}, "nothing to read", "trama run -r"},
      {{"-w", "out", "tcp"}, "nothing to read", "trama run -r"},
      {{"-r", "a", "--key", "k", "--no-anonymize"}, "exclude each other", ""},
      {{"-r", "a", "--ephemeral-key", "--no-anonymize"}, "exclude each other", ""},
      {{"-r", "a", "--window-packet", "5"}, "--window-packet", "--window-packets"},
      {{"-i", "eth0", "-r", "a"}, "-i and -r exclude each other", ""},
      {{"-i", "dpdk:0", "-i", "eth0"}, "-i dpdk:0 and -i eth0 can't be captured from together", "one source"},
      {{"site.toml", "-i", "eth0", "-i", "xdp:eth1"}, "can't be captured from together", "one source"},
      {{"-i", "dpdk:"}, "-i dpdk: names no device", "-i dpdk:all"},
      {{"-i", "xdp:eth1", "-i", "xdp:"}, "-i xdp: names no interface", "-i xdp:eth1"},
      {{"-i", ""}, "-i \"\" names no interface", "-i any"},
      {{"-r", "a", "--metrics", "x:1"}, "--metrics is a port", "9100"},
      {{"-r", "a", "-p"}, "-p is for live capture", "-i"},
      {{"-r", "a", "--window-timeout", "3"}, "--window-timeout is for live capture", "-i"},
      {{"-i", "eth0", "--window-timeout", "0"}, "--window-timeout", ""},
      {{"-r", "a", "--window-packets", "0"}, "--window-packets", ""},
      {{"-r", "a", "--window-packets", "67108865"}, "--window-packets", ""},
      {{"-r", "a", "--compression", "gzip"}, "--compression", "lz4, zstd, none"},
  };
  for (const auto& wrong : cases) {
    SCOPED_TRACE(testing::PrintToString(wrong.arguments));
    const auto options = parse_run_options(wrong.arguments);
    ASSERT_FALSE(options.has_value());
    EXPECT_THAT(options.error().text, HasSubstr(wrong.text));
    EXPECT_THAT(options.error().hint, HasSubstr(wrong.hint));
  }
}

TEST(RunOptions, ReadsThoseOfLiveCapture) {
  const RunOptions options = read({"-i", "eth0", "-i", "eth1", "-p", "--window-timeout", "2.5", "udp", "port", "53"});
  EXPECT_THAT(options.interfaces, ElementsAre("eth0", "eth1"));
  EXPECT_TRUE(options.not_promiscuous);
  EXPECT_EQ(options.window_timeout_s, 2.5);
  EXPECT_EQ(options.expression, "udp port 53");
  EXPECT_FALSE(read({"-r", "a"}).not_promiscuous);
}

TEST(RunOptions, NoticesAShellsWildcard) {
  const test::ScratchFolder folder;
  test::write_file(folder / "b.pcap", std::string("x"));
  const auto options = parse_run_options({"-r", "a.pcap", (folder / "b.pcap").string()});
  ASSERT_FALSE(options.has_value());
  EXPECT_THAT(options.error().hint, HasSubstr("-r before each file"));
}

}  // namespace
}  // namespace trama
