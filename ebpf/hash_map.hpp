// Hash maps: shared, per CPU, and the LRU ones. Chains of nodes, linked by numbers; node i has value i of the arena.
//
// Programs look up without a lock while control changes the map: a node is linked when it is complete, and one that
// control unlinked is used again only after every replica has ended its batch. What a program unlinks it may use again
// at once, as in the kernel: programs that change keys run in one replica.
//
// As in the kernel, an update of an existing key puts a new node in front of the old one, so that readers see one value
// or the other; per CPU it writes the own copy in place. The LRU ones evict by the clock algorithm: a lookup marks the
// entry, and a hand that goes round takes the first entry it finds unmarked. The kernel's choice differs.
#pragma once
#include <atomic>
#include <vector>

#include "ebpf/map_types.hpp"

namespace trama::ebpf {

class HashMap final : public Map {
 public:
  HashMap(const MapSpec& spec, uint32_t index, Epochs& epochs) : Map(spec, index), epochs_(epochs) {}
  Expected<void> open(uint32_t replicas);

  int update(const uint8_t* key, const uint8_t* value, uint64_t flags, Execution* execution) noexcept override;
  int erase(const uint8_t* key, Execution* execution) noexcept override;

  Expected<void> set(Bytes key, Bytes value, uint64_t flags) override;
  Expected<void> remove(Bytes key) override;
  std::optional<std::vector<uint8_t>> read(Bytes key) const override;
  void for_each(const std::function<void(const MapEntry&)>& visit) const override;

 private:
  static constexpr uint32_t kNone = 0xffffffff;
  static constexpr uint32_t kResting = 64;  // nodes that control unlinked and that may still be read

  struct Node {
    std::atomic<uint32_t> next;
    std::atomic<uint32_t> used;  // kLinked; kMarked: looked up since the hand passed
    // key_size bytes behind it
    uint8_t* key() { return reinterpret_cast<uint8_t*>(this + 1); }
  };
  static constexpr uint32_t kMarked = 1, kLinked = 2;

  class Lock;  // of writers

  Node& node(uint32_t number) const noexcept {
    return *reinterpret_cast<Node*>(nodes_.data() + size_t{number} * node_bytes_);
  }
  uint8_t* value_of(uint32_t number, uint32_t cpu) const noexcept {
    return layout_.own_copy(cpu) + size_t{number} * layout_.stride;
  }
  template <uint32_t kKeyBytes>  // 0: any
  static uint8_t* lookup_in(const Map* map, const uint8_t* key, Execution* execution);
  template <uint32_t kKeyBytes>
  uint32_t find(const uint8_t* key) const noexcept;  // kNone: it isn't there
  std::atomic<uint32_t>& bucket_of(const uint8_t* key) const noexcept;

  // With the lock held.
  void link(uint32_t number) noexcept;
  void unlink(uint32_t number) noexcept;
  void put_free(uint32_t number) noexcept;
  uint32_t take_free() noexcept;
  void evict() noexcept;
  uint32_t new_node(const uint8_t* key, uint32_t old) noexcept;

  void free_rested();  // with control_ held

  Epochs& epochs_;
  bool per_cpu_ = false, lru_ = false;
  uint64_t seed_ = 0;  // so that nobody can choose keys that fall into one chain
  uint32_t node_bytes_ = 0, bucket_mask_ = 0;
  Arena nodes_, buckets_;
  Arena free_;  // stack of node numbers
  uint32_t free_count_ = 0;
  uint32_t first_unused_ = 0;  // node numbers from here on were never used
  uint32_t linked_ = 0;
  uint32_t hand_ = 0;
  mutable std::atomic_flag writing_;
  struct Rest {
    uint32_t number;
    uint64_t epoch;
  };
  std::vector<Rest> resting_;  // control only
  mutable std::mutex control_;
};

}  // namespace trama::ebpf
