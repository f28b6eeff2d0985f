// Asks a running engine through its control socket: for `trama status`, `ctl` and `top`.
#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "control/control_protocol.hpp"
#include "engine/diagnostic.hpp"
#include "libclient/formats/file_bytes.hpp"

namespace trama {

class ControlClient {
 public:
  // Fails where nobody listens, or where the socket is somebody else's.
  static Expected<ControlClient> connect(const std::string& path);

  // The result; or what the engine refused, or that it didn't answer within some seconds.
  Expected<nlohmann::ordered_json> ask(const ControlRequest& request);

  const std::string& path() const { return path_; }

 private:
  ControlClient(std::string path, FileDescriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}
  Expected<void> send(const std::string& line);
  Expected<std::string> receive_line();

  std::string path_;
  FileDescriptor descriptor_;
  std::string received_;
};

// Where sockets are looked for when none is named.
struct SocketPlaces {
  std::filesystem::path folder = "/run/trama";     // every *.sock in it
  std::filesystem::path beside_us = "trama.sock";  // in the working directory
};

// `given`, or the one socket that somebody listens at. Fails when there is none, and when there are several: then it
// says which.
Expected<std::string> find_control_socket(const std::optional<std::string>& given, const SocketPlaces& places = {});

}  // namespace trama
