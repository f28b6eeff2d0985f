// Objects made by hand, and a place to run them: maps, an execution, and a packet in a heap block that ends exactly at
// its last byte.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "ebpf/interpreter.hpp"
#include "ebpf/map.hpp"
#include "ebpf/verifier.hpp"
#include "tests/ebpf/assembler.hpp"

namespace trama::ebpf {

inline MapSpec map_spec(const char* name, uint32_t type, uint32_t key_size, uint32_t value_size, uint32_t max_entries) {
  MapSpec spec;
  spec.name = name;
  spec.type = type;
  spec.key_size = key_size;
  spec.value_size = value_size;
  spec.max_entries = max_entries;
  return spec;
}

inline Object object_of(std::vector<std::vector<bpf_insn>> programs, std::vector<MapSpec> maps = {}) {
  Object object;
  object.name = "test";
  object.maps = std::move(maps);
  for (std::vector<bpf_insn>& code : programs)
    object.programs.push_back({"p" + std::to_string(object.programs.size()), std::move(code), {}});
  return object;
}

template <class Value>
std::vector<uint8_t> bytes_of(const Value& value) {
  std::vector<uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// A packet with room in front, or without.
class TestPacket {
 public:
  explicit TestPacket(std::vector<uint8_t> bytes, uint32_t headroom = 0)
      : block_(new uint8_t[headroom + bytes.size()]), size_(static_cast<uint32_t>(bytes.size())), headroom_(headroom) {
    std::memset(block_.get(), 0, headroom);
    std::copy(bytes.begin(), bytes.end(), block_.get() + headroom);
  }
  PacketView view() const {
    PacketView view;
    view.data = block_.get() + headroom_;
    view.bytes = size_;
    view.headroom = headroom_;
    view.ingress_ifindex = 3;
    view.rx_queue_index = 5;
    return view;
  }
  const uint8_t* data() const { return block_.get() + headroom_; }

 private:
  std::unique_ptr<uint8_t[]> block_;
  uint32_t size_, headroom_;
};

class Sandbox {
 public:
  explicit Sandbox(Object made, uint32_t replicas = 1) : object(std::move(made)), interpreter(object) {
    auto opened = Maps::create(object, replicas);
    if (!opened) {
      ADD_FAILURE() << describe(opened.error());
      return;
    }
    maps = std::move(*opened);
    maps->attach(*execution, 0);
  }

  uint64_t run(const TestPacket& packet, uint32_t program = 0) {
    return judge(packet, [&] { return interpreter.run(program, *execution); });
  }
  uint64_t run(uint32_t program = 0) { return run(TestPacket(std::vector<uint8_t>(60)), program); }
  Fault fault() const { return execution->fault; }

  Object object;
  std::unique_ptr<Maps> maps;
  std::unique_ptr<Execution> execution = std::make_unique<Execution>();
  Interpreter interpreter;

 protected:
  template <class Run>
  uint64_t judge(const TestPacket& packet, const Run& run) {
    execution->writable_maps = ~uint64_t{0};
    execution->packet_writable = true;
    maps->begin_batch(*execution);
    execution->show(packet.view());
    const uint64_t verdict = run();
    maps->end_batch(*execution);
    return verdict;
  }
};

}  // namespace trama::ebpf
