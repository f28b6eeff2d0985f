#include "control/bench/table.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <utility>
#include <vector>

namespace trama {
namespace {

constexpr uint64_t kBeside = uint64_t{512} << 20;
constexpr size_t kHugePage = size_t{2} << 20;

bool madvise_works() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string modes;
  std::getline(file, modes);
  return modes.find("[always]") != std::string::npos || modes.find("[madvise]") != std::string::npos;
}

}  // namespace

int AddressTable::bits_that_fit(int wanted, uint64_t available_bytes) {
  const uint64_t bytes = sizeof(uint32_t) << wanted;
  return bytes + kBeside <= available_bytes ? wanted : std::min(wanted, kSmallBits);
}

bool AddressTable::map() {
  const size_t bytes = sizeof(uint32_t) << bits_;
  const auto take = [&](size_t size, int flags) {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (memory == MAP_FAILED) return false;
    mapping_ = memory;
    mapped_bytes_ = size;
    return true;
  };
  if (bytes % kHugePage == 0 && take(bytes, MAP_HUGETLB)) {
    entries_ = static_cast<uint32_t*>(mapping_);
    pages_ = "huge pages (hugetlb)";
    return true;
  }
  if (!take(bytes + kHugePage, 0)) return false;
  const auto first = reinterpret_cast<uintptr_t>(mapping_);
  entries_ = reinterpret_cast<uint32_t*>((first + kHugePage - 1) / kHugePage * kHugePage);
  const bool huge = madvise(entries_, bytes, MADV_HUGEPAGE) == 0 && madvise_works();
  pages_ = huge ? "huge pages (madvise)" : "pages of ordinary size";
  return true;
}

Expected<AddressTable> AddressTable::make(int bits, const CryptoPan& crypto_pan) {
  constexpr size_t kAtOnce = 1 << 12;
  AddressTable table;
  table.bits_ = bits;
  table.mask_ = static_cast<uint32_t>((uint64_t{1} << bits) - 1);
  if (!table.map())
    return failure("there is no memory for a table of 2^" + std::to_string(bits) + " addresses",
                   "take a smaller one: --table-bits 20");
  std::vector<uint32_t> addresses(kAtOnce);
  for (uint64_t first = 0; first <= table.mask_; first += kAtOnce) {
    std::iota(addresses.begin(), addresses.end(), static_cast<uint32_t>(first));
    crypto_pan.anonymize(addresses.data(), table.entries_ + first, kAtOnce);
  }
  return table;
}

AddressTable::~AddressTable() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
}

AddressTable::AddressTable(AddressTable&& other) noexcept
    : bits_(other.bits_),
      mask_(other.mask_),
      mapped_bytes_(other.mapped_bytes_),
      mapping_(std::exchange(other.mapping_, nullptr)),
      entries_(std::exchange(other.entries_, nullptr)),
      pages_(other.pages_) {}

std::string AddressTable::description() const {
  return "a table of 2^" + std::to_string(bits_) + " entries on " + pages_;
}

}  // namespace trama
