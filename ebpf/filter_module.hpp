// A filter module, ready to judge packets: object, maps, and what its verdicts mean.
//
//   auto module = FilterModule::load("privacy_ranges.bpf.o", {.ranges = {"10.0.0.0/8:either"}, .replicas = 2});
//   FilterReplica replica(*module, 0, kMostBytes);   // one for each replica, one thread at a time
//   replica.begin_batch();
//   const Decision decision = replica.judge({frame, bytes}, time_ns);
//   replica.end_batch();
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ebpf/declaration.hpp"
#include "ebpf/error.hpp"
#include "ebpf/execution.hpp"
#include "ebpf/interpreter.hpp"
#include "ebpf/jit.hpp"
#include "ebpf/map.hpp"
#include "ebpf/object.hpp"
#include "ebpf/verifier.hpp"

namespace trama::ebpf {

// What runs the programs. Automatic: machine code, or the interpreter where there can be none.
enum class Engine : uint8_t { automatic, interpreter, jit };

struct ModuleOptions {
  std::string program = {};                                  // empty: the only one
  std::vector<std::string> ranges = {};                      // for set_ranges() of ebpf/map_entries.hpp
  std::vector<std::string> entries = {};                     // for set_entries()
  std::optional<Meaning> drop = {}, tx = {}, redirect = {};  // instead of what the module declares
  uint32_t replicas = 1;                                     // 1 to kMaxReplicas
  Engine engine = Engine::automatic;
};

// What the verdict comes to.
enum class Decision : uint8_t { pass, excluded, filtered, fault };

// Never moves; lives as long as its replicas.
class FilterModule {
 public:
  // Refuses what loader, verifier and maps refuse; an object with several programs and none named; redirects that the
  // module doesn't declare; Engine::jit where there is no machine code.
  static Expected<std::shared_ptr<FilterModule>> load(const std::string& path, const ModuleOptions& options);
  static Expected<std::shared_ptr<FilterModule>> make(Object object, const ModuleOptions& options);
  FilterModule(const FilterModule&) = delete;
  FilterModule& operator=(const FilterModule&) = delete;

  const Object& object() const noexcept { return object_; }
  const Analysis& analysis() const noexcept { return analysis_; }
  Maps& maps() const noexcept { return *maps_; }
  const Meanings& meanings() const noexcept { return meanings_; }
  uint32_t program() const noexcept { return program_; }  // index
  const Program& entry() const noexcept { return object_.programs[program_]; }

  // The program's verdict on the packet that the execution shows; see Interpreter::run().
  uint64_t run(Execution& execution) const noexcept {
    return jit_ ? jit_->run(program_, execution) : interpreter_->run(program_, execution);
  }
  const Jit* jit() const noexcept { return jit_.get(); }  // null: programs are interpreted
  // Why, if nobody asked for it: one sentence without a full stop. Else empty.
  const std::string& why_interpreted() const noexcept { return why_interpreted_; }

  // Of the program; of all of them when it makes tail calls.
  const Properties& properties() const noexcept;
  bool needs_copy() const noexcept { return properties().writes_packet || properties().moves_packet; }

  // What an XDP verdict comes to. TX and REDIRECT that aren't declared, ABORTED and unknown numbers are faults.
  Decision decide(uint64_t verdict) const noexcept {
    return verdict < kVerdicts ? decisions_[verdict] : Decision::fault;
  }

 private:
  FilterModule(Object object, Analysis analysis, uint32_t program);
  Expected<void> choose_meanings(const ModuleOptions& options);
  Expected<void> choose_engine(Engine engine);

  static constexpr size_t kVerdicts = 5;  // XDP_ABORTED to XDP_REDIRECT
  Object object_;
  Analysis analysis_;
  uint32_t program_;
  std::unique_ptr<Maps> maps_;
  std::unique_ptr<Jit> jit_;                  // this one
  std::unique_ptr<Interpreter> interpreter_;  // or that one
  std::string why_interpreted_;
  Meanings meanings_;
  Decision decisions_[kVerdicts] = {Decision::fault, Decision::fault, Decision::fault, Decision::fault,
                                    Decision::fault};
};

// What one replica needs. The data path: judge() allocates nothing and never throws.
class FilterReplica {
 public:
  // Frames have at most `most_bytes`: room for a copy is made here, where the program needs one.
  FilterReplica(const FilterModule& module, uint32_t replica, uint32_t most_bytes);

  void begin_batch() noexcept { module_.maps().begin_batch(*execution_); }
  void end_batch() noexcept { module_.maps().end_batch(*execution_); }
  // An Ethernet frame. It is not written to: a program that writes gets a copy.
  Decision judge(std::span<const uint8_t> frame, int64_t time_ns) noexcept {
    const auto time = static_cast<uint64_t>(std::max<int64_t>(time_ns, 1));  // 0 would ask for the machine's clock
    if (!compiled_) return judge_otherwise(frame, time);
    execution_->show_next(frame.data(), static_cast<uint32_t>(frame.size()), time);
    verdict_ = static_cast<uint32_t>(compiled_(execution_.get()));
    return module_.decide(verdict_);
  }

  // Of the last packet: after a fault, Fault::none when the verdict itself was one.
  Fault fault() const noexcept { return execution_->fault; }
  uint64_t verdict() const noexcept { return verdict_; }  // the XDP verdict
  // After a fault: where it happened, in the manner of describe().
  std::string describe_fault() const;

 private:
  Decision judge_otherwise(std::span<const uint8_t> frame, uint64_t time_ns) noexcept;
  bool copy(std::span<const uint8_t> frame) noexcept;  // false: there is no room for it

  const FilterModule& module_;
  std::unique_ptr<Execution> execution_;
  Jit::Entry compiled_ = nullptr;  // of a program that needs nothing but the packet where it is; else null
  std::vector<uint8_t> copy_;      // headroom and the frame; empty: none needed
  uint64_t verdict_ = 0;
};

}  // namespace trama::ebpf
