// libFuzzer target: the reader of compact matrices, on bytes as they are and then with magic, version, lengths and sum
// put right, so that more of it is reached. What is read must keep the rules of a matrix, and be the same once written
// and read again.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "libclient/formats/compact.hpp"
#include "libclient/formats/compact_codes.hpp"
#include "tests/libclient/compact_cases.hpp"

namespace {

using Bytes = std::vector<uint8_t>;
constexpr uint64_t kMaxLinks = 1 << 20;

// Goes over the codes of `number` values: how long their data are, and, from `data` on, the sum of the values.
struct Walk {
  uint32_t length = 0;
  uint64_t sum = 0;
};
Walk walk(const Bytes& bytes, uint64_t codes_at, uint64_t data_at, uint64_t number, const trama::CompactCodes& codes) {
  Walk walk;
  for (uint64_t i = 0; i < number; ++i) {
    const uint8_t size = codes.bytes[bytes[codes_at + i / 4] >> 2 * (i % 4) & 3];
    uint32_t value = 0;
    if (data_at + walk.length + size <= bytes.size()) std::memcpy(&value, &bytes[data_at + walk.length], size);
    walk.length += size;
    walk.sum += value;
  }
  return walk;
}

// Makes everything right but the values and the codes behind the last ones: the input chooses flags, links, base and
// what stands behind the header.
void put_right(Bytes& bytes) {
  trama::CompactHeader header;
  if (bytes.size() < sizeof header) return;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.magic = trama::kCompactMagic;
  header.version = trama::kCompactVersion;
  header.flags &= trama::kCompactRawOrder | trama::kCompactAllOnes;
  header.links = 1 + header.links % (1 << 12);
  bytes.resize(sizeof header + 2 * size_t{header.links} + 16);  // for all codes
  header.rows = 0;
  bytes[sizeof header] |= 1;
  for (size_t i = 0; i < (header.links + 7) / 8 * 8; ++i) {
    uint8_t& starts = bytes[sizeof header + i / 8];
    if (i >= header.links) starts &= static_cast<uint8_t>(~(1U << i % 8));
    header.rows += starts >> i % 8 & 1;
  }
  header.row_data = header.column_data = header.count_data = 0;
  const trama::CompactLayout codes(header);
  header.row_data = walk(bytes, codes.row_codes, 0, header.rows, trama::kIndexCodes).length;
  header.column_data = walk(bytes, codes.column_codes, 0, header.links, trama::kIndexCodes).length;
  header.packets = header.links;
  if (!header.all_ones()) {
    const uint64_t data = trama::CompactLayout(header).count_data;
    header.count_data = walk(bytes, codes.count_codes, 0, header.links, trama::kCountCodes).length;
    bytes.resize(data + header.count_data);
    header.packets += walk(bytes, codes.count_codes, data, header.links, trama::kCountCodes).sum;
  }
  header.bytes = trama::CompactLayout(header).end;
  bytes.resize(header.bytes);
  std::memcpy(bytes.data(), &header, sizeof header);
}

void expect(bool right) {
  if (!right) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes bytes(data, data + size);
  trama::CompactReader reader(kMaxLinks);
  for (int round = 0; round < 2; ++round) {  // as it is, then put right
    if (const auto read = trama::test::read_exact(reader, bytes)) {
      const trama::HyperCsr& matrix = read->matrix;
      expect(trama::test::keeps_the_rules(matrix));
      Bytes again(trama::compact_bound(matrix.links()));
      again.resize(trama::write_compact(matrix, read->raw_order, again));
      trama::CompactReader second(kMaxLinks);
      const auto reread = second.read(again);
      expect(reread && reread->packets == read->packets && reread->raw_order == read->raw_order);
      const auto same = [](auto a, auto b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); };
      expect(same(reread->matrix.row, matrix.row) && same(reread->matrix.start, matrix.start));
      expect(same(reread->matrix.column, matrix.column) && same(reread->matrix.count, matrix.count));
    }
    put_right(bytes);
  }
  return 0;
}
