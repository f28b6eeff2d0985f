// An object made by hand, in the kernel: its maps with what Maps hold of it, and its programs.
#pragma once
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "ebpf/map.hpp"
#include "ebpf/object.hpp"

namespace trama::ebpf {

// Does the kernel take any program? What its verifier refuses has the same error numbers as what isn't allowed.
inline int error_of_smallest_program() {
  const bpf_insn code[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS}, {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  const int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "smallest", "GPL", code, std::size(code), nullptr);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

// While it lives, this thread runs on one processor, whose copies of maps per CPU it uses.
class OneProcessor {
 public:
  OneProcessor() {
    ::sched_getaffinity(0, sizeof before_, &before_);
    number_ = ::sched_getcpu();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(number_), &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
  ~OneProcessor() { ::sched_setaffinity(0, sizeof before_, &before_); }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;
  size_t number() const { return static_cast<size_t>(number_); }

 private:
  cpu_set_t before_;
  int number_;
};

class KernelObject {
 public:
  using Contents = std::map<std::vector<uint8_t>, std::vector<uint8_t>>;
  struct Result {
    uint32_t verdict = 0;
    std::vector<uint8_t> packet;
  };

  explicit KernelObject(const Object& object) : object_(object) {
    for (const MapSpec& spec : object.maps) {
      bpf_map_create_opts options{};
      options.sz = sizeof options;
      options.map_flags = spec.flags;
      maps_.push_back(bpf_map_create(static_cast<bpf_map_type>(spec.type), nullptr, spec.key_size, spec.value_size,
                                     spec.max_entries, &options));
      EXPECT_GE(maps_.back(), 0) << spec.name << ": " << std::strerror(errno);
    }
    for (const Program& program : object.programs) programs_.push_back(load(program));
    taken_ = std::all_of(programs_.begin(), programs_.end(), [](int fd) { return fd >= 0; });
    if (taken_) fill_program_arrays();
  }
  ~KernelObject() {
    for (const auto* descriptors : {&maps_, &programs_})
      for (const int fd : *descriptors)
        if (fd >= 0) ::close(fd);
  }
  KernelObject(const KernelObject&) = delete;
  KernelObject& operator=(const KernelObject&) = delete;

  bool taken() const { return taken_; }  // by its verifier

  void copy(const Maps& maps) {
    for (uint32_t map = 0; map < maps.size(); ++map) {
      if (object_.maps[map].type == BPF_MAP_TYPE_PROG_ARRAY) continue;
      maps[map].for_each([&](const MapEntry& entry) {
        std::vector<uint8_t> value = entry.value;
        if (object_.maps[map].type == BPF_MAP_TYPE_PERCPU_ARRAY) {
          value.assign(processors() * stride(map), 0);
          for (size_t cpu = 0; cpu < processors(); ++cpu)
            std::copy(entry.value.begin(), entry.value.end(), value.begin() + static_cast<int64_t>(cpu * stride(map)));
        }
        EXPECT_EQ(bpf_map_update_elem(maps_[map], entry.key.data(), value.data(), BPF_ANY), 0) << std::strerror(errno);
      });
    }
  }

  Result run(const std::vector<uint8_t>& packet) {
    constexpr size_t kMostBytes = 4096;
    Result result;
    result.packet.resize(kMostBytes);
    bpf_test_run_opts options{};
    options.sz = sizeof options;
    options.data_in = packet.data();
    options.data_size_in = static_cast<uint32_t>(packet.size());
    options.data_out = result.packet.data();
    options.data_size_out = kMostBytes;
    EXPECT_EQ(bpf_prog_test_run_opts(programs_[0], &options), 0) << std::strerror(errno);
    result.verdict = options.retval;
    result.packet.resize(options.data_size_out);
    return result;
  }

  // Of maps per CPU: the copy of one processor.
  Contents contents(uint32_t map, size_t processor) {
    Contents all;
    std::vector<uint8_t> key(object_.maps[map].key_size), value(stride(map) * processors());
    const void* before = nullptr;
    while (bpf_map_get_next_key(maps_[map], before, key.data()) == 0) {
      EXPECT_EQ(bpf_map_lookup_elem(maps_[map], key.data(), value.data()), 0) << std::strerror(errno);
      const bool own = object_.maps[map].type == BPF_MAP_TYPE_PERCPU_ARRAY;
      const auto first = value.begin() + static_cast<int64_t>(own ? processor * stride(map) : 0);
      all[key] = std::vector<uint8_t>(first, first + object_.maps[map].value_size);
      before = key.data();
    }
    return all;
  }

 private:
  static size_t processors() {
    static const int count = libbpf_num_possible_cpus();
    return static_cast<size_t>(count);
  }
  size_t stride(uint32_t map) const { return (object_.maps[map].value_size + 7) & ~size_t{7}; }

  int load(const Program& program) const {
    std::vector<bpf_insn> code = program.code;
    for (size_t at = 0; at < code.size(); ++at) {
      if (code[at].code != (BPF_LD | BPF_IMM | BPF_DW)) continue;
      if (code[at].src_reg == BPF_PSEUDO_MAP_IDX || code[at].src_reg == BPF_PSEUDO_MAP_IDX_VALUE) {
        code[at].src_reg = code[at].src_reg == BPF_PSEUDO_MAP_IDX ? BPF_PSEUDO_MAP_FD : BPF_PSEUDO_MAP_VALUE;
        code[at].imm = maps_[static_cast<size_t>(code[at].imm)];
      }
      ++at;
    }
    return bpf_prog_load(BPF_PROG_TYPE_XDP, nullptr, "GPL", code.data(), code.size(), nullptr);
  }

  void fill_program_arrays() {
    for (size_t map = 0; map < object_.maps.size(); ++map) {
      const std::vector<int32_t>& slots = object_.maps[map].program_slots;
      for (uint32_t slot = 0; slot < slots.size(); ++slot)
        if (slots[slot] >= 0) {
          EXPECT_EQ(bpf_map_update_elem(maps_[map], &slot, &programs_[static_cast<size_t>(slots[slot])], BPF_ANY), 0);
        }
    }
  }

  const Object& object_;
  std::vector<int> maps_, programs_;
  bool taken_ = false;
};

}  // namespace trama::ebpf
