#include "control/control_socket.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "control/control_client.hpp"
#include "tests/support/scratch_folder.hpp"

namespace trama {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

mode_t mode_of(const std::filesystem::path& path) {
  struct stat there {};
  return lstat(path.c_str(), &there) == 0 ? there.st_mode : 0;
}

// What an ended run leaves behind.
void leave_behind(const std::string& path) {
  const auto address = socket_address(path);
  const int left = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(left, reinterpret_cast<const sockaddr*>(&*address), sizeof *address), 0);
  close(left);
}

TEST(ControlSocket, OnlyItsOwnerMayOpenItWhateverTheUmask) {
  const test::ScratchFolder folder;
  for (const mode_t mask : {0000, 0022, 0077}) {
    const mode_t before = umask(mask);
    const auto opened = ControlSocket::open(folder / "a.sock");
    umask(before);
    ASSERT_TRUE(opened) << opened.error().text;
    EXPECT_EQ(mode_of(folder / "a.sock"), S_IFSOCK | 0600U);
  }
}

TEST(ControlSocket, IsThereWhileItLivesAndCanBeGivenOn) {
  const test::ScratchFolder folder;
  {
    auto opened = ControlSocket::open(folder / "a.sock");
    ASSERT_TRUE(opened);
    const ControlSocket moved = std::move(*opened);
    EXPECT_THAT(folder.names(), ElementsAre("a.sock"));
    EXPECT_TRUE(ControlClient::connect(folder / "a.sock"));
    const auto us = OtherUser::find(getpwuid(geteuid())->pw_name);
    ASSERT_TRUE(us);
    EXPECT_TRUE(moved.give_to(*us));
  }
  EXPECT_THAT(folder.names(), ElementsAre());
}

TEST(ControlSocket, IsRemovedOnceAndOnlyIfItIsStillOurs) {
  const test::ScratchFolder folder;
  const std::string path = folder / "a.sock";
  auto opened = ControlSocket::open(path);
  ASSERT_TRUE(opened);
  opened->remove();
  EXPECT_THAT(folder.names(), ElementsAre());
  {
    const auto second = ControlSocket::open(path);
    ASSERT_TRUE(second);
    opened->remove();
    EXPECT_THAT(folder.names(), ElementsAre("a.sock"));
    std::filesystem::remove(path);
    test::write_file(path, std::string("somebody else's"));
  }
  EXPECT_EQ(test::read_text(path), "somebody else's");
}

TEST(ControlSocket, ReplacesWhatAnEndedRunHasLeft) {
  const test::ScratchFolder folder;
  leave_behind(folder / "a.sock");
  ASSERT_THAT(folder.names(), ElementsAre("a.sock"));
  const auto opened = ControlSocket::open(folder / "a.sock");
  ASSERT_TRUE(opened) << opened.error().text;
  EXPECT_TRUE(ControlClient::connect(folder / "a.sock"));
}

TEST(ControlSocket, RefusesWhatIsInUseOrNoSocket) {
  const test::ScratchFolder folder;
  const auto first = ControlSocket::open(folder / "live.sock");
  ASSERT_TRUE(first);
  test::write_file(folder / "file", std::string("mine"));
  std::filesystem::create_symlink(folder / "left.sock", folder / "link");
  leave_behind(folder / "left.sock");
  const struct {
    std::string path, error;
  } cases[] = {
      {folder / "live.sock", "another run listens"},
      {folder / "file", "a file of another kind"},
      {folder / "link", "a file of another kind"},
      {folder.path(), "a file of another kind"},
      {folder / "nowhere" / "a.sock", "can't use the folder"},
      {folder / std::string(100, 'x'), "the name of a socket has"},
      {"", "the name of a socket has"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.path);
    const auto opened = ControlSocket::open(c.path);
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().text, HasSubstr(c.error));
  }
  EXPECT_EQ(test::read_text(folder / "file"), "mine");
  EXPECT_TRUE(S_ISLNK(mode_of(folder / "link")));
  EXPECT_TRUE(ControlClient::connect(folder / "live.sock")) << "it was left alone";
}

TEST(ControlSocket, OfRunsThatStartAtOnceOneGetsIt) {
  constexpr int kRuns = 4;
  const test::ScratchFolder folder;
  for (int round = 0; round < 200; ++round) {
    const std::string path = folder / ("a" + std::to_string(round) + ".sock");
    leave_behind(path);
    std::atomic<int> open{0}, waiting{kRuns};
    std::vector<std::thread> runs;
    for (int run = 0; run < kRuns; ++run)
      runs.emplace_back([&] {
        --waiting;
        while (waiting > 0) std::this_thread::yield();
        const auto opened = ControlSocket::open(path);
        if (opened) ++open;
        --waiting;
        while (waiting > -kRuns) std::this_thread::yield();  // until all have tried
      });
    for (std::thread& run : runs) run.join();
    EXPECT_EQ(open, 1);
  }
}

TEST(FindControlSocket, TheOneThatSomebodyListensAt) {
  const test::ScratchFolder folder;
  std::filesystem::create_directory(folder / "run");
  const SocketPlaces places{folder / "run", folder / "trama.sock"};
  const auto none = find_control_socket(std::nullopt, places);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text, HasSubstr("no running engine"));
  EXPECT_EQ(find_control_socket("named", places).value_or(""), "named");

  leave_behind(folder / "run" / "ended.sock");
  test::write_file(folder / "run" / "file.sock", std::string());
  const auto one = ControlSocket::open(folder / "run" / "one.sock");
  const auto other_name = ControlSocket::open(folder / "run" / "other");
  ASSERT_TRUE(one && other_name);
  EXPECT_EQ(find_control_socket(std::nullopt, places).value_or(""), folder / "run" / "one.sock");

  const auto beside = ControlSocket::open(folder / "trama.sock");
  ASSERT_TRUE(beside);
  const auto both = find_control_socket(std::nullopt, places);
  ASSERT_FALSE(both);
  EXPECT_THAT(both.error().hint, HasSubstr((folder / "run" / "one.sock").string()));
  EXPECT_THAT(both.error().hint, HasSubstr((folder / "trama.sock").string()));
}

TEST(ControlClient, SaysWhyItCannotConnect) {
  const test::ScratchFolder folder;
  leave_behind(folder / "ended.sock");
  test::write_file(folder / "file", std::string());
  const struct {
    std::string path, error;
  } cases[] = {{folder / "nothing", "no such socket"},
               {folder / "ended.sock", "has ended"},
               {folder / "file", "not the socket of a run"},
               {folder.path(), "not the socket of a run"},
               {folder / std::string(120, 'x'), "name of a socket"}};
  for (const auto& c : cases) {
    const auto client = ControlClient::connect(c.path);
    ASSERT_FALSE(client) << c.path;
    EXPECT_THAT(client.error().text, HasSubstr(c.error));
  }
}

}  // namespace
}  // namespace trama
