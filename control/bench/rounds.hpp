// How `trama bench` measures: everything that is compared runs in turn, round after round, so that a busy machine slows
// all of it alike; what is reported is medians over the rounds, and how far they lie apart.
//
//   Rounds rounds;
//   const size_t ours = rounds.add([&] { return timed(packets, [&] { return work(); }); });
//   const size_t theirs = rounds.add(...);
//   if (auto done = rounds.run(7, Rounds::WarmUp::yes, progress); !done) return ...;
//   compare(rounds.cpu(theirs), rounds.cpu(ours));
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/diagnostic.hpp"

namespace trama {

// The same quantity, a value a round; at least one.
class Series {
 public:
  Series() = default;
  explicit Series(std::vector<double> values) : values_(std::move(values)) {}
  void add(double value) { values_.push_back(value); }
  double median() const;  // of an even number: the mean of the two in the middle; 0 without values
  double least() const;
  double most() const;
  const std::vector<double>& values() const { return values_; }

 private:
  std::vector<double> values_;
};

// How many times as long `baseline` takes: the quotient of the medians, and the range of the quotients of each round.
struct Ratio {
  double of_medians = 0, least = 0, most = 0;
};
Ratio compare(const Series& baseline, const Series& ours);

// Nanoseconds a packet: on the clock at the wall, and of processor time, of all threads of this process together.
struct Cost {
  double wall_ns = 0, cpu_ns = 0;
};

// Runs `work`, which returns false if it failed.
Expected<Cost> timed(uint64_t packets, const std::function<bool()>& work);

class Rounds {
 public:
  using Measure = std::function<Expected<Cost>()>;
  using Progress = std::function<void(size_t round, size_t rounds)>;
  enum class WarmUp { no, yes };  // yes: a round in front that isn't counted

  size_t add(Measure measure);  // its number
  Expected<void> run(size_t rounds, WarmUp warm_up, const Progress& progress);
  const Series& wall(size_t number) const { return all_[number].wall; }
  const Series& cpu(size_t number) const { return all_[number].cpu; }

 private:
  struct One {
    Measure measure;
    Series wall, cpu;
  };
  std::vector<One> all_;
};

}  // namespace trama
