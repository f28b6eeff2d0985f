// Measurements that run a graph through the engine, as `trama run` does.
#pragma once
#include <cstdint>

#include "control/bench/rounds.hpp"
#include "modules/support/synthetic_traffic.hpp"

namespace trama {

// Ten stages of kind `pass` between a source of empty batches of 1024 packets and a sink, one worker. Per packet.
Expected<Cost> run_ten_passes(uint64_t batches);

// The built-in graph `memory`: packets that stand in memory, parsed, cut into windows, anonymized, built and serialized
// by so many workers. Per packet; setting up isn't counted.
Expected<Cost> run_memory_graph(TrafficModel model, uint64_t windows, uint64_t window_packets, size_t workers);

}  // namespace trama
