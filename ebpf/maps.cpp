// The maps of an object together, and the LPM lists that are in force.
#include <algorithm>
#include <string>

#include "ebpf/lpm_map.hpp"
#include "ebpf/map.hpp"
#include "ebpf/map_types.hpp"

namespace trama::ebpf {

const char* map_type_name(uint32_t type) noexcept {
  constexpr const char* kNames[] = {"unspec",
                                    "hash",
                                    "array",
                                    "prog_array",
                                    "perf_event_array",
                                    "percpu_hash",
                                    "percpu_array",
                                    "stack_trace",
                                    "cgroup_array",
                                    "lru_hash",
                                    "lru_percpu_hash",
                                    "lpm_trie",
                                    "array_of_maps",
                                    "hash_of_maps",
                                    "devmap",
                                    "sockmap",
                                    "cpumap",
                                    "xskmap",
                                    "sockhash",
                                    "cgroup_storage",
                                    "reuseport_sockarray",
                                    "percpu_cgroup_storage",
                                    "queue",
                                    "stack",
                                    "sk_storage",
                                    "devmap_hash",
                                    "struct_ops",
                                    "ringbuf",
                                    "inode_storage",
                                    "task_storage",
                                    "bloom_filter",
                                    "user_ringbuf",
                                    "cgrp_storage",
                                    "arena"};
  return type < std::size(kNames) ? kNames[type] : nullptr;
}

// With what is kept beside each entry. Sizes that make_map() refuses count as nothing.
uint64_t most_bytes_of(const MapSpec& spec, uint32_t replicas) {
  constexpr uint64_t kBesideEntry = 16;
  if (spec.type == BPF_MAP_TYPE_RINGBUF || spec.value_size > kMaxMapBytes || spec.key_size > kMaxMapBytes) return 0;
  const uint64_t entry = (uint64_t{spec.value_size} + 7) * replicas + spec.key_size + kBesideEntry;
  return spec.max_entries > kMaxMapBytes / entry ? 0 : entry * spec.max_entries;
}

MadeMap make_map(const MapSpec& spec, uint32_t index, uint32_t replicas, Epochs& epochs) {
  constexpr uint64_t kMaxKeyBytes = 512;
  const uint64_t value_bytes = (uint64_t{spec.value_size} + 7) * replicas;
  if (spec.key_size > kMaxKeyBytes || spec.value_size > kMaxMapBytes ||
      (spec.type != BPF_MAP_TYPE_RINGBUF && spec.max_entries > kMaxMapBytes / (value_bytes + spec.key_size + 16)))
    return refuse("map " + spec.name + " takes more than 1 GiB", "make max_entries smaller");
  switch (spec.type) {
    case BPF_MAP_TYPE_ARRAY:
    case BPF_MAP_TYPE_PERCPU_ARRAY: return make_array(spec, index, replicas);
    case BPF_MAP_TYPE_HASH:
    case BPF_MAP_TYPE_PERCPU_HASH:
    case BPF_MAP_TYPE_LRU_HASH:
    case BPF_MAP_TYPE_LRU_PERCPU_HASH: return make_hash(spec, index, replicas, epochs);
    case BPF_MAP_TYPE_LPM_TRIE: return make_lpm(spec, index);
    case BPF_MAP_TYPE_PROG_ARRAY: return make_program_array(spec, index);
    case BPF_MAP_TYPE_XSKMAP: return make_socket_array(spec, index);
    case BPF_MAP_TYPE_RINGBUF:
    case BPF_MAP_TYPE_PERF_EVENT_ARRAY: return make_event_map(spec, index);
    default: break;
  }
  const char* const name = map_type_name(spec.type);
  return refuse("map " + spec.name + " is of type " + (name ? std::string(name) : std::to_string(spec.type)) +
                    ", which isn't supported",
                "supported are array, hash, LRU hash (each also per CPU), lpm_trie, prog_array, ringbuf, "
                "perf_event_array and xskmap");
}

Expected<std::unique_ptr<Maps>> Maps::create(const Object& object, uint32_t replicas) {
  if (replicas == 0 || replicas > kMaxReplicas)
    return refuse("maps are made for 1 to " + std::to_string(kMaxReplicas) + " replicas");
  if (object.maps.size() > kMaxMaps) return refuse("an object has at most " + std::to_string(kMaxMaps) + " maps");
  std::unique_ptr<Maps> made(new Maps);
  for (uint32_t replica = 0; replica < replicas; ++replica) made->readers_.push_back(made->epochs_.add_reader());
  uint64_t bytes = 0;
  for (uint32_t index = 0; index < object.maps.size(); ++index) {
    bytes += most_bytes_of(object.maps[index], replicas);
    if (bytes > kMaxMapBytes) return refuse("the object's maps take more than 1 GiB", "make max_entries smaller");
    MadeMap map = make_map(object.maps[index], index, replicas, made->epochs_);
    if (!map) return tl::unexpected(map.error());
    if (auto* lpm = dynamic_cast<LpmMap*>(map->get())) lpm->belongs_to(*made);
    made->pointers_.push_back(map->get());
    made->maps_.push_back(std::move(*map));
  }
  made->no_list_ = std::make_unique<LpmTable>(std::vector<LpmPrefix>(), 1);
  auto first = std::make_shared<Generation>();
  first->number = ++made->last_number_;
  first->lists.resize(object.maps.size());
  made->current_ = std::move(first);
  made->in_force_ = made->current_.get();
  return made;
}

Maps::~Maps() = default;

Map* Maps::find(std::string_view name) const noexcept {
  const auto found =
      std::find_if(pointers_.begin(), pointers_.end(), [name](const Map* map) { return map->spec().name == name; });
  return found == pointers_.end() ? nullptr : *found;
}

void Maps::attach(Execution& execution, uint32_t replica) noexcept {
  execution.cpu = replica;
  execution.map_count = size();
  execution.maps = pointers();
  for (uint32_t map = 0; map < size(); ++map) execution.own_values[map] = maps_[map]->layout().own_copy(replica);
  execution.generation = 0;
}

void Maps::use(Execution& execution, const Generation& generation) const noexcept {
  if (execution.generation == generation.number) return;
  for (size_t map = 0; map < generation.lists.size(); ++map) {
    const LpmTable* const table = generation.lists[map] ? &generation.lists[map]->table() : nullptr;
    execution.tables[map] = table;
    execution.roots[map] = (table ? table : no_list_.get())->root();
    execution.tails[map] = table ? table->short_tails() : nullptr;
  }
  execution.generation = generation.number;
}

void Maps::begin_batch(Execution& execution) noexcept {
  readers_[execution.cpu].enter();
  use(execution, *in_force_.load());
}

void Maps::begin_batch(Execution& execution, const Generation& generation) noexcept {
  readers_[execution.cpu].enter();
  use(execution, generation);
}

void Maps::end_batch(Execution& execution) noexcept { readers_[execution.cpu].leave(); }

GenerationPtr Maps::generation() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

Expected<GenerationPtr> Maps::prepare_locked(uint32_t map, std::span<const Prefix> prefixes) {
  const auto* lpm = map < size() ? dynamic_cast<const LpmMap*>(pointers_[map]) : nullptr;
  if (!lpm) return refuse("only an LPM trie has a list that can be replaced");
  free_passed();
  auto list = lpm->make_list(prefixes, current_->lists[map].get());
  if (!list) return tl::unexpected(list.error());
  auto next = std::make_shared<Generation>(*current_);
  next->number = ++last_number_;
  next->lists[map] = std::move(*list);
  return next;
}

void Maps::publish_locked(GenerationPtr generation) {
  std::swap(current_, generation);
  in_force_.store(current_.get());
  retired_.push_back({std::move(generation), epochs_.retire()});
  free_passed();
}

// Readers copy pointers to tables when a batch begins, and may keep them when the generation is still the same: what
// they copied is used within batches only.
void Maps::free_passed() {
  std::erase_if(retired_, [this](const Retired& retired) { return epochs_.passed(retired.epoch); });
}

Expected<GenerationPtr> Maps::prepare(uint32_t map, std::span<const Prefix> prefixes) {
  const std::lock_guard lock(mutex_);
  return prepare_locked(map, prefixes);
}

void Maps::publish(GenerationPtr generation) {
  const std::lock_guard lock(mutex_);
  publish_locked(std::move(generation));
}

Expected<GenerationPtr> Maps::replace(uint32_t map, std::span<const Prefix> prefixes) {
  const std::lock_guard lock(mutex_);
  auto next = prepare_locked(map, prefixes);
  if (next) publish_locked(*next);
  return next;
}

Expected<void> Maps::change_prefix(uint32_t map, Bytes key, std::optional<Bytes> value, uint64_t flags) {
  const std::lock_guard lock(mutex_);
  const auto& lpm = static_cast<const LpmMap&>(*pointers_[map]);
  if (auto good = lpm.check_prefix(key); !good) return good;
  const auto& list = current_->lists[map];
  std::vector<Prefix> prefixes;
  if (list) prefixes = lpm.prefixes_of(*list);
  const LpmPrefix changed = lpm.prefix_of(key);
  const auto there = std::find_if(prefixes.begin(), prefixes.end(), [&](const Prefix& prefix) {
    const LpmPrefix other = lpm.prefix_of(prefix.key);
    return other.length == changed.length && other.key == changed.key;
  });
  const bool exists = there != prefixes.end();
  if (!exists && (!value || flags == BPF_EXIST)) return refuse("map " + lpm.spec().name + ": the prefix isn't there");
  if (exists && value && flags == BPF_NOEXIST)
    return refuse("map " + lpm.spec().name + ": the prefix is there already");
  if (exists) prefixes.erase(there);
  if (value) prefixes.push_back({{key.begin(), key.end()}, {value->begin(), value->end()}});
  auto next = prepare_locked(map, prefixes);
  if (!next) return tl::unexpected(next.error());
  publish_locked(*next);
  return {};
}

}  // namespace trama::ebpf
