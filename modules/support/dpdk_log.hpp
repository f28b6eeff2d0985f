// DPDK's own messages: kept out of stdout and stderr, and asked for the reason when one of its calls fails.
#pragma once
#include <string>

namespace trama {

// Directs the log of this process to here. Once, before EAL is initialised.
void capture_dpdk_log();

// Everything that is logged, or printed by EAL with stdio, while one of these lives; one at a time.
class DpdkLogWatch {
 public:
  // `printing`: also takes stdio's stdout and stderr, on which EAL prints a page of usage when an option is wrong.
  explicit DpdkLogWatch(bool printing = false);
  ~DpdkLogWatch();
  DpdkLogWatch(const DpdkLogWatch&) = delete;
  DpdkLogWatch& operator=(const DpdkLogWatch&) = delete;

  // The first error that was logged, without the name of the part of DPDK before it; or `otherwise`.
  std::string reason(const std::string& otherwise) const;

 private:
  const bool printing_;
};

}  // namespace trama
