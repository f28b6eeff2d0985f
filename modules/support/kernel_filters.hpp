// Filter modules in the kernel, in front of a live source: its parameters for them, and what became of packets there.
// Attached while the stage is made, before anything is received, and kept until nothing is any more.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "engine/diagnostic.hpp"
#include "engine/parameters.hpp"
#include "engine/services.hpp"
#include "modules/support/module_lists.hpp"

namespace trama {

struct KernelFilterParameters {
  // What an interface is for. What is removed in the kernel, the machine itself doesn't get either.
  enum class Role : uint8_t { host, tap } role = Role::host;
  enum class Mode : uint8_t { automatic, native, generic } mode = Mode::automatic;
  std::vector<std::string> objects;
  ModuleLists lists;
  Place objects_place;

  // All of them.
  void bind(ParameterBinder& binder);
  // Without `role` and `mode`, for a source that has names of its own for them.
  void bind_modules(ParameterBinder& binder);
};

class KernelFilters {
 public:
  // Null: none are asked for. Says for each interface in which mode its filters run. Their lists become a part of the
  // rules in force, and files of them are read again with all others: a packet is judged by all of the old lists or by
  // all of the new, but which packet is the first is not known, since the kernel numbers no batches.
  //
  // `sockets`: an XSKMAP for each interface, to whose sockets goes what the filters pass. Then it isn't null: without
  // modules all goes there.
  static tl::expected<std::shared_ptr<KernelFilters>, Diagnostics> attach(const std::vector<std::string>& interfaces,
                                                                          const KernelFilterParameters& parameters,
                                                                          Services& services,
                                                                          const std::vector<int>& sockets = {});
  virtual ~KernelFilters() = default;

  // What batches behind filters have met (PacketBatch::judges).
  virtual uint32_t judges() const noexcept = 0;

  struct Attached {
    bool generic;             // else native
    std::string why_generic;  // what native mode was refused for, or empty
  };
  virtual Attached attached(size_t interface) const = 0;

  // --- the data path; one thread at a time. Allocates nothing.
  // Packets removed since the last call.
  virtual uint64_t take_removed() noexcept = 0;
  // Looks whether all filters are still there, with a system call an interface. When one was taken off by force, that
  // is said, once, and lost() is true from then on.
  virtual void look() = 0;

  // Any thread: packets come past the filters, and must not be received any more.
  virtual bool lost() const noexcept = 0;

  // One interface: whether its program is still there. A system call or two.
  virtual bool is_on(size_t interface) const noexcept = 0;
  // Takes all off for good, at the end: what comes then is the host's. take_removed() still tells what there was.
  virtual void detach() = 0;
};

}  // namespace trama
