// The socket that subscribers of a stream connect to: taken at setup, when the command still has its privileges and
// errors are said, and handed to ZeroMQ later.
#pragma once
#include "engine/diagnostic.hpp"
#include "libclient/formats/file_bytes.hpp"
#include "libclient/formats/stream_url.hpp"

namespace trama {

struct StreamListener {
  FileDescriptor descriptor;
  StreamUrl url;  // with the port that was taken where the wanted URL has none

  // Error: the address is not of this machine or taken; for ipc also: something else is in the place of the socket. A
  // socket that nobody listens at any more is removed.
  static Expected<StreamListener> open(StreamUrl url);
};

// Whoever connects takes a descriptor, also before it has said anything: as many as this process may have.
void raise_descriptor_limit();

}  // namespace trama
