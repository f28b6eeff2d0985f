// What the verdicts of a filter module mean, as the module itself declares (struct trama_declaration in
// ebpf/trama_filter.h).
#pragma once
#include <cstdint>

#include "ebpf/error.hpp"
#include "ebpf/object.hpp"

namespace trama::ebpf {

// As enum trama_meaning.
enum class Meaning : uint8_t { refused, excluded, filtered, passed };

struct Meanings {
  bool declared = false;             // false: an ordinary XDP program; what stands here is the safe answer
  Meaning drop = Meaning::excluded;  // XDP_DROP
  Meaning tx = Meaning::refused;     // XDP_TX
  Meaning redirect = Meaning::refused;
};

// Refuses declarations of another version, and meanings that there are not.
Expected<Meanings> declared_meanings(const Object& object);

const char* name_of(Meaning meaning) noexcept;

}  // namespace trama::ebpf
