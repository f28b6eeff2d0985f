#include "control/metrics.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <regex>
#include <set>
#include <sstream>

#include "tests/control/running_graph.hpp"

namespace trama {
namespace {

using testing::HasSubstr;

TEST(MetricsAddress, Forms) {
  const struct {
    std::string text, right;
    bool loopback;
  } cases[] = {
      {"9100", "127.0.0.1:9100", true},
      {"0", "127.0.0.1:0", true},
      {"65535", "127.0.0.1:65535", true},
      {"127.1.2.3:9100", "127.1.2.3:9100", true},
      {"localhost:9100", "127.0.0.1:9100", true},
      {"0.0.0.0:9100", "0.0.0.0:9100", false},
      {"192.0.2.7:9100", "192.0.2.7:9100", false},
  };
  for (const auto& c : cases) {
    const auto address = MetricsAddress::parse(c.text);
    ASSERT_TRUE(address) << c.text;
    EXPECT_EQ(address->text(), c.right);
    EXPECT_EQ(address->is_loopback(), c.loopback) << c.text;
  }
  for (const char* wrong :
       {"", ":", ":9100", "x", "65536", "-1", "+1", "9100s", " 9100", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x",
        "example.net:9100", "1.2.3:9100", "[::1]:9100", "::1:9100", "127.0.0.1:9100,0.0.0.0:9101", "127.0.0.1:9100s"}) {
    const auto address = MetricsAddress::parse(wrong);
    ASSERT_FALSE(address) << wrong;
    EXPECT_THAT(address.error().hint, HasSubstr("9100 for this machine alone"));
  }
}

std::string text_of(const EngineStatus& status) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, metric_families(status));
  return text.str();
}

TEST(Metrics, FamiliesKeepTheRulesOfNames) {
  test::RunningGraph graph(test::small_graph());
  ASSERT_TRUE(graph.runtime->run());
  const auto families = metric_families(graph.state->status());
  std::set<std::string> names;
  for (const auto& family : families) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name << " is there twice";
    EXPECT_TRUE(std::regex_match(family.name, std::regex("trama_[a-z_]+[a-z]"))) << family.name;
    const bool counter = family.type == prometheus::MetricType::Counter;
    EXPECT_EQ(family.name.ends_with("_total"), counter) << family.name;
    EXPECT_FALSE(family.help.empty()) << family.name;
    EXPECT_FALSE(family.metric.empty()) << family.name;
    std::set<std::vector<prometheus::ClientMetric::Label>> labels;
    for (const auto& metric : family.metric) EXPECT_TRUE(labels.insert(metric.label).second) << family.name;
  }
}

TEST(Metrics, SaysWhatTheLedgerSays) {
  test::RunningGraph graph(test::small_graph());
  ASSERT_TRUE(graph.runtime->run());
  const std::string text = text_of(graph.state->status());
  for (const char* line : {"trama_packets_total{verdict=\"counted\"} 10500\n", "trama_packets_read_total 10500\n",
                           "trama_windows_total{kind=\"full\"} 10\n", "trama_windows_total{kind=\"partial\"} 1\n",
                           "trama_dropped_total{where=\"kernel\"} 0\n", "trama_stopping 0\n",
                           "trama_stage_messages_total{stage=\"null\",kind=\"null\",replica=\"0\"} 11\n",
                           "# TYPE trama_stage_busy_seconds_total counter\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(Metrics, LargeNumbersStayExact) {
  EngineStatus status;
  status.packets_read = 9'007'199'254'740'991;  // the last that a double holds, and half a year at 500 Mpps
  EXPECT_THAT(text_of(status), HasSubstr("trama_packets_read_total 9007199254740991\n"));
}

TEST(Metrics, NamesFromAGraphFileAreQuoted) {
  EngineStatus status;
  status.stages.push_back({"a\"b\\c\nd", "parse", 0, 0, {{}}});
  EXPECT_THAT(text_of(status), HasSubstr("stage=\"a\\\"b\\\\c\\nd\""));
}

std::string scrape(uint16_t port) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::string request = "GET /metrics HTTP/1.0\r\nHost: x\r\n\r\n";
  EXPECT_EQ(write(connection, request.data(), request.size()), static_cast<ssize_t>(request.size()));
  std::string answer;
  char piece[4096];
  for (ssize_t got; (got = read(connection, piece, sizeof piece)) > 0;) answer.append(piece, static_cast<size_t>(got));
  close(connection);
  return answer;
}

TEST(Metrics, AreServedUntilTheyGo) {
  test::RunningGraph graph(test::small_graph());
  const auto address = MetricsAddress::parse("0");
  auto metrics = Metrics::open(*address, *graph.state);
  ASSERT_TRUE(metrics) << metrics.error().text;
  std::smatch url;
  const std::string said = (*metrics)->url();
  ASSERT_TRUE(std::regex_match(said, url, std::regex("http://127\\.0\\.0\\.1:(\\d+)/metrics"))) << said;
  const auto port = static_cast<uint16_t>(std::stoi(url[1]));
  EXPECT_THAT(scrape(port), HasSubstr("trama_packets_total{verdict=\"counted\"} 0\n"));
  ASSERT_TRUE(graph.runtime->run());
  EXPECT_THAT(scrape(port), HasSubstr("trama_packets_total{verdict=\"counted\"} 10500\n"));

  const auto taken = MetricsAddress::parse("127.0.0.1:" + std::to_string(port));
  const auto second = Metrics::open(*taken, *graph.state);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().text, HasSubstr("can't listen at 127.0.0.1:" + std::to_string(port)));
  metrics->reset();
  EXPECT_TRUE(Metrics::open(*taken, *graph.state)) << "the port is free again";
}

}  // namespace
}  // namespace trama
