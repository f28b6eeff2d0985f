// Fuzz target of the verifier and of machine code. Input: two bytes that choose the packet, then two programs
// (filter_input.hpp).
//
// What the verifier takes is run by the interpreter, which checks every access, and by machine code, in the same
// memory: verdict, fault and its place, steps, packet, stack, maps and counters must be the same. So a wrong proof
// shows as a difference, or as an access to what lies around packet and stack: pages that may not be touched.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "ebpf/interpreter.hpp"
#include "ebpf/jit.hpp"
#include "ebpf/verifier.hpp"
#include "tests/fuzz/filter_input.hpp"
#include "tests/fuzz/filter_maps.hpp"
#include "tests/fuzz/filter_records.hpp"

namespace trama::ebpf {
namespace {

using Bytes = std::vector<uint8_t>;

void require(bool holds) {
  if (!holds) std::abort();
}

// Memory with a page before it and one behind it that fault.
class GuardedPages {
 public:
  explicit GuardedPages(size_t bytes) : size_((bytes + kPage - 1) / kPage * kPage) {
    void* const all = ::mmap(nullptr, size_ + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(all != MAP_FAILED);
    first_ = static_cast<uint8_t*>(all) + kPage;
    require(::mprotect(first_, size_, PROT_READ | PROT_WRITE) == 0);
  }
  uint8_t* first() const { return first_; }
  uint8_t* end() const { return first_ + size_; }

 private:
  static constexpr size_t kPage = 4096;
  size_t size_;
  uint8_t* first_;
};

// Maps, an execution whose stack ends where its memory does, and room for a packet: made once.
class World {
 public:
  World() {
    object.maps = fuzz_maps();
    object.programs = {{"first", {}, {}}, {"second", {}, {}}};
    maps = std::move(*Maps::create(object, 1));
    const uint32_t addresses[] = {0, 0x0a, 0x0a00000a, 0xffffffff}, lengths[] = {0, 8, 32, 31};
    std::vector<Prefix> prefixes;
    for (size_t i = 0; i < std::size(addresses); ++i) {
      Bytes key(8);
      std::memcpy(key.data(), &lengths[i], 4);
      std::memcpy(key.data() + 4, &addresses[i], 4);
      prefixes.push_back({key, Bytes(8, static_cast<uint8_t>(i))});
    }
    require(maps->replace(kLpm, prefixes).has_value());
    static_assert(offsetof(Execution, stack) + sizeof Execution::stack == sizeof(Execution));
    execution = new (execution_pages_.end() - sizeof(Execution)) Execution;
    maps->attach(*execution, 0);
    execution->step_limit = 2000;
    for (uint32_t map = 0; map < maps->size(); ++map) at_first_.push_back(values(map));
  }

  // The packet ends where its memory does, or begins there.
  void reset(const Bytes& packet, bool at_end, const Properties& properties) {
    for (uint32_t map = 0; map < maps->size(); ++map)
      std::copy(at_first_[map].begin(), at_first_[map].end(), (*maps)[map].layout().values);
    std::memset(packet_pages_.first(), 0, static_cast<size_t>(packet_pages_.end() - packet_pages_.first()));
    PacketView view;
    view.data = at_end ? packet_pages_.end() - packet.size() : packet_pages_.first();
    view.headroom = at_end ? kHeadroomBytes : 0;
    view.bytes = static_cast<uint32_t>(packet.size());
    view.ingress_ifindex = 3;
    view.rx_queue_index = 5;
    view.time_ns = 77;
    std::copy(packet.begin(), packet.end(), view.data);
    std::memset(execution->stack, 0, sizeof execution->stack);
    std::memset(execution->event_memory, 0, sizeof execution->event_memory);
    execution->random_state = 1;
    execution->redirect_target = execution->traces = execution->events = 0;
    execution->fault_instruction = execution->fault_program = 0;
    execution->writable_maps = properties.own_written_maps | properties.counting_maps | properties.written_maps;
    execution->packet_writable = properties.writes_packet || properties.moves_packet;
    execution->show(view);
  }

  // What a run leaves behind.
  struct Trace {
    uint64_t verdict = 0;
    std::vector<uint64_t> numbers;
    Bytes packet, stack, events;
    std::vector<Bytes> maps;
    bool operator==(const Trace&) const = default;
  };
  Trace trace(uint64_t verdict) const {
    const Execution& e = *execution;
    Trace left;
    left.verdict = verdict;
    left.numbers = {e.data,       e.data_end,    e.data_meta,       static_cast<uint64_t>(e.steps_left),
                    e.tail_calls, e.events_used, e.redirect_target, static_cast<uint64_t>(e.fault),
                    e.traces,     e.events,      e.random_state};
    if (e.fault != Fault::none) left.numbers.insert(left.numbers.end(), {e.fault_program, e.fault_instruction});
    left.packet.assign(packet_pages_.first(), packet_pages_.end());
    left.stack.assign(e.stack, e.stack + sizeof e.stack);
    left.events.assign(e.event_memory, e.event_memory + sizeof e.event_memory);
    for (uint32_t map = 0; map < maps->size(); ++map) left.maps.push_back(values(map));
    return left;
  }

  Object object;
  std::unique_ptr<Maps> maps;
  Execution* execution;

 private:
  Bytes values(uint32_t map) const {
    const MapLayout& layout = (*maps)[map].layout();
    return {layout.values, layout.values + size_t{layout.stride} * layout.elements};
  }

  GuardedPages execution_pages_{sizeof(Execution)}, packet_pages_{1};
  std::vector<Bytes> at_first_;
};

// Machine code keeps an access that isn't proven to what its base points into; the interpreter knows no bases.
bool was_kept_inside(const Execution& execution, const Analysis& analysis) {
  if (execution.fault != Fault::bad_access) return false;
  const InstructionFacts& fact = analysis.programs[execution.fault_program].instructions[execution.fault_instruction];
  return !fact.proven && fact.base != Base::unset && region_of(fact.base) != Region::any;
}

// Frames of functions that have ended, and of those that a tail call replaced, hold what happens to be left there.
bool leaves_frames_behind(const Analysis& analysis) {
  return analysis.properties.tail_calls || std::any_of(analysis.programs.begin(), analysis.programs.end(),
                                                       [](const Facts& facts) { return facts.functions.size() > 1; });
}

void compare(World& world, const Analysis& analysis, const Bytes& packet, bool at_end) {
  const auto jit = Jit::compile(world.object, analysis, *world.maps);
  require(jit.has_value());
  world.reset(packet, at_end, analysis.properties);
  World::Trace by_jit = world.trace((*jit)->run(0, *world.execution));
  if (was_kept_inside(*world.execution, analysis)) return;
  world.reset(packet, at_end, analysis.properties);
  World::Trace by_interpreter = world.trace(Interpreter(world.object).run(0, *world.execution));
  if (leaves_frames_behind(analysis)) by_jit.stack = by_interpreter.stack = {};
  require(by_jit == by_interpreter);
}

}  // namespace
}  // namespace trama::ebpf

constexpr size_t kHeaderBytes = 2;

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  return trama::ebpf::mutate_records(data, size, most, kHeaderBytes, random);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* one, size_t one_size, const uint8_t* other,
                                            size_t other_size, uint8_t* out, size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  return trama::ebpf::cross_records({one, one_size}, {other, other_size}, {out, most}, kHeaderBytes, random);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trama::ebpf;
  constexpr size_t kMostPacketBytes = 128;
  static World* const world = new World;
  const std::span<const uint8_t> all(data, size);
  const uint8_t shape = size > 0 ? data[0] : 0, filling = size > 1 ? data[1] : 0;
  std::vector<uint8_t> packet(shape % kMostPacketBytes);
  for (size_t i = 0; i < packet.size(); ++i) packet[i] = static_cast<uint8_t>(i * filling);
  FilterInput input(all.subspan(std::min(size, kHeaderBytes)));
  for (Program& program : world->object.programs) program.code = input.program();

  world->maps->begin_batch(*world->execution);
  const bool at_end = shape >= kMostPacketBytes;
  if (const auto analysis = analyze(world->object)) {
    compare(*world, *analysis, packet, at_end);
  } else {
    // The interpreter must stand what the verifier refuses, too.
    world->reset(packet, at_end, Properties{});
    Interpreter(world->object).run(0, *world->execution);
  }
  world->maps->end_batch(*world->execution);
  return 0;
}
