// Random objects whose programs do everything that programs do, and that the kernel's verifier takes most of the time:
// every operation on registers, the stack, the packet behind a test of its end, values of maps behind a test for null,
// jumps forward, loops with a bound, functions, tail calls, helpers. What registers hold is never an address when it
// reaches the result, the packet or a map, so that whatever runs a program must come to the same end.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

#include "ebpf/map.hpp"
#include "ebpf/object.hpp"

namespace trama::ebpf {

using Random = std::mt19937_64;

// Little: tests of the packet's end and for null are left out here and there, which the kernel refuses.
enum class Care : uint8_t { much, little };

// Program 0 is the one to run; the others are reached by tail calls.
Object random_object(Random& random, Care care = Care::much);

// Contents for its maps.
void fill_maps(const Object& object, Maps& maps, Random& random);

// 14 to 128 bytes, often small numbers.
std::vector<uint8_t> random_packet(Random& random);

}  // namespace trama::ebpf
