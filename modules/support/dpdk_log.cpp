#include "modules/support/dpdk_log.hpp"

#include <rte_log.h>

#include <cstdio>
#include <mutex>
#include <string_view>
#include <utility>

namespace trama {
namespace {

constexpr size_t kLongest = 300;  // characters kept of a line

// Written to by DPDK's threads, too.
struct Kept {
  std::mutex mutex;
  bool watching = false;
  bool whole = false;  // the first line has ended
  std::string first;
};
Kept& kept() {
  static Kept* const never_destroyed = new Kept;  // threads of DPDK may outlive static objects
  return *never_destroyed;
}

ssize_t keep(void*, const char* text, size_t bytes) {
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  if (!all.watching || all.whole) return static_cast<ssize_t>(bytes);
  std::string_view line(text, bytes);
  const size_t end = line.find('\n');
  line = line.substr(0, end);
  all.first.append(line.substr(0, kLongest - std::min(kLongest, all.first.size())));
  all.whole = end != std::string_view::npos && !all.first.empty();
  return static_cast<ssize_t>(bytes);
}
ssize_t drop(void*, const char*, size_t bytes) { return static_cast<ssize_t>(bytes); }

FILE* open_stream(cookie_write_function_t* write) {
  FILE* const stream = fopencookie(nullptr, "w", cookie_io_functions_t{nullptr, write, nullptr, nullptr});
  if (stream) setvbuf(stream, nullptr, _IOLBF, BUFSIZ);
  return stream;
}

}  // namespace

void capture_dpdk_log() {
  FILE* const stream = open_stream(keep);
  if (!stream) return;
  rte_openlog_stream(stream);
  rte_log_set_global_level(RTE_LOG_ERR);
}

namespace {

// Where stdio prints while EAL reads its options.
class Printing {
 public:
  void divert() {
    if (!nowhere_) nowhere_ = open_stream(drop);
    if (!nowhere_) return;
    std::fflush(stdout);
    out_ = std::exchange(stdout, nowhere_);
    error_ = std::exchange(stderr, nowhere_);
  }
  void restore() {
    if (out_) stdout = std::exchange(out_, nullptr);
    if (error_) stderr = std::exchange(error_, nullptr);
  }

 private:
  FILE* nowhere_ = nullptr;
  FILE *out_ = nullptr, *error_ = nullptr;
};
Printing printing;

}  // namespace

DpdkLogWatch::DpdkLogWatch(bool with_printing) : printing_(with_printing) {
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  all.watching = true;
  all.whole = false;
  all.first.clear();
  if (printing_) printing.divert();
}

DpdkLogWatch::~DpdkLogWatch() {
  if (printing_) printing.restore();
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  all.watching = false;
}

std::string DpdkLogWatch::reason(const std::string& otherwise) const {
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  std::string_view line = all.first;
  // "EAL: no driver", "pmd_pcap_remove(): no file"
  for (const std::string_view mark : {"(): ", ": "}) {
    const size_t at = line.find(mark);
    if (at != std::string_view::npos && line.find(' ') > at) line.remove_prefix(at + mark.size());
  }
  while (!line.empty() && (line.back() == '.' || line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
  return line.empty() ? otherwise : std::string(line);
}

}  // namespace trama
