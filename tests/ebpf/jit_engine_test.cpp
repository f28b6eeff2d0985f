// Memory for machine code, and what happens where there is none.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>

#include "ebpf/filter_module.hpp"
#include "ebpf/jit_memory.hpp"
#include "tests/ebpf/sandbox.hpp"

namespace trama::ebpf {
namespace {

Object dropping() { return object_of({Assembler().mov_imm(0, XDP_DROP).exit().code()}); }

Decision judge(const FilterModule& module) {
  const std::vector<uint8_t> frame(60);
  FilterReplica replica(module, 0, 128);
  replica.begin_batch();
  const Decision decision = replica.judge(frame, 1);
  replica.end_batch();
  return decision;
}

TEST(CodeMemory, IsNeverWritableAndExecutable) {
  std::string while_written;
  const auto mappings = [] {
    std::ifstream file("/proc/self/maps");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const auto memory = CodeMemory::make(5000, [&](uint8_t* where, uint64_t address) {
    while_written = mappings();
    EXPECT_NE(reinterpret_cast<uint64_t>(where), address);
    std::memset(where, 0x90, 5000);
    return true;
  });
  ASSERT_TRUE(memory) << describe(memory.error());
  EXPECT_EQ(memory->code()[4999], 0x90);
  EXPECT_EQ(while_written.find("rwx"), std::string::npos);
  const std::string now = mappings();
  EXPECT_EQ(now.find("rwx"), std::string::npos);
  EXPECT_NE(now.find("r-xp"), std::string::npos);
  EXPECT_EQ(now.find("rw-s"), std::string::npos) << "nothing is left through which it could be written";
}

TEST(CodeMemory, SaysWhatCannotBeWritten) {
  EXPECT_FALSE(CodeMemory::make(100, [](uint8_t*, uint64_t) { return false; }));
}

TEST(FilterModule, RunsInTheEngineThatIsAskedFor) {
  for (const Engine engine : {Engine::automatic, Engine::interpreter, Engine::jit}) {
    const auto module = FilterModule::make(dropping(), {.engine = engine});
    ASSERT_TRUE(module) << describe(module.error());
    EXPECT_EQ((*module)->jit() == nullptr, engine == Engine::interpreter);
    EXPECT_EQ((*module)->why_interpreted(), "");
    EXPECT_EQ(judge(**module), Decision::excluded);
  }
}

// The system refuses a call, as seccomp filters of service managers do. False: it can't be made to.
bool refuse_call(uint32_t number) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{std::size(code), code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

// Exit status of a child process that does this.
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(FilterModule, IsInterpretedWhereThereIsNoExecutableMemory) {
  enum Outcome : int { good, no_seccomp, not_made, compiled, not_said, wrong_verdict, not_refused };
  const int outcome = in_child([]() -> int {
    if (!refuse_call(SYS_memfd_create)) return no_seccomp;
    const auto module = FilterModule::make(dropping(), {});
    if (!module) return not_made;
    if ((*module)->jit()) return compiled;
    if ((*module)->why_interpreted().find("memory for machine code") == std::string::npos) return not_said;
    if (judge(**module) != Decision::excluded) return wrong_verdict;
    return FilterModule::make(dropping(), {.engine = Engine::jit}) ? not_refused : good;
  });
  if (outcome == no_seccomp) GTEST_SKIP() << "seccomp is not to be had here";
  EXPECT_EQ(outcome, good);
}

// A process that may gain no right to execute what it could write (MemoryDenyWriteExecute of systemd, Linux 6.3).
TEST(FilterModule, IsCompiledWhereNothingMayBecomeExecutable) {
  constexpr int kSetMdwe = 65, kRefuseExecGain = 1;  // PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN
  enum Outcome : int { good, no_mdwe, not_compiled, wrong_verdict };
  const int outcome = in_child([]() -> int {
    if (::prctl(kSetMdwe, kRefuseExecGain, 0, 0, 0) != 0) return no_mdwe;
    const auto module = FilterModule::make(dropping(), {.engine = Engine::jit});
    if (!module) return not_compiled;
    return judge(**module) == Decision::excluded ? good : wrong_verdict;
  });
  if (outcome == no_mdwe) GTEST_SKIP() << "the kernel doesn't know how to refuse that";
  EXPECT_EQ(outcome, good);
}

}  // namespace
}  // namespace trama::ebpf
