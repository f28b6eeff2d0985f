// Arrays: of values, of values per CPU, of programs and of sockets. Keys are u32 indices in host order.
#include <cerrno>
#include <cstring>

#include "ebpf/map_types.hpp"

namespace trama::ebpf {
namespace {

uint32_t index_of(const uint8_t* key) {
  uint32_t index;
  std::memcpy(&index, key, sizeof index);
  return index;
}

uint8_t* lookup_array(const Map* map, const uint8_t* key, Execution*) {
  const MapLayout& layout = map->layout();
  const uint32_t index = index_of(key);
  return index < layout.max_entries ? layout.values + size_t{index} * layout.stride : nullptr;
}

uint8_t* lookup_array_of_cpu(const Map* map, const uint8_t* key, Execution* execution) {
  const MapLayout& layout = map->layout();
  const uint32_t index = index_of(key);
  return index < layout.max_entries ? layout.own_copy(execution->cpu) + size_t{index} * layout.stride : nullptr;
}

class ArrayMap : public Map {
 public:
  ArrayMap(const MapSpec& spec, uint32_t index) : Map(spec, index) {}

  Expected<void> open(uint32_t replicas) {
    if (spec_.key_size != 4 || spec_.value_size == 0 || spec_.max_entries == 0)
      return refuse("map " + spec_.name + ": an array has keys of 4 bytes, and values and entries");
    if (auto made = make_values(spec_.max_entries, replicas); !made) return made;
    const bool per_cpu = spec_.type == BPF_MAP_TYPE_PERCPU_ARRAY;
    lookup_ = per_cpu ? lookup_array_of_cpu : lookup_array;
    layout_.reachable = true;
    layout_.writable = spec_.section != Section::rodata && (spec_.flags & BPF_F_RDONLY_PROG) == 0;
    if (spec_.initial_value.size() == spec_.value_size) write_copies(0, spec_.initial_value);
    return {};
  }

  int update(const uint8_t* key, const uint8_t* value, uint64_t flags, Execution* execution) noexcept override {
    if (flags > BPF_EXIST) return -EINVAL;
    if (index_of(key) >= spec_.max_entries) return -E2BIG;
    if (flags == BPF_NOEXIST) return -EEXIST;
    std::memcpy(lookup_(this, key, execution), value, spec_.value_size);
    return 0;
  }

  Expected<void> set(Bytes key, Bytes value, uint64_t flags) override {
    if (auto good = check_sizes(key, value); !good) return good;
    if (index_of(key.data()) >= spec_.max_entries || flags == BPF_NOEXIST)
      return refuse("map " + spec_.name + ": it has the entries 0 to " + std::to_string(spec_.max_entries - 1));
    write_copies(index_of(key.data()), value);
    return {};
  }

  std::optional<std::vector<uint8_t>> read(Bytes key) const override {
    if (!check_key(key) || index_of(key.data()) >= spec_.max_entries) return std::nullopt;
    return copies_of(index_of(key.data()));
  }

  void for_each(const std::function<void(const MapEntry&)>& visit) const override {
    for (uint32_t index = 0; index < spec_.max_entries; ++index) {
      MapEntry entry{std::vector<uint8_t>(sizeof index), copies_of(index)};
      std::memcpy(entry.key.data(), &index, sizeof index);
      visit(entry);
    }
  }
};

// Slots that hold a u32, which programs can't look up: number of a program + 1, or "a socket is here". 0: empty.
class SlotMap : public Map {
 public:
  SlotMap(const MapSpec& spec, uint32_t index) : Map(spec, index) {}

  Expected<void> open() {
    if (spec_.key_size != 4 || spec_.value_size != 4 || spec_.max_entries == 0)
      return refuse("map " + spec_.name + ": its keys and values have 4 bytes, and it has entries");
    if (auto made = make_values(spec_.max_entries, 1); !made) return made;
    for (uint32_t slot = 0; slot < spec_.program_slots.size() && slot < spec_.max_entries; ++slot)
      store(slot, static_cast<uint32_t>(spec_.program_slots[slot] + 1));
    return {};
  }

  int erase(const uint8_t* key, Execution*) noexcept override {
    const uint32_t slot = index_of(key);
    if (slot >= spec_.max_entries) return -E2BIG;
    return place(slot).exchange(0) == 0 ? -ENOENT : 0;
  }

  Expected<void> set(Bytes key, Bytes value, uint64_t) override {
    if (auto good = check_sizes(key, value); !good) return good;
    if (index_of(key.data()) >= spec_.max_entries)
      return refuse("map " + spec_.name + ": it has " + std::to_string(spec_.max_entries) + " slots");
    store(index_of(key.data()), index_of(value.data()));
    return {};
  }

  Expected<void> remove(Bytes key) override {
    if (auto good = check_key(key); !good) return good;
    if (erase(key.data(), nullptr) != 0) return refuse("map " + spec_.name + ": the slot is empty");
    return {};
  }

  std::optional<std::vector<uint8_t>> read(Bytes key) const override {
    if (!check_key(key) || index_of(key.data()) >= spec_.max_entries) return std::nullopt;
    return copies_of(index_of(key.data()));
  }

  void for_each(const std::function<void(const MapEntry&)>& visit) const override {
    for (uint32_t slot = 0; slot < spec_.max_entries; ++slot) {
      MapEntry entry{std::vector<uint8_t>(sizeof slot), copies_of(slot)};
      if (index_of(entry.value.data()) == 0) continue;
      std::memcpy(entry.key.data(), &slot, sizeof slot);
      visit(entry);
    }
  }

 private:
  std::atomic_ref<uint32_t> place(uint32_t slot) const {
    return std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(layout_.values + size_t{slot} * layout_.stride));
  }
  void store(uint32_t slot, uint32_t value) { place(slot).store(value, std::memory_order_release); }
};

template <class Type, class... Arguments>
MadeMap open(const MapSpec& spec, uint32_t index, Arguments... arguments) {
  auto map = std::make_unique<Type>(spec, index);
  if (auto opened = map->open(arguments...); !opened) return tl::unexpected(opened.error());
  return map;
}

}  // namespace

MadeMap make_array(const MapSpec& spec, uint32_t index, uint32_t replicas) {
  return open<ArrayMap>(spec, index, replicas);
}
MadeMap make_program_array(const MapSpec& spec, uint32_t index) { return open<SlotMap>(spec, index); }
MadeMap make_socket_array(const MapSpec& spec, uint32_t index) { return open<SlotMap>(spec, index); }

Expected<void> set_program(Map& map, uint32_t slot, int32_t program) {
  if (map.spec().type != BPF_MAP_TYPE_PROG_ARRAY) return refuse("map " + map.spec().name + " is no program array");
  const auto value = static_cast<uint32_t>(program + 1);
  const auto bytes = [](const uint32_t& number) {
    return Bytes(reinterpret_cast<const uint8_t*>(&number), sizeof number);
  };
  return map.set(bytes(slot), bytes(value));
}

int64_t slot_value(const Map& map, uint64_t slot) noexcept {
  const MapLayout& layout = map.layout();
  if (slot >= layout.max_entries) return -1;
  auto* const place = reinterpret_cast<uint32_t*>(layout.values + slot * layout.stride);
  return int64_t{std::atomic_ref<uint32_t>(*place).load(std::memory_order_acquire)} - 1;
}

}  // namespace trama::ebpf
