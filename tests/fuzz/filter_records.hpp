// Mutation of filters by whole records (filter_input.hpp): inserted, taken out, copied, swapped, or one of them
// changed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

namespace trama::ebpf {

// What LLVMFuzzerCustomMutator and LLVMFuzzerCustomCrossOver return, for inputs of `header` bytes and then records.
// `most`: at least `header`.
size_t mutate_records(uint8_t* data, size_t size, size_t most, size_t header, std::minstd_rand& random);
size_t cross_records(std::span<const uint8_t> one, std::span<const uint8_t> other, std::span<uint8_t> out,
                     size_t header, std::minstd_rand& random);

}  // namespace trama::ebpf
