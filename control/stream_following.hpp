// What the verbs that follow a stream have in common: where to begin, keys, and how signals end it.
#pragma once
#include <csignal>
#include <optional>
#include <string>

#include "control/command_line.hpp"
#include "engine/diagnostic.hpp"
#include "libclient/formats/file_bytes.hpp"
#include "libclient/subscriber.hpp"

namespace trama {

// SIGINT, SIGTERM and SIGHUP end a stream as its end would: they are blocked, and can be read. Comes before all
// threads, which then have them blocked too.
class EndSignals {
 public:
  EndSignals();
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  int descriptor() const { return descriptor_.get(); }
  bool came() const;

 private:
  sigset_t before_;
  FileDescriptor descriptor_;
};

// Options of a command line, and what they make of those of a subscriber.
class FollowingOptions {
 public:
  void add_to(CommandLine& line);
  // Error: options that exclude each other or go together, a key that can't be used.
  Expected<void> apply_to(SubscribeOptions& options) const;

 private:
  std::optional<uint64_t> number_, last_, since_ns_, ahead_;
  std::optional<std::string> publisher_key_, stream_key_;
  std::optional<std::string> ca_, certificate_, certificate_key_, credentials_, login_;
};

// What is said when nobody has answered for a while.
std::string waiting_text(const std::string& url, const SubscribeOptions& options);

}  // namespace trama
