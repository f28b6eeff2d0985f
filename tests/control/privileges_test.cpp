// Each case in a process of its own, with threads that were there before: what they may do afterwards.
#include "control/privileges.hpp"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>
#include <iostream>
#include <thread>

#include "control/every_thread.hpp"
#include "control/machine.hpp"
#include "tests/support/scratch_folder.hpp"

namespace trama {
namespace {

using test::ScratchFolder;

constexpr uint64_t bit(unsigned capability) { return uint64_t{1} << capability; }
constexpr uint64_t kFileAccess = bit(CAP_DAC_OVERRIDE) | bit(CAP_DAC_READ_SEARCH);

// The exit status of a child that does this; 0: it found all as it should be.
int in_child(const std::function<void()>& work) {
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

std::string set_of(int thread, const char* name) {
  return proc_value(("/proc/self/task/" + std::to_string(thread) + "/status").c_str(), name);
}

std::string hexadecimal(uint64_t set) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(set));
  return text;
}

bool may_open_raw_socket() {
  const int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

// Threads of the kinds that a run has by then: one that sleeps in the kernel, one that works, one that starts others.
class Threads {
 public:
  Threads() {
    threads_.emplace_back([this] { over_.wait(false); });
    threads_.emplace_back([this] {
      while (!over_) ++turns_;
    });
    threads_.emplace_back([this] {
      while (!over_) std::thread([this] { ++turns_; }).join();
    });
    asker_ = std::thread([this] {
      asked_.wait(false);
      may_ = may_open_raw_socket();
    });
  }
  ~Threads() {
    over_ = true;
    over_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    if (asker_.joinable()) may();
  }
  // May a thread that was there from the beginning open a raw socket? Once.
  bool may() {
    asked_ = true;
    asked_.notify_all();
    asker_.join();
    return may_;
  }

 private:
  std::atomic<bool> over_{false}, asked_{false};
  std::atomic<uint64_t> turns_{0};
  bool may_ = false;
  std::vector<std::thread> threads_;
  std::thread asker_;
};

void expect_in_all_threads(uint64_t kept) {
  const std::pair<const char*, std::string> wanted[] = {{"CapPrm", hexadecimal(kept)},
                                                        {"CapEff", hexadecimal(kept)},
                                                        {"CapInh", hexadecimal(0)},
                                                        {"CapAmb", hexadecimal(0)},
                                                        {"NoNewPrivs", "1"}};
  for (const int thread : threads_of_this_process()) {
    for (const auto& [name, value] : wanted) {
      const std::string found = set_of(thread, name);
      if (found.empty()) break;  // it has ended
      EXPECT_EQ(found, value) << name;
    }
  }
}

class Privileges : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root has something to give up";
    if (!may_open_raw_socket()) GTEST_SKIP() << "root may not open raw sockets here";
  }
  static std::optional<OtherUser> nobody() {
    auto user = OtherUser::find("nobody");
    return user ? std::optional(*user) : std::nullopt;
  }
};

TEST_F(Privileges, RootThatStaysKeepsFilesOnly) {
  EXPECT_EQ(in_child([] {
              Threads threads;
              const auto done = give_up_privileges(std::nullopt, 0);
              EXPECT_TRUE(done) << done.error().text;
              expect_in_all_threads(kFileAccess);
              EXPECT_EQ(set_of(gettid(), "CapBnd"), hexadecimal(0));
              EXPECT_FALSE(may_open_raw_socket());
              EXPECT_FALSE(threads.may());
            }),
            0);
}

TEST_F(Privileges, RootThatStaysReadsAndWritesWhatOthersKeepForThemselves) {
  const ScratchFolder folder;
  const auto theirs = folder / "theirs";
  std::filesystem::create_directory(theirs);
  ASSERT_EQ(chown(theirs.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(theirs.c_str(), 0700), 0);
  EXPECT_EQ(in_child([&] {
              ASSERT_TRUE(give_up_privileges(std::nullopt, 0));
              std::ofstream(theirs / "archive") << "x";
              EXPECT_TRUE(std::filesystem::exists(theirs / "archive"));
            }),
            0);
}

TEST_F(Privileges, AnotherUserHasNothing) {
  EXPECT_EQ(in_child([] {
              const gid_t roots[] = {0, 4};
              ASSERT_EQ(setgroups(2, roots), 0);
              Threads threads;
              const auto done = give_up_privileges(nobody(), 0);
              EXPECT_TRUE(done) << done.error().text;
              expect_in_all_threads(0);
              for (const int thread : threads_of_this_process()) {
                const std::string ids = set_of(thread, "Uid");  // of one that has ended: none
                EXPECT_TRUE(ids.empty() || ids.starts_with("65534")) << ids;
              }
              EXPECT_NE(setuid(0), 0);
              gid_t groups[8] = {};
              EXPECT_EQ(getgroups(8, groups), 1);
              EXPECT_EQ(groups[0], 65534u);
              EXPECT_FALSE(may_open_raw_socket());
              EXPECT_FALSE(threads.may());
            }),
            0);
}

TEST_F(Privileges, WhatAStageKeepsIsKeptInEveryThreadWithAndWithoutAnotherUser) {
  for (const bool changes_user : {false, true}) {
    SCOPED_TRACE(changes_user);
    EXPECT_EQ(in_child([&] {
                Threads threads;
                const auto done = give_up_privileges(changes_user ? nobody() : std::nullopt, bit(CAP_NET_RAW));
                EXPECT_TRUE(done) << done.error().text;
                expect_in_all_threads(bit(CAP_NET_RAW) | (changes_user ? 0 : kFileAccess));
                EXPECT_TRUE(may_open_raw_socket());
                EXPECT_TRUE(threads.may());
              }),
              0);
  }
}

// As systemd starts a service: a user, and ambient capabilities.
TEST_F(Privileges, AmbientCapabilitiesAreGivenUp) {
  EXPECT_EQ(in_child([] {
              prctl(PR_SET_KEEPCAPS, 1);
              ASSERT_EQ(setgid(65534), 0);
              ASSERT_EQ(setuid(65534), 0);
              __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
              __user_cap_data_struct sets[2] = {};
              sets[0].effective = sets[0].permitted = sets[0].inheritable = static_cast<uint32_t>(bit(CAP_NET_RAW));
              ASSERT_EQ(syscall(SYS_capset, &header, sets), 0);
              ASSERT_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0), 0);
              Threads threads;
              EXPECT_TRUE(may_open_raw_socket());
              const auto done = give_up_privileges(std::nullopt, 0);
              EXPECT_TRUE(done) << done.error().text;
              expect_in_all_threads(0);
              EXPECT_FALSE(may_open_raw_socket());
              EXPECT_FALSE(threads.may());
            }),
            0);
}

// Better no run than one with a privileged thread in it.
TEST_F(Privileges, AThreadThatCantBeReachedIsARefusal) {
  EXPECT_EQ(in_child([] {
              std::atomic<bool> deaf{false};
              std::thread([&] {
                sigset_t all;
                sigfillset(&all);
                pthread_sigmask(SIG_BLOCK, &all, nullptr);
                deaf = true;
                deaf.notify_all();
                for (;;) pause();
              }).detach();
              deaf.wait(false);
              const auto done = give_up_privileges(std::nullopt, 0);
              ASSERT_FALSE(done);
              EXPECT_THAT(done.error().text, testing::HasSubstr("can't give up privileges"));
            }),
            0);
}

TEST(OtherUser, MustExist) {
  const auto user = OtherUser::find("no-such-user");
  ASSERT_FALSE(user);
  EXPECT_THAT(user.error().text, testing::HasSubstr("no user `no-such-user`"));
}

}  // namespace
}  // namespace trama
