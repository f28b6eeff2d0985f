// Makes the map of one type. Each refuses sizes that the type can't have.
#pragma once
#include <memory>

#include "ebpf/epochs.hpp"
#include "ebpf/error.hpp"
#include "ebpf/map.hpp"

namespace trama::ebpf {

using MadeMap = Expected<std::unique_ptr<Map>>;

MadeMap make_array(const MapSpec& spec, uint32_t index, uint32_t replicas);
MadeMap make_program_array(const MapSpec& spec, uint32_t index);
MadeMap make_socket_array(const MapSpec& spec, uint32_t index);
MadeMap make_hash(const MapSpec& spec, uint32_t index, uint32_t replicas, Epochs& epochs);
MadeMap make_lpm(const MapSpec& spec, uint32_t index);
MadeMap make_event_map(const MapSpec& spec, uint32_t index);

// Any type; refuses those that aren't here, by name.
MadeMap make_map(const MapSpec& spec, uint32_t index, uint32_t replicas, Epochs& epochs);

// "hash", "lpm_trie": as bpftool has them. Null: not known.
const char* map_type_name(uint32_t type) noexcept;

}  // namespace trama::ebpf
