// Several instances of the same work at once, as processes or threads, started together and timed together.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

#include "control/bench/rounds.hpp"
#include "engine/diagnostic.hpp"

namespace trama {

enum class InstanceKind { processes, threads };

// What an instance is to do, or nothing (an empty function) if it could not be prepared; false: it failed.
using InstanceWork = std::function<bool()>;
// Called in the instance itself, before the clock starts: takes its buffers and warms them up.
using PrepareInstance = std::function<InstanceWork(size_t instance)>;

// Runs 1 .. 64 instances and waits for all; several, up to as many as this process has processors, on one each. The
// time is that from the first start to the last end; of processes no processor time is known (0). Processes are forked,
// so that no other thread may hold a lock that the work needs (OpenMP's threads, once started, do), and die with this
// one. Error if one could not be started, or failed: then no instance is left.
Expected<Cost> run_instances(InstanceKind kind, size_t instances, uint64_t packets, const PrepareInstance& prepare);

// The part of `total` that falls to one of `parts`: they differ by 1 at most, and add up.
size_t share(size_t total, size_t parts, size_t part);

}  // namespace trama
