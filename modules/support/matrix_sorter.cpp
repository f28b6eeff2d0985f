#include "modules/support/matrix_sorter.hpp"

#include <cassert>

namespace trama {

MatrixSorter::MatrixSorter(size_t capacity)
    : memory_(2 * LazyMemory::bytes_of<uint64_t>(capacity)),
      rows_(memory_.take<uint64_t>(capacity)),
      links_(memory_.take<uint64_t>(capacity)) {}

void MatrixSorter::sort(const HyperCsr& unsorted, IndexOrder order, MatrixStorage& out) noexcept {
  assert(unsorted.links() <= out.capacity());
  if (order == IndexOrder::numeric) {
    sort_as<IndexOrder::numeric>(unsorted, out);
  } else {
    sort_as<IndexOrder::raw>(unsorted, out);
  }
}

template <IndexOrder order>
void MatrixSorter::sort_as(const HyperCsr& unsorted, MatrixStorage& out) noexcept {
  const size_t rows = unsorted.rows();
  for (size_t r = 0; r < rows; ++r) rows_[r] = uint64_t{index_of<order>(unsorted.row[r])} << 32 | r;
  if (rows > 1) vector_sort_(rows_, rows, hwy::SortAscending());
  uint32_t done = 0;
  for (size_t r = 0; r < rows; ++r) {
    const auto from = static_cast<uint32_t>(rows_[r]);
    const uint32_t begin = unsorted.start[from], links = unsorted.start[from + 1] - begin;
    out.row()[r] = static_cast<uint32_t>(rows_[r] >> 32);
    out.start()[r] = done;
    sort_row<order>(unsorted, begin, links, out.column() + done, out.count() + done);
    done += links;
  }
  out.start()[rows] = done;
  out.set_size(rows, done);
}

template <IndexOrder order>
void MatrixSorter::sort_row(const HyperCsr& unsorted, size_t from, size_t links, uint32_t* column,
                            uint32_t* count) noexcept {
  const uint32_t* const columns = &unsorted.column[from];
  const uint32_t* const counts = &unsorted.count[from];
  if (links == 1) {
    column[0] = index_of<order>(columns[0]);
    count[0] = counts[0];
    return;
  }
  if (links == 2) {  // without a branch, which would be a toss of a coin
    const uint32_t pair[2] = {index_of<order>(columns[0]), index_of<order>(columns[1])};
    const size_t lower = pair[0] > pair[1];
    column[0] = pair[lower];
    count[0] = counts[lower];
    column[1] = pair[1 - lower];
    count[1] = counts[1 - lower];
    return;
  }
  for (size_t i = 0; i < links; ++i) links_[i] = uint64_t{index_of<order>(columns[i])} << 32 | counts[i];
  sort_keys(links_, links_ + links, vector_sort_);
  for (size_t i = 0; i < links; ++i) {
    column[i] = static_cast<uint32_t>(links_[i] >> 32);
    count[i] = static_cast<uint32_t>(links_[i]);
  }
}

}  // namespace trama
