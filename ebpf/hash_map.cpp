#include "ebpf/hash_map.hpp"

#define XXH_INLINE_ALL
#include <sys/random.h>
#include <xxhash.h>

#include <bit>
#include <cerrno>
#include <cstring>

namespace trama::ebpf {

// Held for the few instructions that change one key: readers never take it.
class HashMap::Lock {
 public:
  explicit Lock(std::atomic_flag& flag) noexcept : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire))
      while (flag_.test(std::memory_order_relaxed)) {
      }
  }
  ~Lock() { flag_.clear(std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::atomic_flag& flag_;
};

Expected<void> HashMap::open(uint32_t replicas) {
  if (spec_.key_size == 0 || spec_.value_size == 0 || spec_.max_entries == 0)
    return refuse("map " + spec_.name + ": a hash map has keys, values and entries");
  lru_ = spec_.type == BPF_MAP_TYPE_LRU_HASH || spec_.type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
  per_cpu_ = spec_.type == BPF_MAP_TYPE_PERCPU_HASH || spec_.type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
  const uint32_t places = spec_.max_entries + 1 + kResting;
  if (auto made = make_values(places, replicas); !made) return made;
  layout_.reachable = true;
  layout_.writable = (spec_.flags & BPF_F_RDONLY_PROG) == 0;

  node_bytes_ = static_cast<uint32_t>(sizeof(Node)) + ((spec_.key_size + 7) & ~7u);
  bucket_mask_ = std::bit_ceil(spec_.max_entries) - 1;
  nodes_ = Arena(size_t{node_bytes_} * places);
  buckets_ = Arena((size_t{bucket_mask_} + 1) * sizeof(uint32_t));
  free_ = Arena(size_t{places} * sizeof(uint32_t));
  if (!nodes_.data() || !buckets_.data() || !free_.data())
    return refuse("map " + spec_.name + ": there is no memory for it", "make max_entries smaller");
  if (::getrandom(&seed_, sizeof seed_, 0) != sizeof seed_) seed_ = reinterpret_cast<uint64_t>(nodes_.data());
  resting_.reserve(kResting);
  switch (spec_.key_size) {
    case 2: lookup_ = lookup_in<2>; break;
    case 4: lookup_ = lookup_in<4>; break;
    case 8: lookup_ = lookup_in<8>; break;
    case 16: lookup_ = lookup_in<16>; break;
    default: lookup_ = lookup_in<0>;
  }
  return {};
}

// Numbers in chains are node numbers + 1, so that the zeros of a new arena are empty chains.
template <uint32_t kKeyBytes>
uint32_t HashMap::find(const uint8_t* key) const noexcept {
  const uint32_t bytes = kKeyBytes != 0 ? kKeyBytes : layout_.key_size;
  const uint64_t hash = XXH3_64bits_withSeed(key, bytes, seed_);
  const auto* bucket = reinterpret_cast<std::atomic<uint32_t>*>(buckets_.data()) + (hash & bucket_mask_);
  for (uint32_t link = bucket->load(std::memory_order_acquire); link != 0;) {
    Node& candidate = node(link - 1);
    if (std::memcmp(candidate.key(), key, bytes) == 0) return link - 1;
    link = candidate.next.load(std::memory_order_acquire);
  }
  return kNone;
}

template <uint32_t kKeyBytes>
uint8_t* HashMap::lookup_in(const Map* map, const uint8_t* key, Execution* execution) {
  const auto* self = static_cast<const HashMap*>(map);
  const uint32_t found = self->find<kKeyBytes>(key);
  if (found == kNone) return nullptr;
  // Not by a store: the node may have been unlinked meanwhile.
  uint32_t linked = kLinked;
  if (self->lru_) self->node(found).used.compare_exchange_strong(linked, kMarked | kLinked, std::memory_order_relaxed);
  return self->value_of(found, execution->cpu);
}

std::atomic<uint32_t>& HashMap::bucket_of(const uint8_t* key) const noexcept {
  const uint64_t hash = XXH3_64bits_withSeed(key, layout_.key_size, seed_);
  return reinterpret_cast<std::atomic<uint32_t>*>(buckets_.data())[hash & bucket_mask_];
}

void HashMap::link(uint32_t number) noexcept {
  Node& linked = node(number);
  std::atomic<uint32_t>& bucket = bucket_of(linked.key());
  linked.next.store(bucket.load(std::memory_order_relaxed), std::memory_order_relaxed);
  linked.used.store(kLinked, std::memory_order_relaxed);
  bucket.store(number + 1, std::memory_order_release);
  ++linked_;
}

// The node keeps its own `next`: a reader that stands on it finds its way.
void HashMap::unlink(uint32_t number) noexcept {
  Node& gone = node(number);
  std::atomic<uint32_t>* from = &bucket_of(gone.key());
  while (from->load(std::memory_order_relaxed) != number + 1)
    from = &node(from->load(std::memory_order_relaxed) - 1).next;
  from->store(gone.next.load(std::memory_order_relaxed), std::memory_order_release);
  gone.used.store(0, std::memory_order_relaxed);
  --linked_;
}

void HashMap::put_free(uint32_t number) noexcept { reinterpret_cast<uint32_t*>(free_.data())[free_count_++] = number; }

// There is always one: at most max_entries are linked and kResting rest.
uint32_t HashMap::take_free() noexcept {
  return free_count_ != 0 ? reinterpret_cast<uint32_t*>(free_.data())[--free_count_] : first_unused_++;
}

void HashMap::evict() noexcept {
  for (;;) {
    hand_ = hand_ + 1 < first_unused_ ? hand_ + 1 : 0;
    std::atomic<uint32_t>& used = node(hand_).used;
    const uint32_t state = used.load(std::memory_order_relaxed);
    if (state == (kLinked | kMarked)) used.store(kLinked, std::memory_order_relaxed);
    if (state == kLinked) break;
  }
  unlink(hand_);
  put_free(hand_);
}

// With the lock held. `old`: the node that has the key now, or kNone. The new node, complete but not linked; kNone:
// full.
uint32_t HashMap::new_node(const uint8_t* key, uint32_t old) noexcept {
  if (old == kNone && linked_ == spec_.max_entries) {
    if (!lru_) return kNone;
    evict();
  }
  const uint32_t number = take_free();
  std::memcpy(node(number).key(), key, layout_.key_size);
  return number;
}

namespace {

int check_flags(uint64_t flags, bool exists) {
  if (flags > BPF_EXIST) return -EINVAL;
  if (flags == BPF_NOEXIST && exists) return -EEXIST;
  if (flags == BPF_EXIST && !exists) return -ENOENT;
  return 0;
}

}  // namespace

int HashMap::update(const uint8_t* key, const uint8_t* value, uint64_t flags, Execution* execution) noexcept {
  const Lock lock(writing_);
  const uint32_t old = find<0>(key);
  if (const int wrong = check_flags(flags, old != kNone)) return wrong;
  if (old != kNone && per_cpu_) {
    std::memcpy(value_of(old, execution->cpu), value, layout_.value_size);
    return 0;
  }
  const uint32_t number = new_node(key, old);
  if (number == kNone) return -E2BIG;
  for (uint32_t copy = 0; copy < layout_.copies; ++copy)
    if (per_cpu_ && copy != execution->cpu) std::memset(value_of(number, copy), 0, layout_.value_size);
  std::memcpy(value_of(number, execution->cpu), value, layout_.value_size);
  link(number);
  if (old != kNone) {
    unlink(old);
    put_free(old);
  }
  return 0;
}

int HashMap::erase(const uint8_t* key, Execution*) noexcept {
  const Lock lock(writing_);
  const uint32_t old = find<0>(key);
  if (old == kNone) return -ENOENT;
  unlink(old);
  put_free(old);
  return 0;
}

// Control: nodes that it unlinked become free when no batch is under way any more that began before.
void HashMap::free_rested() {
  if (resting_.size() == kResting) epochs_.wait_for(resting_.front().epoch);
  const Lock lock(writing_);
  std::erase_if(resting_, [this](const Rest& rest) {
    if (!epochs_.passed(rest.epoch)) return false;
    put_free(rest.number);
    return true;
  });
}

Expected<void> HashMap::set(Bytes key, Bytes value, uint64_t flags) {
  if (auto good = check_sizes(key, value); !good) return good;
  const std::lock_guard control(control_);
  free_rested();
  uint32_t old = kNone;
  {
    const Lock lock(writing_);
    old = find<0>(key.data());
    const int wrong = check_flags(flags, old != kNone);
    if (wrong == -EEXIST) return refuse("map " + spec_.name + ": the key is there already");
    if (wrong != 0) return refuse("map " + spec_.name + ": the key isn't there");
    const uint32_t number = new_node(key.data(), old);
    if (number == kNone)
      return refuse("map " + spec_.name + " is full with " + std::to_string(spec_.max_entries) + " entries",
                    "make max_entries larger in the source");
    write_copies(number, value);
    link(number);
    if (old != kNone) unlink(old);
  }
  if (old != kNone) resting_.push_back({old, epochs_.retire()});
  return {};
}

Expected<void> HashMap::remove(Bytes key) {
  if (auto good = check_key(key); !good) return good;
  const std::lock_guard control(control_);
  free_rested();
  {
    const Lock lock(writing_);
    const uint32_t old = find<0>(key.data());
    if (old == kNone) return refuse("map " + spec_.name + ": the key isn't there");
    unlink(old);
    resting_.push_back({old, 0});
  }
  resting_.back().epoch = epochs_.retire();
  return {};
}

std::optional<std::vector<uint8_t>> HashMap::read(Bytes key) const {
  if (!check_key(key)) return std::nullopt;
  const Lock lock(writing_);
  const uint32_t found = find<0>(key.data());
  if (found == kNone) return std::nullopt;
  return copies_of(found);
}

void HashMap::for_each(const std::function<void(const MapEntry&)>& visit) const {
  const uint32_t places = spec_.max_entries + 1 + kResting;
  for (uint32_t number = 0; number < places; ++number) {
    MapEntry entry;
    {
      const Lock lock(writing_);
      if (number >= first_unused_) return;
      Node& candidate = node(number);
      if (candidate.used.load(std::memory_order_relaxed) == 0) continue;
      entry.key.assign(candidate.key(), candidate.key() + layout_.key_size);
      entry.value = copies_of(number);
    }
    visit(entry);
  }
}

MadeMap make_hash(const MapSpec& spec, uint32_t index, uint32_t replicas, Epochs& epochs) {
  auto map = std::make_unique<HashMap>(spec, index, epochs);
  if (auto opened = map->open(replicas); !opened) return tl::unexpected(opened.error());
  return map;
}

}  // namespace trama::ebpf
