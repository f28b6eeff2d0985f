// LPM tries as maps. The list of prefixes is immutable (LpmTable), its entries are numbers of values in the arena. A
// new list takes places for its values that no list alive has, so that programs under an older list still find their
// own.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "ebpf/lpm_table.hpp"
#include "ebpf/map_types.hpp"

namespace trama::ebpf {

// Places for values, counted by how many lists use them. Thread-safe: lists die wherever their last owner does.
class LpmPlaces {
 public:
  explicit LpmPlaces(uint32_t places) : uses_(places) {}
  bool take(uint32_t& place);  // false: all are used
  void share(uint32_t place);
  void give_back(std::span<const LpmPrefix> prefixes);  // value - 1 is the place

 private:
  std::mutex mutex_;
  std::vector<uint32_t> uses_;
  std::vector<uint32_t> free_;
  uint32_t first_unused_ = 0;
};

class LpmList {
 public:
  LpmList(std::vector<LpmPrefix> prefixes, uint32_t key_bytes, std::shared_ptr<LpmPlaces> places)
      : table_(std::move(prefixes), key_bytes), places_(std::move(places)) {}
  ~LpmList() { places_->give_back(table_.prefixes()); }
  LpmList(const LpmList&) = delete;
  LpmList& operator=(const LpmList&) = delete;

  const LpmTable& table() const noexcept { return table_; }

 private:
  LpmTable table_;
  std::shared_ptr<LpmPlaces> places_;
};

class LpmMap final : public Map {
 public:
  LpmMap(const MapSpec& spec, uint32_t index) : Map(spec, index) {}
  Expected<void> open();
  void belongs_to(Maps& maps) noexcept { owner_ = &maps; }

  Expected<std::shared_ptr<const LpmList>> make_list(std::span<const Prefix> prefixes, const LpmList* now) const;
  std::vector<Prefix> prefixes_of(const LpmList& list) const;

  Expected<void> set(Bytes key, Bytes value, uint64_t flags) override;
  Expected<void> remove(Bytes key) override;
  std::optional<std::vector<uint8_t>> read(Bytes key) const override;
  void for_each(const std::function<void(const MapEntry&)>& visit) const override;
  Expected<void> check_prefix(Bytes key) const;
  LpmPrefix prefix_of(Bytes key) const noexcept;  // of a key that was checked

 private:
  template <uint32_t kKeyBytes>
  static uint8_t* lookup_in(const Map* map, const uint8_t* key, Execution* execution);
  uint8_t* place(uint32_t number) const noexcept { return layout_.values + size_t{number} * layout_.stride; }

  uint32_t key_bytes_ = 0;  // without the prefix length
  std::shared_ptr<LpmPlaces> places_;
  Maps* owner_ = nullptr;
};

}  // namespace trama::ebpf
