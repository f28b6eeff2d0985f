// What the process must still be allowed once it runs. By default nothing: all that takes privileges is opened while
// stages are made, and the command then gives up the rest, before the first packet (control/privileges.hpp).
//
//   context.services.get<KeptCapabilities>()->keep(CAP_NET_ADMIN);   // to take the flow rules off again at the end
#pragma once
#include <cstdint>

namespace trama {

// A service (engine/services.hpp). During setup only.
class KeptCapabilities {
 public:
  // `capability` is a number of linux/capability.h. Keeping what the process never had is no error. With --user it is
  // kept, too: the other user then may do this, and nothing else that takes a privilege.
  void keep(unsigned capability) { set_ |= uint64_t{1} << capability; }

  uint64_t set() const { return set_; }  // bit n: capability n

 private:
  uint64_t set_ = 0;
};

}  // namespace trama
