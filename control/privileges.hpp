// What the process may do and what it may leave behind.
//
// All that takes privileges (sockets, devices, keys, eBPF programs) is opened first. Then they are given up, in every
// thread, before the first packet: a packet that takes over the engine finds nothing to take.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "engine/diagnostic.hpp"

namespace trama {

// No core dump, and no debugger but root's: the memory holds keys and addresses. Changing the user undoes it.
void forbid_core_dumps();

// A user to go on as.
class OtherUser {
 public:
  // Refused: no such user, or somebody else without being root.
  static Expected<OtherUser> find(const std::string& name);

  const std::string& name() const { return name_; }
  uid_t user() const { return user_; }
  gid_t group() const { return group_; }

 private:
  std::string name_;
  uid_t user_ = 0;
  gid_t group_ = 0;
};

// For good: groups, group and user become those of `user`, where there is one; of all capabilities each thread keeps at
// most those in `kept` (bit n: capability n of linux/capability.h), and no program that is started from here gets any
// back (no_new_privs). Root that stays root keeps, beside these, to read and write others' files: inputs, lists and
// archives are still to be opened.
//
// Fails when that isn't so of all threads afterwards; the run must not go on then.
Expected<void> give_up_privileges(const std::optional<OtherUser>& user, uint64_t kept);

}  // namespace trama
