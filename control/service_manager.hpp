// Whoever keeps this process as a service, in the manner of systemd: sd_notify(3), sd_watchdog_enabled(3),
// sd-daemon(3). Without one (NOTIFY_SOCKET is not set) nothing is said, and nothing fails.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/diagnostic.hpp"

namespace trama {

class ServiceManager {
 public:
  ServiceManager();

  bool present() const { return present_; }
  // How long the process may be silent before it is taken for dead and started anew; none: as long as it likes.
  std::optional<int64_t> watchdog_ns() const { return watchdog_ns_; }

  // Lines NAME=VALUE, as "READY=1\nSTATUS=running".
  void say(const std::string& lines) const;

 private:
  bool present_;
  std::optional<int64_t> watchdog_ns_;
};

// True when what is written to `fd` goes to the journal (JOURNAL_STREAM names the very file behind it).
bool is_journal(int fd);

// With the journal's level in front of each line: "<3>trama: error: ...\n<3>    hint: ...\n".
std::string with_journal_level(std::string_view lines, Severity severity);

}  // namespace trama
