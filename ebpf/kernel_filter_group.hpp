// The same filter modules on several interfaces: what a live source has in the kernel.
//
//   auto group = KernelFilterGroup::attach({"tap0", "tap1"}, {.objects = {"privacy_ranges.bpf.o"},
//                                                             .contents = {.ranges = {"10.0.0.0/8:either"}}});
//   tally.removed_in_kernel += (*group)->take_removed();   // by one thread at a time
//
// Attached before the source receives, and kept until it has stopped, so that nothing comes past them. Without modules
// all passes, to the sockets.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ebpf/kernel_filter.hpp"

namespace trama::ebpf {

// What the modules' maps hold.
struct KernelFilterContents {
  std::vector<std::string> ranges = {};   // for set_ranges(), of every module with the map ranges_v4
  std::vector<std::string> entries = {};  // for set_entries(): each goes to all modules with a map of its name
};

struct KernelFilterGroupOptions {
  std::vector<std::string> objects = {};  // module files, in the order in which they judge
  KernelFilterContents contents = {};
  KernelMode mode = KernelMode::automatic;
  std::vector<int> sockets = {};  // by interface: KernelFilterOptions::sockets; empty: none
};

class KernelFilterGroup {
 public:
  // All or none. Refuses what FilterModule and KernelFilter refuse; ranges or entries that no module has a map
  // for, with Refusal::entry where it is about one.
  static Expected<std::unique_ptr<KernelFilterGroup>> attach(const std::vector<std::string>& interfaces,
                                                             const KernelFilterGroupOptions& options);

  // A line for each interface: "tap0: filters in native mode", and in generic mode with the reason why.
  std::vector<std::string> describe() const;
  const KernelFilter& filter(size_t interface) const { return *attached_[interface].filter; }
  // In force; not while replace() runs.
  const std::vector<std::shared_ptr<const FilterModule>>& modules() const { return modules_; }

  // Packets removed since the last call. One thread at a time; allocates nothing. What the kernel doesn't tell comes
  // with a later call.
  uint64_t take_removed() noexcept;

  // An interface that packets come from past its filter (KernelFilterState::off), or null. A system call an interface.
  const std::string* unfiltered() const noexcept;

  // Takes the place of all contents, at once on each interface. Any thread. Refused, the old ones stay in force.
  Expected<void> replace(const KernelFilterContents& contents);

  // Takes all of them off, for good: what comes then is the host's, and unfiltered. Their counts can still be taken.
  void detach();

 private:
  using Modules = std::vector<std::shared_ptr<const FilterModule>>;
  static Expected<Modules> make_modules(const std::vector<Object>& objects, const KernelFilterContents& contents);

  struct Attached {
    std::string interface;
    std::unique_ptr<KernelFilter> filter;
    uint64_t removed = 0;  // taken so far
  };

  std::mutex changing_;
  bool detached_ = false;
  std::vector<Object> objects_;
  Modules modules_;  // in force
  std::vector<Attached> attached_;
};

}  // namespace trama::ebpf
