#include "ebpf/lpm_map.hpp"

#include <algorithm>
#include <cstring>

namespace trama::ebpf {
namespace {

// Lists that may be alive at the same time, each with all its values changed.
constexpr uint32_t kListsAlive = 4;

uint32_t length_of(const uint8_t* key) {
  uint32_t length;
  std::memcpy(&length, key, sizeof length);
  return length;
}

bool same_prefix(const LpmPrefix& a, const LpmPrefix& b) { return a.length == b.length && a.key == b.key; }

}  // namespace

bool LpmPlaces::take(uint32_t& place) {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    place = free_.back();
    free_.pop_back();
  } else if (first_unused_ < uses_.size()) {
    place = first_unused_++;
  } else {
    return false;
  }
  uses_[place] = 1;
  return true;
}

void LpmPlaces::share(uint32_t place) {
  const std::lock_guard lock(mutex_);
  ++uses_[place];
}

void LpmPlaces::give_back(std::span<const LpmPrefix> prefixes) {
  const std::lock_guard lock(mutex_);
  for (const LpmPrefix& prefix : prefixes)
    if (--uses_[prefix.value - 1] == 0) free_.push_back(prefix.value - 1);
}

Expected<void> LpmMap::open() {
  if (spec_.key_size < 5 || spec_.key_size > 4 + kMaxLpmBytes || spec_.value_size == 0 || spec_.max_entries == 0)
    return refuse("map " + spec_.name + ": an LPM trie has keys of 5 to 20 bytes, and values and entries");
  key_bytes_ = spec_.key_size - 4;
  const uint32_t places = spec_.max_entries * kListsAlive;
  if (auto made = make_values(places, 1); !made) return made;
  places_ = std::make_shared<LpmPlaces>(places);
  layout_.reachable = true;
  layout_.writable = (spec_.flags & BPF_F_RDONLY_PROG) == 0;
  switch (key_bytes_) {
    case 4: lookup_ = lookup_in<4>; break;
    case 8: lookup_ = lookup_in<8>; break;
    case 16: lookup_ = lookup_in<16>; break;
    default: lookup_ = lookup_in<0>;
  }
  return {};
}

template <uint32_t kKeyBytes>
uint8_t* LpmMap::lookup_in(const Map* map, const uint8_t* key, Execution* execution) {
  const auto* self = static_cast<const LpmMap*>(map);
  const auto* table = static_cast<const LpmTable*>(execution->tables[self->index_]);
  if (!table) return nullptr;
  const uint32_t length = length_of(key), all = (kKeyBytes != 0 ? kKeyBytes : self->key_bytes_) * 8;
  uint32_t found;
  if (kKeyBytes != 0 && length == all) {
    found = table->find < kKeyBytes == 0 ? 1 : kKeyBytes > (key + 4);
  } else {
    if (length > all) return nullptr;
    found = table->find_up_to(key + 4, length);
  }
  return found != 0 ? self->place(found - 1) : nullptr;
}

Expected<void> LpmMap::check_prefix(Bytes key) const {
  if (auto good = check_key(key); !good) return good;
  if (length_of(key.data()) <= key_bytes_ * 8) return {};
  return refuse("map " + spec_.name + ": prefixes have at most " + std::to_string(key_bytes_ * 8) + " bits");
}

LpmPrefix LpmMap::prefix_of(Bytes key) const noexcept {
  return LpmTable::masked(key.data() + 4, length_of(key.data()));
}

// Sorted in the order in which they were given where they are the same, so that the last one counts.
Expected<std::shared_ptr<const LpmList>> LpmMap::make_list(std::span<const Prefix> prefixes, const LpmList* now) const {
  struct Wanted {
    LpmPrefix prefix;
    const std::vector<uint8_t>* value;
  };
  std::vector<Wanted> wanted;
  wanted.reserve(prefixes.size());
  for (const Prefix& prefix : prefixes) {
    if (auto good = check_prefix(prefix.key); !good) return tl::unexpected(good.error());
    if (!prefix.value.empty() && prefix.value.size() != spec_.value_size)
      return refuse("map " + spec_.name + ": values have " + std::to_string(spec_.value_size) + " bytes");
    wanted.push_back({prefix_of(prefix.key), &prefix.value});
  }
  const auto in_order = [](const Wanted& a, const Wanted& b) { return stands_before(a.prefix, b.prefix); };
  if (!std::is_sorted(wanted.begin(), wanted.end(), in_order)) std::stable_sort(wanted.begin(), wanted.end(), in_order);

  std::vector<LpmPrefix> list;
  list.reserve(wanted.size());
  const auto undo = [this, &list](Refusal refusal) {
    places_->give_back(list);
    return tl::unexpected(std::move(refusal));
  };
  for (size_t at = 0; at < wanted.size(); ++at) {
    if (at + 1 < wanted.size() && same_prefix(wanted[at].prefix, wanted[at + 1].prefix)) continue;
    if (list.size() == spec_.max_entries)
      return undo({"map " + spec_.name + ": more than its " + std::to_string(spec_.max_entries) + " prefixes",
                   "make max_entries larger in the source"});
    const auto& [prefix, value] = wanted[at];
    const uint32_t known = now ? now->table().find_exact(prefix.key.data(), prefix.length) : 0;
    if (known != 0 && (value->empty() || std::memcmp(place(known - 1), value->data(), spec_.value_size) == 0)) {
      places_->share(known - 1);
      list.push_back(prefix);
      list.back().value = known;
      continue;
    }
    uint32_t number;
    if (!places_->take(number))
      return undo({"map " + spec_.name + ": too many earlier lists are still in use", "try again later"});
    list.push_back(prefix);
    list.back().value = number + 1;
    if (value->empty())
      std::memset(place(number), 0, spec_.value_size);
    else
      std::memcpy(place(number), value->data(), spec_.value_size);
  }
  return std::make_shared<const LpmList>(std::move(list), key_bytes_, places_);
}

std::vector<Prefix> LpmMap::prefixes_of(const LpmList& list) const {
  std::vector<Prefix> prefixes;
  prefixes.reserve(list.table().prefixes().size() + 1);
  for (const LpmPrefix& prefix : list.table().prefixes()) {
    Prefix& copy = prefixes.emplace_back();
    copy.key.resize(spec_.key_size);
    std::memcpy(copy.key.data(), &prefix.length, sizeof prefix.length);
    std::memcpy(copy.key.data() + 4, prefix.key.data(), key_bytes_);
  }
  return prefixes;
}

Expected<void> LpmMap::set(Bytes key, Bytes value, uint64_t flags) {
  if (auto good = check_sizes(key, value); !good) return good;
  return owner_->change_prefix(index_, key, value, flags);
}

Expected<void> LpmMap::remove(Bytes key) { return owner_->change_prefix(index_, key, std::nullopt, BPF_ANY); }

std::optional<std::vector<uint8_t>> LpmMap::read(Bytes key) const {
  if (!check_prefix(key)) return std::nullopt;
  const GenerationPtr now = owner_->generation();
  const auto& list = now->lists[index_];
  const uint32_t found = list ? list->table().find_exact(key.data() + 4, length_of(key.data())) : 0;
  if (found == 0) return std::nullopt;
  return copies_of(found - 1);
}

void LpmMap::for_each(const std::function<void(const MapEntry&)>& visit) const {
  const GenerationPtr now = owner_->generation();
  const auto& list = now->lists[index_];
  if (!list) return;
  std::vector<Prefix> prefixes = prefixes_of(*list);
  for (size_t at = 0; at < prefixes.size(); ++at)
    visit({std::move(prefixes[at].key), copies_of(list->table().prefixes()[at].value - 1)});
}

MadeMap make_lpm(const MapSpec& spec, uint32_t index) {
  auto map = std::make_unique<LpmMap>(spec, index);
  if (auto opened = map->open(); !opened) return tl::unexpected(opened.error());
  return map;
}

}  // namespace trama::ebpf
