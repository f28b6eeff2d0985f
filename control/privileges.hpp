// What the process may do and what it may leave behind.
#pragma once
#include <sys/types.h>

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
  // Gives up root for good: groups, group, user..
  Expected<void> become() const;

 private:
  std::string name_;
  uid_t user_ = 0;
  gid_t group_ = 0;
};

}  // namespace trama
