#include "control/privileges.hpp"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <vector>

#include "control/every_thread.hpp"
#include "control/machine.hpp"

namespace trama {
namespace {

constexpr uint64_t bit(unsigned capability) { return uint64_t{1} << capability; }
constexpr unsigned kMostCapabilities = 64;
constexpr uint64_t kFileAccess = bit(CAP_DAC_OVERRIDE) | bit(CAP_DAC_READ_SEARCH);

// ---- In signal handlers. libcap-ng, which would be the library for this, changes one thread and opens files for it.

using CapabilitySets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

void forbid_gaining(const void*) {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  for (unsigned capability = 0; capability < kMostCapabilities; ++capability)
    if (prctl(PR_CAPBSET_READ, capability) == 1) prctl(PR_CAPBSET_DROP, capability);
}

// What a thread may do stays, for the moment, when it changes its user.
void keep_over_change(const void*) { prctl(PR_SET_KEEPCAPS, 1); }

void drop_capabilities(const void* argument) {
  const uint64_t kept = *static_cast<const uint64_t*>(argument);
  prctl(PR_SET_KEEPCAPS, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  CapabilitySets sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0) return;
  for (unsigned word = 0; word < sets.size(); ++word) {
    sets[word].permitted &= static_cast<uint32_t>(kept >> (32 * word));
    sets[word].effective = sets[word].permitted;
    sets[word].inheritable = 0;  // nor are any ambient then
  }
  syscall(SYS_capset, &header, sets.data());
}

// ---- Elsewhere

uint64_t hexadecimal(const std::string& text) {
  uint64_t value = 0;
  std::istringstream(text) >> std::hex >> value;
  return value;
}

// All that a thread could make use of, in whichever set. Of one that has ended: nothing.
uint64_t capabilities_of(int thread) {
  const std::string status = "/proc/self/task/" + std::to_string(thread) + "/status";
  uint64_t held = 0;
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) held |= hexadecimal(proc_value(status.c_str(), set));
  return held;
}

// Of this thread; without /proc.
bool has_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  CapabilitySets sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0) return true;
  return std::any_of(sets.begin(), sets.end(), [](const auto& word) { return word.permitted != 0; });
}

Expected<void> in_every_thread(void (*action)(const void*), const void* argument = nullptr) {
  // A user without privileges has none in any thread, and needn't ask them all.
  const auto wanted = [](int thread) { return thread == gettid() || capabilities_of(thread) != 0; };
  return on_every_thread(action, argument, wanted);
}

Expected<void> check_all_threads(uint64_t kept) {
  const bool seen = !threads_of_this_process().empty();
  if (!seen && has_capabilities()) return failure("can't see the threads of this process", "mount /proc");
  for (const int thread : threads_of_this_process())
    if ((capabilities_of(thread) & ~kept) != 0) return failure("a thread of this process still has some");
  return {};
}

// setuid() of glibc changes all threads.
Expected<void> become(const OtherUser& user) {
  const Place place{"--user", 0};
  const bool done =
      initgroups(user.name().c_str(), user.group()) == 0 && setgid(user.group()) == 0 && setuid(user.user()) == 0;
  if (!done) return failure("can't become `" + user.name() + "`: " + std::strerror(errno), "", place);
  return {};
}

}  // namespace

void forbid_core_dumps() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  // The limit doesn't hold for a core_pattern that is a pipe; this does.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

Expected<OtherUser> OtherUser::find(const std::string& name) {
  const Place place{"--user", 0};
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> text(1 << 16);
  getpwnam_r(name.c_str(), &entry, text.data(), text.size(), &found);
  if (!found) return failure("there is no user `" + name + "`", "`getent passwd` lists them", place);
  OtherUser user;
  user.name_ = name;
  user.user_ = entry.pw_uid;
  user.group_ = entry.pw_gid;
  if (geteuid() != 0 && user.user_ != geteuid())
    return failure("only root can go on as another user", "leave --user out, or start with sudo", place);
  return user;
}

Expected<void> give_up_privileges(const std::optional<OtherUser>& user, uint64_t kept) {
  const bool changes_user = user && geteuid() == 0;
  if (geteuid() == 0 && (!user || user->user() == 0)) kept |= kFileAccess;
  const auto refused = [](const Diagnostic& why) {
    return failure("can't give up privileges: " + why.text, why.hint, why.place);
  };
  // Emptying the bounding set takes CAP_SETPCAP, so that it comes first.
  if (auto done = in_every_thread(forbid_gaining); !done) return refused(done.error());
  if (changes_user && kept != 0)
    if (auto done = in_every_thread(keep_over_change); !done) return refused(done.error());
  if (changes_user)
    if (auto done = become(*user); !done) return done;
  if (auto done = in_every_thread(drop_capabilities, &kept); !done) return refused(done.error());
  if (auto done = check_all_threads(kept); !done) return refused(done.error());
  if (changes_user && user->user() != 0 && setuid(0) == 0)
    return failure("`" + user->name() + "` could become root again", "", {"--user", 0});
  return {};
}

}  // namespace trama
