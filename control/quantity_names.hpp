// The network quantities by their published names, in the order of stats.tsv.
#pragma once
#include <array>
#include <cstdint>

#include "libclient/formats/quantities.hpp"

namespace trama {

struct QuantityName {
  const char* name;
  uint64_t Quantities::*value;
};

inline constexpr std::array<QuantityName, 9> kQuantityNames{
    {{"n_packets", &Quantities::n_packets},
     {"n_links", &Quantities::n_links},
     {"n_sources", &Quantities::n_sources},
     {"n_destinations", &Quantities::n_destinations},
     {"max_packets", &Quantities::max_packets},
     {"max_source_packets", &Quantities::max_source_packets},
     {"max_destination_packets", &Quantities::max_destination_packets},
     {"max_fan_out", &Quantities::max_fan_out},
     {"max_fan_in", &Quantities::max_fan_in}}};

}  // namespace trama
