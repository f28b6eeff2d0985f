// trama filter, as users call it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "control/verbs.hpp"
#include "tests/control/said.hpp"
#include "tests/support/capture_builder.hpp"
#include "tests/support/filter_objects.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/scratch_folder.hpp"

namespace trama {
namespace {

using test::of_tests;
using test::Said;
using test::shipped;
using testing::AllOf;
using testing::HasSubstr;

Said say(const Arguments& arguments) {
  return test::listen([&] { return filter_verb(arguments); });
}

class FilterRun : public testing::Test {
 protected:
  FilterRun() {
    test::PcapBuilder capture;
    for (uint32_t i = 0; i < 10; ++i)
      capture.packet(ethernet_ipv4_packet((i < 4 ? 0x0A000000 : 0x0B000000) + i, 0xC0000201), i);
    test::write_file(folder_ / "a.pcap", capture.bytes());
    capture_ = (folder_ / "a.pcap").string();
  }
  const test::ScratchFolder folder_;
  std::string capture_;
};

TEST(Filter, CheckSaysWhatAModuleNeeds) {
  const Said good = say({"check", shipped("privacy_ranges")});
  EXPECT_EQ(good.status, kDone);
  EXPECT_EQ(good.err, "");
  EXPECT_THAT(good.out,
              AllOf(HasSubstr("XDP_DROP      excluded\n"), HasSubstr("bpf_map_lookup_elem"), HasSubstr("any number"),
                    HasSubstr("ranges_v4"), HasSubstr("reads them only"), HasSubstr("    kernel      fits; ")));
  const Said odd = say({"check", of_tests("verdicts")});
  EXPECT_EQ(odd.status, kDone);
  EXPECT_THAT(odd.out, AllOf(HasSubstr("not declared"), HasSubstr("works on a copy"), HasSubstr("one: it writes"),
                             HasSubstr("refused, unless the module declares"),
                             HasSubstr("    kernel      no: verdicts.bpf.o writes into packets")));
}

TEST(Filter, CheckSaysWhatIsRefusedAndWhy) {
  const std::pair<std::string, const char*> cases[] = {{of_tests("core_relocation"), "CO-RE"},
                                                       {of_tests("only_tc"), "XDP"},
                                                       {of_tests("unsupported_map"), "map"},
                                                       {"/nowhere/x.bpf.o", "No such file"}};
  for (const auto& [path, expected] : cases) {
    SCOPED_TRACE(path);
    const Said said = say({"check", path});
    EXPECT_EQ(said.status, kMisused);
    EXPECT_EQ(said.out, "");
    EXPECT_THAT(said.err, AllOf(HasSubstr("error"), HasSubstr(expected)));
  }
}

TEST_F(FilterRun, CountsVerdictsAndShowsMaps) {
  const Said text = say({"run", shipped("privacy_ranges"), "-r", capture_, "--range", "10.0.0.0/8:source"});
  EXPECT_EQ(text.status, kDone) << text.err;
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("10 packets: 6 passed, 4 excluded, 0 filtered, 0 fault"), HasSubstr("XDP_DROP 4"),
                    HasSubstr("ns a packet"), HasSubstr("10.0.0.0/8 = 1"), HasSubstr("0 = 6 384")));
  const Said said =
      say({"run", shipped("prefix_count"), "-r", capture_, "--map", "prefixes_v4: 11.0.0.0/8 = 3", "--json"});
  const auto json = nlohmann::json::parse(said.out);
  EXPECT_EQ(json["packets"], 10);
  EXPECT_EQ(json["decisions"]["passed"], 10);
  EXPECT_EQ(json["verdicts"]["XDP_PASS"], 10);
  EXPECT_EQ(json["maps"]["counters"]["3"], "6 384 0 0");
  EXPECT_EQ(json["maps"]["prefixes_v4"]["11.0.0.0/8"], "3");
  EXPECT_GE(json["ns_a_packet"], 0.0);
}

TEST_F(FilterRun, ShowsPortsAsTheyAreWritten) {
  const Arguments arguments = {"run",   shipped("ports"), "-r",    capture_,        "--map", "ports: tcp/443 = 1",
                               "--map", "ports: udp = 1", "--map", "ports: any = 2"};
  EXPECT_THAT(say(arguments).out,
              AllOf(HasSubstr("  tcp/443 = 1\n"), HasSubstr("  udp = 1\n"), HasSubstr("  any = 2\n")));
  const Said never = say({"run", shipped("ports"), "-r", capture_, "--map", "ports: any/443 = 1"});
  EXPECT_EQ(never.status, kMisused);
  EXPECT_THAT(never.err, AllOf(HasSubstr("would never be met"), HasSubstr("tcp/443 and udp/443")));
}

TEST_F(FilterRun, SaysWhatRunsTheModule) {
  const Arguments machine_code = {"run", shipped("template"), "-r", capture_, "--map", "wanted: 17 = 1"};
  Arguments interpreted = machine_code;
  interpreted.push_back("--interpreter");
  EXPECT_THAT(say(machine_code).out, HasSubstr("machine code, processor time"));
  EXPECT_THAT(say(interpreted).out, AllOf(HasSubstr("interpreter, processor time"), HasSubstr("10 packets")));
  interpreted.push_back("--json");
  EXPECT_EQ(nlohmann::json::parse(say(interpreted).out)["engine"], "interpreter");
  EXPECT_THAT(say({"check", shipped("template")}).out, HasSubstr("runs as       machine code"));
}

TEST_F(FilterRun, SaysTheFirstFault) {
  const Said said = say({"run", of_tests("verdicts"), "--program", "never_ends", "-r", capture_, "--packets", "1"});
  EXPECT_EQ(said.status, kDone);
  EXPECT_THAT(said.out, AllOf(HasSubstr("1 packet: 0 passed, 0 excluded, 0 filtered, 1 fault"),
                              HasSubstr("program never_ends"), HasSubstr("step limit")));
}

TEST_F(FilterRun, SaysWhatIsWrong) {
  const struct {
    Arguments arguments;
    const char* expected;
    int status;
  } cases[] = {{{"run", shipped("ports")}, "nothing to read", kMisused},
               {{"run", shipped("ports"), "-r", "/nowhere.pcap"}, "/nowhere.pcap", kFailed},
               {{"run", shipped("ports"), "-r", capture_, "--map", "ports: tcp = x"}, "entry 1", kMisused},
               {{"run", shipped("ports"), "-r", capture_, "--range", "10.0.0.1/8"}, "10.0.0.0/8", kMisused},
               {{"run", of_tests("verdicts"), "-r", capture_}, "several programs", kMisused},
               {{"rnu"}, "run", kMisused}};
  for (const auto& one : cases) {
    SCOPED_TRACE(one.expected);
    const Said said = say(one.arguments);
    EXPECT_EQ(said.status, one.status);
    EXPECT_THAT(said.err, HasSubstr(one.expected));
  }
}

TEST(Filter, DisassemblesWithTheSource) {
  const Said said = say({"disasm", shipped("template")});
  EXPECT_EQ(said.status, kDone);
  EXPECT_THAT(said.out, AllOf(HasSubstr("map[wanted]"), HasSubstr("exit"), HasSubstr("; ")));
}

// In another folder, and back.
class InFolder {
 public:
  explicit InFolder(const std::filesystem::path& path) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(path);
  }
  ~InFolder() { std::filesystem::current_path(before_); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  std::filesystem::path before_;
};

TEST(Filter, NewMakesAModuleThatCompilesAndPassesCheck) {
  const test::ScratchFolder folder;
  const InFolder inside(folder.path());
  const Said made = say({"new", "mine"});
  ASSERT_EQ(made.status, kDone) << made.err;
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "mine" / "mine.bpf.c"));
  EXPECT_EQ(say({"new", "mine"}).status, kMisused) << "never over what is there";
  for (const char* name : {"", "a/b", "..", "1st", "a b"}) EXPECT_EQ(say({"new", name}).status, kMisused) << name;
  if (std::system("make --version >/dev/null 2>&1 && clang --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "make and clang are not both here";
  ASSERT_EQ(std::system("make -s -C mine"), 0);
  const Said checked = say({"check", "mine/mine.bpf.o"});
  EXPECT_EQ(checked.status, kDone) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("program       mine"));
}

}  // namespace
}  // namespace trama
