// What can be asked of a graph while it runs: by the control socket, and by signals.
#pragma once
#include <cstddef>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "engine/diagnostic.hpp"

namespace trama {

// The exclusion list after somebody wanted to change it.
struct ExclusionChange {
  bool changed = false;  // it is another list than before
  size_t ranges = 0;     // different ranges in it
};

// Where the list in force comes from. What files hold is private, and appears only as a number.
struct ExclusionOrigin {
  std::vector<std::string> typed;  // CIDR[:side], as on the command line, in the graph file or through the socket
  std::vector<std::string> files;
  size_t ranges = 0;  // in force, those of the files among them
};

// A key to go on with.
struct KeyChoice {
  std::string file;  // empty: a key that is made now, and forgotten at the end
};

// Any thread. No call waits for the data path: a change holds from some batch or window on, whose manifest says so.
// Errors leave all as it was; they hold no key and no address but what the caller has typed.
class RunControl {
 public:
  template <class T>
  using Outcome = tl::expected<T, Diagnostics>;
  virtual ~RunControl() = default;

  // `range` is CIDR[:either|both|source|destination]. A new list closes the window being filled. Files of ranges are
  // read again with every change. Fails without an `exclude` stage.
  virtual Outcome<ExclusionChange> exclude_add(const std::string& range) = 0;
  // Only what was typed: what stands in a file is taken out there.
  virtual Outcome<ExclusionChange> exclude_remove(const std::string& range) = 0;
  virtual Outcome<ExclusionOrigin> exclude_list() const = 0;
  // Files of ranges once more, those of filter modules too.
  virtual Outcome<ExclusionChange> reload() = 0;

  // From the next window on; the fingerprint of the new key. A key file must be regular: nobody waits for a pipe.
  virtual Expected<std::string> rotate_key(const KeyChoice& choice) = 0;
  // Closes the window being filled, if there is anything in it.
  virtual Expected<void> flush() = 0;

  // Frees what only windows needed that are written by now, former keys above all. Called now and then.
  virtual void forget_former_rules() = 0;

  // Stops the sources; what was received is finished, then the run ends.
  virtual void stop() = 0;
  virtual bool stopping() const = 0;
};

}  // namespace trama
