// Anonymization as the published programs do it: a table with the image of every address, looked up twice a packet.
//
// That of all addresses takes 16 GiB. This one knows those below 2^bits; others are looked up by their lower bits, so
// that the table costs what a lookup in a big table costs (misses in the caches and in the TLB) for any traffic.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/diagnostic.hpp"
#include "modules/support/crypto_pan.hpp"

namespace trama {

class AddressTable {
 public:
  static constexpr int kLeastBits = 16, kSmallBits = 24, kMostBits = 28;

  // As many bits as are wanted where the table, and half a GiB beside it, fits into what is available; kSmallBits (64
  // MiB), or fewer if fewer are wanted, where not.
  static int bits_that_fit(int wanted, uint64_t available_bytes);

  // Takes 4 * 2^bits bytes, on huge pages if the system has any, and fills them: 2 s for 2^28. Error: no memory.
  static Expected<AddressTable> make(int bits, const CryptoPan& crypto_pan);
  ~AddressTable();
  AddressTable(AddressTable&& other) noexcept;
  AddressTable& operator=(AddressTable&&) = delete;

  uint32_t image(uint32_t address) const { return entries_[address & mask_]; }
  uint32_t mask() const { return mask_; }  // addresses & mask() are those it knows
  std::string description() const;         // "a table of 2^28 entries on huge pages (madvise)"

 private:
  AddressTable() = default;
  bool map();

  int bits_ = 0;
  uint32_t mask_ = 0;
  size_t mapped_bytes_ = 0;
  void* mapping_ = nullptr;
  uint32_t* entries_ = nullptr;
  const char* pages_ = "";
};

}  // namespace trama
