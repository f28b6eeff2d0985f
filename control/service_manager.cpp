#include "control/service_manager.hpp"

#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace trama {
namespace {

const char* journal_level(Severity severity) {
  switch (severity) {
    case Severity::error: return SD_ERR;
    case Severity::warning: return SD_WARNING;
    case Severity::note: return SD_INFO;
  }
  return SD_INFO;
}

}  // namespace

ServiceManager::ServiceManager() : present_(std::getenv("NOTIFY_SOCKET") != nullptr) {
  uint64_t microseconds = 0;
  if (present_ && sd_watchdog_enabled(0, &microseconds) > 0) watchdog_ns_ = static_cast<int64_t>(microseconds) * 1000;
}

void ServiceManager::say(const std::string& lines) const {
  if (present_) sd_notify(0, lines.c_str());
}

// DEVICE:INODE. The variable is inherited, also by those whose standard error goes somewhere else.
bool is_journal(int fd) {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  if (!stream) return false;
  const char* const end = stream + std::strlen(stream);
  dev_t device = 0;
  ino_t inode = 0;
  const auto first = std::from_chars(stream, end, device);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ':') return false;
  const auto second = std::from_chars(first.ptr + 1, end, inode);
  struct stat status {};
  return second.ec == std::errc() && second.ptr == end && fstat(fd, &status) == 0 && status.st_dev == device &&
         status.st_ino == inode;
}

std::string with_journal_level(std::string_view lines, Severity severity) {
  std::string text;
  while (!lines.empty()) {
    const size_t line = std::min(lines.find('\n'), lines.size() - 1) + 1;
    text += journal_level(severity);
    text += lines.substr(0, line);
    lines.remove_prefix(line);
  }
  return text;
}

}  // namespace trama
