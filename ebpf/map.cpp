#include "ebpf/map.hpp"

#include <cerrno>
#include <cstring>

namespace trama::ebpf {
namespace {

bool has_copies(uint32_t type) {
  return type == BPF_MAP_TYPE_PERCPU_ARRAY || type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

}  // namespace

int Map::update(const uint8_t*, const uint8_t*, uint64_t, Execution*) noexcept { return -EINVAL; }
int Map::erase(const uint8_t*, Execution*) noexcept { return -EINVAL; }

Expected<void> Map::set(Bytes, Bytes, uint64_t) { return refuse("map " + spec_.name + " has no values to set"); }
Expected<void> Map::remove(Bytes) { return refuse("map " + spec_.name + " has no keys to take away"); }
std::optional<std::vector<uint8_t>> Map::read(Bytes) const { return std::nullopt; }

Expected<void> Map::make_values(uint32_t elements, uint32_t replicas) {
  layout_.type = spec_.type;
  layout_.key_size = spec_.key_size;
  layout_.value_size = spec_.value_size;
  layout_.max_entries = spec_.max_entries;
  layout_.elements = elements;
  layout_.stride = (spec_.value_size + 7) & ~7u;
  const uint64_t copy = (uint64_t{layout_.stride} * elements + 63) & ~uint64_t{63};
  const bool copies = has_copies(spec_.type);
  layout_.copies = copies ? replicas : 1;
  layout_.copy_bytes = copies ? copy : 0;
  arena_ = Arena(copy * layout_.copies);
  if (!arena_.data()) return refuse("map " + spec_.name + ": there is no memory for it", "make max_entries smaller");
  layout_.values = arena_.data();
  return {};
}

Expected<void> Map::check_key(Bytes key) const {
  if (key.size() == spec_.key_size) return {};
  return refuse("map " + spec_.name + ": keys have " + std::to_string(spec_.key_size) + " bytes, not " +
                std::to_string(key.size()));
}

Expected<void> Map::check_sizes(Bytes key, Bytes value) const {
  if (auto good = check_key(key); !good) return good;
  if (value.size() == spec_.value_size || value.size() == size_t{spec_.value_size} * layout_.copies) return {};
  return refuse("map " + spec_.name + ": values have " + std::to_string(spec_.value_size) + " bytes, not " +
                std::to_string(value.size()));
}

std::vector<uint8_t> Map::copies_of(uint32_t element) const {
  std::vector<uint8_t> copies(size_t{layout_.value_size} * layout_.copies);
  for (uint32_t copy = 0; copy < layout_.copies; ++copy)
    std::memcpy(copies.data() + size_t{copy} * layout_.value_size,
                layout_.own_copy(copy) + size_t{element} * layout_.stride, layout_.value_size);
  return copies;
}

void Map::write_copies(uint32_t element, Bytes value) noexcept {
  const bool one_for_all = value.size() == layout_.value_size;
  for (uint32_t copy = 0; copy < layout_.copies; ++copy)
    std::memcpy(layout_.own_copy(copy) + size_t{element} * layout_.stride,
                value.data() + (one_for_all ? 0 : size_t{copy} * layout_.value_size), layout_.value_size);
}

}  // namespace trama::ebpf
