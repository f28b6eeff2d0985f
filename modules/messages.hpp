// The messages of the packet pipeline. Arrays are sized once, from the graph's Sizes.
//
//   source -> PacketBatch -> parse -> AddressBatch -> stamp -> Window -> anonymize -> AnonymizedWindow -> build
//   -> TrafficMatrix -> serialize -> SerializedMatrix -> archive
//
// A Window and an AnonymizedWindow have the same contents and are two types: the checker then refuses any graph in
// which an original address could reach a matrix without a stage that was asked for it.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/message.hpp"
#include "libclient/formats/blob.hpp"
#include "libclient/formats/compact.hpp"
#include "libclient/formats/manifest.hpp"
#include "modules/support/capture_reader.hpp"
#include "modules/support/lazy_memory.hpp"
#include "modules/support/packet.hpp"
#include "modules/support/rules.hpp"
#include "modules/support/tallied.hpp"
#include "modules/support/traffic_matrix.hpp"

namespace trama {

// Up to batch_items packets in the order of their input. Number: the batch's, stamped on ingress.
struct PacketBatch : TalliedMessage {
  static constexpr const char* kName = "PacketBatch";
  explicit PacketBatch(const Sizes& sizes) : packets(sizes.batch_items) {}

  // A live source's packets lie in memory of the kernel or of a device, which it gives back when the batches that point
  // there are gone.
  void let_go() noexcept override {
    if (lease) lease->fetch_sub(1, std::memory_order_release);
    lease = nullptr;
    rules.give_back();
  }

  size_t count = 0;             // valid packets
  std::vector<Packet> packets;  // they point into `block`, or into what `lease` stands for
  PacketBlock block;
  std::atomic<uint32_t>* lease = nullptr;  // batches that still point there; owned by the source
  int64_t received_ns = 0;                 // when a live source handed it out, CLOCK_MONOTONIC; 0: not live
  RulesShare rules;                        // in force when it entered
  uint32_t judges = 0;                     // stages that have judged it by them
  bool synthetic = false;                  // made by the generator: nobody's addresses
};

// What is left of a batch: the address pairs of its counted packets, and every packet's verdict. Same number.
struct AddressBatch : TalliedMessage {
  static constexpr const char* kName = "AddressBatch";
  explicit AddressBatch(const Sizes& sizes)
      : source(sizes.batch_items),
        destination(sizes.batch_items),
        time_ns(sizes.batch_items),
        verdicts(sizes.batch_items) {}
  void let_go() noexcept override { rules.give_back(); }

  size_t count = 0;              // packets
  size_t pairs = 0;              // counted ones
  int64_t received_ns = 0;       // as PacketBatch's
  RulesShare rules;              // in force when it entered
  uint32_t judges = 0;           // stages that have judged it by them
  std::vector<uint32_t> source;  // `pairs` addresses; 1.2.3.4 is 0x01020304
  std::vector<uint32_t> destination;
  std::vector<int64_t> time_ns;   // of the counted packets
  std::vector<Verdict> verdicts;  // `count` verdicts, in packet order: where a window ends inside the batch, they
                                  // tell which packets were seen before its last pair
};

// What every form of a window carries along. The tally is that of all packets seen while it was filled.
// `skip` without pairs is the tail: packets seen after the last window. Number: the window's.
struct WindowMessage : TalliedMessage {
  void let_go() noexcept override {
    rules.give_back();
    key.reset();
  }

  int64_t first_ns = 0, last_ns = 0;  // earliest and latest time of its pairs
  ClosedBy closed_by = ClosedBy::full;
  RulesShare rules;                             // that it was filled under
  bool judged = false;                          // all its packets have met every stage that judges by them
  std::shared_ptr<const AnonymizationKey> key;  // that its addresses were anonymized under; set by that stage

  void take_over(const WindowMessage& from) {
    tally = from.tally;
    first_ns = from.first_ns;
    last_ns = from.last_ns;
    closed_by = from.closed_by;
    rules = from.rules;
    judged = from.judged;
    key = from.key;
    items = from.items;
  }
};

// Consecutive valid pairs, exactly window_items of them unless something else closed the window.
struct WindowPairs : WindowMessage {
  explicit WindowPairs(const Sizes& sizes)
      : memory(2 * LazyMemory::bytes_of<uint32_t>(sizes.window_items)),
        source(memory.take<uint32_t>(sizes.window_items)),
        destination(memory.take<uint32_t>(sizes.window_items)) {}

  size_t pairs = 0;
  LazyMemory memory;
  uint32_t* source;
  uint32_t* destination;
};
struct Window : WindowPairs {
  static constexpr const char* kName = "Window";
  using WindowPairs::WindowPairs;
};
struct AnonymizedWindow : WindowPairs {
  static constexpr const char* kName = "AnonymizedWindow";
  explicit AnonymizedWindow(const Sizes& sizes) : WindowPairs(sizes), summed(sizes.window_items) {}

  // Where pairs repeat much they were summed before they were anonymized. Then these links stand for the pairs: a
  // matrix but for the order of its rows and columns, which is still that of the original addresses, so that nothing
  // may show it.
  bool is_summed = false;
  MatrixStorage summed;
};

// The window's matrix: sorted and summed, hypersparse, 32-bit indices.
struct TrafficMatrix : WindowMessage {
  static constexpr const char* kName = "TrafficMatrix";
  explicit TrafficMatrix(const Sizes& sizes) : storage(sizes.window_items) {}

  MatrixStorage storage;
  IndexOrder index_order = IndexOrder::numeric;
};

// The window's matrix as bytes: a blob, or a compact matrix.
struct SerializedMatrix : WindowMessage {
  static constexpr const char* kName = "SerializedMatrix";
  explicit SerializedMatrix(const Sizes& sizes)
      : capacity(std::max(blob_bound(sizes.window_items), compact_bound(sizes.window_items))),
        memory(LazyMemory::bytes_of<uint8_t>(capacity)),
        blob(memory.take<uint8_t>(capacity)) {}

  size_t capacity;
  LazyMemory memory;
  uint8_t* blob;     // at least `capacity` bytes
  size_t bytes = 0;  // that the matrix takes there; 0 when the window could not be serialized
  uint64_t packets = 0, links = 0, sources = 0;
  IndexOrder index_order = IndexOrder::numeric;
  MatrixEncoding encoding = MatrixEncoding::blob;
  Compression compression = Compression::lz4;  // of a blob
};

}  // namespace trama
