// What the loader, the verifier and the maps say when they refuse something: what it is, where, and what mends it.
#pragma once
#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace trama::ebpf {

// Never holds a key or a value of a map, which may be addresses: these texts are printed and pasted into bug reports.
struct Refusal {
  std::string text;              // one sentence without a full stop
  std::string hint = {};         // what mends it; may be empty
  std::string program = {};      // empty: the object as a whole
  int64_t entry = -1;            // of the contents of maps that were given, from 0; -1: none of them
  int64_t instruction = -1;      // in the linked code of the program; -1: no one instruction
  std::string source_file = {};  // from BTF; empty if unknown
  uint32_t source_line = 0;      // 0: unknown
  std::string source_text = {};  // the line itself
};

template <class T>
using Expected = tl::expected<T, Refusal>;

inline tl::unexpected<Refusal> refuse(std::string text, std::string hint = "") {
  return tl::unexpected(Refusal{std::move(text), std::move(hint)});
}

// One line for people: "program privacy, instruction 12, privacy.bpf.c:33 `k.addr = ip->daddr;`: text (hint)".
std::string describe(const Refusal& refusal);

}  // namespace trama::ebpf
