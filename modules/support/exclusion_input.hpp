// Where exclusion ranges come from: the graph file or the command line, and files that can be read again while running.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/diagnostic.hpp"
#include "modules/support/privacy_ranges.hpp"

namespace trama {

// What is wrong with ranges written as CIDR[:side]; all of it.
Diagnostics check_ranges(const std::vector<std::string>& ranges, const Place& place);

// Thread-safe. Set once by the stage that excludes.
class ExclusionInput {
 public:
  struct Config {
    std::vector<std::string> ranges;
    Place ranges_place;
    std::vector<std::string> files;
  };
  void set(Config config);
  bool is_set() const;
  bool has_files() const;

  // Reads the ranges and all files, while running with Reading::again. Fails with everything that is wrong in any of
  // them.
  tl::expected<std::shared_ptr<const PrivacyRanges>, Diagnostics> read(Reading reading = Reading::first) const;

 private:
  mutable std::mutex mutex_;
  Config config_;
  bool set_ = false;
};

}  // namespace trama
