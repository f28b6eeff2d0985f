#include "control/privileges.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace trama {

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

Expected<void> OtherUser::become() const {
  if (geteuid() != 0) return {};
  const bool done = initgroups(name_.c_str(), group_) == 0 && setgid(group_) == 0 && setuid(user_) == 0;
  if (!done) return failure("can't become `" + name_ + "`: " + std::strerror(errno), "", {"--user", 0});
  if (user_ != 0 && setuid(0) == 0) return failure("`" + name_ + "` could become root again", "", {"--user", 0});
  return {};
}

}  // namespace trama
