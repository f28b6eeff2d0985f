// trama+tcp:// and trama+ipc://: a StreamPublisher as the stage `publish` uses it.
#pragma once
#include "modules/support/stream_publisher.hpp"
#include "modules/support/window_outlet.hpp"

namespace trama {

// Listens at once: what is in the way is said before the run begins.
Expected<MakeOutlet> open_stream_outlet(const StreamConfig& config, const StreamUrl& url);

}  // namespace trama
