// The maps of one loaded object, in user space: what programs see of them, and what the control plane sees.
//
// Programs get the kernel's semantics: results are 0 or a negative error number, flags are BPF_ANY, BPF_NOEXIST and
// BPF_EXIST. Values lie in one arena per map that never moves, so that "is this address inside a value" is one range
// test, and a pointer that a program holds stays good. Nothing on this side allocates or waits, except that update and
// erase of a hash map may spin for the few instructions of another writer.
//
// Types: array, per-CPU array, hash, per-CPU hash, LRU hash, per-CPU LRU hash, LPM trie, program array, ring buffer and
// perf event array (records are counted and go to EventSink), XSKMAP (which slots are taken; no socket behind them).
//
// "Per CPU" is per replica: a replica has its copy, whichever thread runs it. bpf_map_update_elem writes the own copy.
//
// The LPM trie is immutable: control makes a new list as a whole, and a batch sees one list from its first packet to
// its last (Execution::tables). Programs may write to its values but not add or take away prefixes.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ebpf/arena.hpp"
#include "ebpf/epochs.hpp"
#include "ebpf/error.hpp"
#include "ebpf/execution.hpp"
#include "ebpf/object.hpp"

namespace trama::ebpf {

class LpmList;
class LpmTable;

constexpr uint64_t kMaxMapBytes = 1ull << 30;  // of one map's values and keys
constexpr uint32_t kMaxReplicas = 256;

// Where values lie. Element i of copy c: values + c * copy_bytes + i * stride.
struct MapLayout {
  uint8_t* values = nullptr;
  uint64_t copy_bytes = 0;  // 0: one copy for all replicas
  uint32_t copies = 1;      // 1, or the number of replicas
  uint32_t elements = 0;    // places for values in one copy; hash and LPM maps have some to spare
  uint32_t stride = 0;      // value_size rounded up to 8
  uint32_t key_size = 0, value_size = 0, max_entries = 0;
  uint32_t type = 0;       // BPF_MAP_TYPE_*
  bool reachable = false;  // programs may have pointers to values
  bool writable = false;   // and write through them

  uint8_t* own_copy(uint32_t cpu) const noexcept { return values + copy_bytes * cpu; }
};

// The value of a key, or null. The key's bytes must be readable; nothing is checked. The fastest way for
// this very map (its type and key size).
using LookupFunction = uint8_t* (*)(const Map* map, const uint8_t* key, Execution* execution);

using Bytes = std::span<const uint8_t>;
struct MapEntry {
  std::vector<uint8_t> key;
  std::vector<uint8_t> value;  // of all copies, one behind the other, value_size each
};

class Map {
 public:
  virtual ~Map() = default;
  Map(const Map&) = delete;
  Map& operator=(const Map&) = delete;

  const MapSpec& spec() const noexcept { return spec_; }
  uint32_t index() const noexcept { return index_; }
  const MapLayout& layout() const noexcept { return layout_; }

  // --- programs: on the way of packets. Sizes are the spec's; nothing is checked.
  LookupFunction lookup_function() const noexcept { return lookup_; }  // null: programs can't look up in this type
  uint8_t* lookup(const uint8_t* key, Execution* execution) const noexcept {
    return lookup_ ? lookup_(this, key, execution) : nullptr;
  }
  virtual int update(const uint8_t* key, const uint8_t* value, uint64_t flags, Execution* execution) noexcept;
  virtual int erase(const uint8_t* key, Execution* execution) noexcept;

  // --- control: any thread, also while programs run. Keys and values must have the spec's sizes.
  // A value of value_size bytes goes into every copy; one of copies * value_size gives each copy its own.
  virtual Expected<void> set(Bytes key, Bytes value, uint64_t flags = BPF_ANY);
  virtual Expected<void> remove(Bytes key);
  virtual std::optional<std::vector<uint8_t>> read(Bytes key) const;  // all copies
  // Every entry. Entries that change meanwhile are seen before or after, arrays and counters possibly in between.
  virtual void for_each(const std::function<void(const MapEntry&)>& visit) const = 0;

 protected:
  Map(const MapSpec& spec, uint32_t index) : spec_(spec), index_(index) {}
  // Makes the arena and fills layout_.
  Expected<void> make_values(uint32_t elements, uint32_t copies);
  Expected<void> check_sizes(Bytes key, Bytes value) const;
  Expected<void> check_key(Bytes key) const;
  std::vector<uint8_t> copies_of(uint32_t element) const;
  void write_copies(uint32_t element, Bytes value) noexcept;

  MapSpec spec_;
  uint32_t index_;
  MapLayout layout_;
  Arena arena_;
  LookupFunction lookup_ = nullptr;
};

// One prefix of a new list. The key as the kernel has it: u32 prefix length in host order, then the address bytes.
struct Prefix {
  std::vector<uint8_t> key;
  std::vector<uint8_t> value;  // value_size bytes; empty: keeps the value this prefix has now, or zeros
};

// The LPM lists in force at one moment, by map (null: none, or another type). Immutable; whoever holds it keeps its
// lists alive.
struct Generation {
  uint64_t number = 0;
  std::vector<std::shared_ptr<const LpmList>> lists;
};
using GenerationPtr = std::shared_ptr<const Generation>;

class Maps {
 public:
  // Replicas: how many executions may be attached. Refuses types and sizes that aren't supported, naming the map.
  static Expected<std::unique_ptr<Maps>> create(const Object& object, uint32_t replicas);
  ~Maps();

  uint32_t size() const noexcept { return static_cast<uint32_t>(maps_.size()); }
  Map& operator[](uint32_t index) const noexcept { return *maps_[index]; }
  Map* find(std::string_view name) const noexcept;  // null: there is none
  Map* const* pointers() const noexcept { return pointers_.data(); }

  // --- replicas. attach at setup, once for each replica number; the others around each batch.
  void attach(Execution& execution, uint32_t replica) noexcept;
  void begin_batch(Execution& execution) noexcept;  // under the lists in force
  // Under the lists of a certain generation, which the caller keeps alive until end_batch: so a list can hold from one
  // batch number on, whatever the order in which replicas take batches.
  void begin_batch(Execution& execution, const Generation& generation) noexcept;
  void end_batch(Execution& execution) noexcept;

  // --- control: any thread. The lists in force with one of them replaced; not yet in force. Refuses keys of wrong size
  // or length, more prefixes than max_entries, and more lists than there are places for while old ones are still used.
  Expected<GenerationPtr> prepare(uint32_t map, std::span<const Prefix> prefixes);
  void publish(GenerationPtr generation);
  Expected<GenerationPtr> replace(uint32_t map, std::span<const Prefix> prefixes);  // prepare and publish
  GenerationPtr generation() const;                                                 // in force

 private:
  Maps() = default;
  friend class LpmMap;
  // Adds, changes or (without a value) takes away one prefix.
  Expected<void> change_prefix(uint32_t map, Bytes key, std::optional<Bytes> value, uint64_t flags);
  Expected<GenerationPtr> prepare_locked(uint32_t map, std::span<const Prefix> prefixes);
  void publish_locked(GenerationPtr generation);
  void free_passed();
  void use(Execution& execution, const Generation& generation) const noexcept;

  std::vector<std::unique_ptr<Map>> maps_;
  std::vector<Map*> pointers_;
  Epochs epochs_;
  std::vector<Epochs::Reader> readers_;  // by replica
  std::atomic<const Generation*> in_force_{nullptr};
  mutable std::mutex mutex_;  // control only
  GenerationPtr current_;
  std::unique_ptr<const LpmTable> no_list_;  // stands for a list that nobody has given
  uint64_t last_number_ = 0;
  struct Retired {
    GenerationPtr generation;
    uint64_t epoch;
  };
  std::vector<Retired> retired_;
};

// A program array's slots, for control: index in Object::programs, or -1 to empty it.
Expected<void> set_program(Map& map, uint32_t slot, int32_t program);

// A slot of a program array or an XSKMAP on the way of packets: what set() stored there minus 1, so the index of the
// program; -1: it is empty, or there is no such slot.
int64_t slot_value(const Map& map, uint64_t slot) noexcept;

}  // namespace trama::ebpf
