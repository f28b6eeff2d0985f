// Where a stream of matrices is: the URL that publisher and subscriber are given.
//
//   trama+tcp://127.0.0.1:7801/roof     a publisher's stream `roof`; trama+tcp://[::1]:7801, trama+tcp://*:7801
//   (publish) trama+ipc:///run/trama/roof.sock    the same on one machine; a relative path too: trama+ipc://roof.sock
//   file:///var/lib/trama               a folder of archives
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "libclient/formats/error.hpp"

namespace trama {

struct StreamUrl {
  enum class Way { tcp, ipc, file };
  Way way = Way::tcp;
  std::string host;    // tcp: as given, without the brackets of IPv6; "*" is every interface
  uint16_t port = 0;   // tcp; 0: the publisher takes a free one
  std::string path;    // ipc: the socket; file: the folder
  std::string stream;  // tcp: its name; empty for whichever there is

  std::string endpoint() const;   // as ZeroMQ takes it
  std::string text() const;       // the URL
  bool stays_on_machine() const;  // no other machine can listen: ipc, file and loopback addresses
};

// Error: another scheme, no host, port or path, a path too long for a socket.
FormatExpected<StreamUrl> parse_stream_url(std::string_view text);

}  // namespace trama
