// One window from its pairs to its blob, two ways, each behind one call: ours, and the published one. All that `trama
// bench` compares as a whole goes through here.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "control/bench/table.hpp"
#include "control/bench/traffic.hpp"
#include "engine/diagnostic.hpp"
#include "modules/support/crypto_pan.hpp"
#include "modules/support/lazy_memory.hpp"

namespace trama {

// The key that is measured with: the example of the original Crypto-PAn, which nobody's addresses are anonymized under.
inline constexpr std::array<uint8_t, 32> kBenchKey = {21,  34, 23,  141, 51, 164, 207, 128, 19,  10,  91,
                                                      22,  73, 144, 125, 16, 216, 152, 143, 131, 121, 121,
                                                      101, 39, 98,  87,  76, 45,  42,  132, 34,  2};

// Has the buffers of one thread, and is used by one thread at a time.
class WindowWorker {
 public:
  virtual ~WindowWorker() = default;
  // The blob of a window, LZ4; valid until the next call. Empty when something failed.
  virtual std::span<const uint8_t> blob_of(const WindowView& window) = 0;
};

// WindowAnonymizer, MatrixBuilder or MatrixSorter, BlobWriter. Without crypto_pan (null) addresses stay as they are; it
// is shared.
std::unique_ptr<WindowWorker> make_own_worker(size_t most_packets, const CryptoPan* crypto_pan);
// Table, GrB_Matrix_build, GxB_Matrix_serialize. Without a table (null) addresses stay as they are, and are only
// widened to GrB_Index, which is under 1 % of the whole.
std::unique_ptr<WindowWorker> make_published_worker(size_t most_packets, const AddressTable* table);

// Error unless both blobs can be read and hold the same matrix.
Expected<void> same_matrices(std::span<const uint8_t> ours, std::span<const uint8_t> theirs);

// A TAR archive that is written into memory, and begun anew when it is full.
class MemoryTar {
 public:
  MemoryTar(size_t windows, size_t most_packets);                       // touches memory only as far as blobs reach
  bool append(std::span<const uint8_t> blob);                           // false for an empty one
  std::span<const uint8_t> bytes() const { return {archive_, used_}; }  // with its end blocks when it is full

 private:
  const size_t windows_, capacity_;
  LazyMemory memory_;
  uint8_t* archive_;
  size_t used_ = 0, members_ = 0;
};

inline constexpr size_t kWindowsOfArchive = 64;

}  // namespace trama
