// Where a stream of matrices is: the URL that publisher and subscriber are given.
//
//   trama+tcp://127.0.0.1:7801/roof     a publisher's stream `roof`; trama+tcp://[::1]:7801, trama+tcp://*:7801
//   (publish) trama+ipc:///run/trama/roof.sock    the same on one machine; a relative path too: trama+ipc://roof.sock
//   file:///var/lib/trama               a folder of archives
//   nats://127.0.0.1:4222/trama.roof    a subject of a NATS server, with ?store=NAME and ?domain=NAME for where
//   JetStream (nats+tls://USER:PASSWORD@HOST/..)  keeps it, if that isn't usual; nats+tls is encrypted
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "libclient/formats/error.hpp"

namespace trama {

struct StreamUrl {
  enum class Way { tcp, ipc, file, nats };
  Way way = Way::tcp;
  std::string host;            // tcp, nats: as given, without the brackets of IPv6; "*" is every interface
  uint16_t port = 0;           // tcp, nats; 0 of tcp: the publisher takes a free one
  std::string path;            // ipc: the socket; file: the folder
  std::string stream;          // tcp: its name; empty for whichever there is. nats: the subject
  bool encrypted = false;      // nats
  std::string user, password;  // nats; a user without a password is a token. Never in a text
  std::string store, domain;   // nats: name of the JetStream stream and of the domain it is in; empty for the usual

  std::string endpoint() const;   // as ZeroMQ takes it
  std::string text() const;       // the URL, without user and password
  bool stays_on_machine() const;  // no other machine can listen: ipc, file and loopback addresses
};

// Error: another scheme, no host, port or path, a path too long for a socket, not a subject.
FormatExpected<StreamUrl> parse_stream_url(std::string_view text);

// As it may be shown to anybody: without user and password, whether it is a URL or not.
std::string shown_stream_url(std::string_view text);

}  // namespace trama
