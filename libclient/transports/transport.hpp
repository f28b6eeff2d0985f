// How the windows of a stream get here: one class for each kind of URL, each with a thread of its own that fills a
// queue until the queue is closed. Part of subscriber.hpp, not meant for others.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "libclient/formats/stream_url.hpp"
#include "libclient/stream_queue.hpp"
#include "libclient/subscriber.hpp"

namespace trama {

struct TransportCounts {
  std::atomic<uint64_t> damaged{0}, sessions{0};
  std::atomic<bool> connected{false};
};

// The destructor waits for the thread; the queue must have been closed.
class Transport {
 public:
  virtual ~Transport() = default;
};

// Both outlive the transport.
std::unique_ptr<Transport> follow_publisher(const StreamUrl& url, const SubscribeOptions& options, StreamQueue& queue,
                                            TransportCounts& counts);
// Error: not a folder that can be read.
FormatExpected<std::unique_ptr<Transport>> follow_folder(const StreamUrl& url, const SubscribeOptions& options,
                                                         StreamQueue& queue, TransportCounts& counts);
// Error: a file that can't be used, a build without NATS.
FormatExpected<std::unique_ptr<Transport>> follow_nats(const StreamUrl& url, const SubscribeOptions& options,
                                                       StreamQueue& queue, TransportCounts& counts);

}  // namespace trama
