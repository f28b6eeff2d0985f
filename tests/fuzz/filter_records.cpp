// Mutation of filters by whole records, so that what follows a change stays what it was. See filter_input.hpp.
#include "tests/fuzz/filter_records.hpp"

#include <algorithm>
#include <cstring>

#include "tests/fuzz/filter_input.hpp"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace trama::ebpf {
namespace {

using Random = std::minstd_rand;

size_t below(Random& random, size_t bound) { return random() % bound; }

struct Records {
  uint8_t* first;
  size_t count, most;
  uint8_t* at(size_t index) const { return first + index * kRecordBytes; }
  // Makes room before a record; false: there is none.
  bool open(size_t index, size_t records) {
    if (count + records > most) return false;
    std::memmove(at(index + records), at(index), (count - index) * kRecordBytes);
    count += records;
    return true;
  }
  void close(size_t index, size_t records) {
    std::memmove(at(index), at(index + records), (count - index - records) * kRecordBytes);
    count -= records;
  }
};

void fill(uint8_t* record, Random& random) {
  for (size_t i = 0; i < kRecordBytes; ++i) record[i] = static_cast<uint8_t>(random() >> 8);
}

void copy_some(Records& records, Random& random) {
  std::array<uint8_t, 8 * kRecordBytes> some;
  const size_t many = 1 + below(random, std::min<size_t>(records.count, 8));
  std::memcpy(some.data(), records.at(below(random, records.count - many + 1)), many * kRecordBytes);
  const size_t to = below(random, records.count + 1);
  if (records.open(to, many)) std::memcpy(records.at(to), some.data(), many * kRecordBytes);
}

void mutate_once(Records& records, Random& random) {
  const size_t at = below(random, records.count + 1);
  if (at == records.count || below(random, 4) == 0) {
    if (records.open(at, 1)) fill(records.at(at), random);
    return;
  }
  uint8_t* const record = records.at(at);
  switch (below(random, 8)) {
    case 0: return records.close(at, 1);
    case 1: return records.close(at, 1 + below(random, std::min<size_t>(records.count - at, 4)));
    case 2: return copy_some(records, random);
    case 3: std::swap_ranges(record, record + kRecordBytes, records.at(below(random, records.count))); return;
    case 4: return fill(record, random);
    case 5: LLVMFuzzerMutate(record, kRecordBytes, kRecordBytes); return;
    default: record[below(random, kRecordBytes)] = static_cast<uint8_t>(random() >> 8);
  }
}

}  // namespace

size_t mutate_records(uint8_t* data, size_t size, size_t most, size_t header, Random& random) {
  if (size < header || below(random, 16) == 0) {
    std::memset(data + size, 0, size < header ? header - size : 0);
    for (size_t i = 0; i < header; ++i)
      if (below(random, 2) == 0) data[i] = static_cast<uint8_t>(random() >> 8);
    if (size <= header) return header;
  }
  Records records{data + header, (size - header) / kRecordBytes, (most - header) / kRecordBytes};
  for (size_t times = 1 + below(random, 3); times > 0; --times) mutate_once(records, random);
  return header + records.count * kRecordBytes;
}

size_t cross_records(std::span<const uint8_t> one, std::span<const uint8_t> other, std::span<uint8_t> out,
                     size_t header, Random& random) {
  if (one.size() < header || other.size() < header) return 0;
  const auto records = [header](std::span<const uint8_t> all) { return (all.size() - header) / kRecordBytes; };
  const size_t kept = below(random, records(one) + 1), from = below(random, records(other) + 1);
  const size_t head = std::min(header + kept * kRecordBytes, out.size());
  const size_t tail = std::min((records(other) - from) * kRecordBytes, out.size() - head);
  std::copy_n(one.begin(), head, out.begin());
  std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(header + from * kRecordBytes), tail,
              out.begin() + static_cast<std::ptrdiff_t>(head));
  return head + tail;
}

}  // namespace trama::ebpf
