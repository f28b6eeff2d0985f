// trama_graphblas.h, in a program that has GraphBLAS already, and in one that hasn't begun with it.
#include <gtest/gtest.h>

#include "libclient/c_api.hpp"
#include "libclient/trama_graphblas.h"
#include "tests/libclient/stream_cases.hpp"

namespace trama {
namespace {

trama_window decoded(const test::SampleWindow& sample) {
  const auto bytes = std::make_shared<std::vector<uint8_t>>(sample.bytes);
  return {StreamWindow::decode(window_info(sample.envelope), {bytes, *bytes}, uint64_t{1} << 20).value()};
}

TEST(CApiGraphBlas, GivesTheMatrixToTheHostsGraphBlas) {
  GrB_init(GrB_NONBLOCKING);
  const auto sample = test::sample_window(4, 900);
  GrB_Matrix matrix = nullptr;
  {
    const trama_window window = decoded(*sample);
    ASSERT_EQ(trama_window_matrix(&matrix, &window), GrB_SUCCESS);
  }
  const test::WindowArrays& arrays = sample->arrays;
  GrB_Index entries = 0;
  GrB_Matrix_nvals(&entries, matrix);
  EXPECT_EQ(entries, arrays.column.size());
  for (size_t i = 0; i < arrays.row.size(); ++i) {
    for (size_t k = arrays.start[i]; k < arrays.start[i + 1]; ++k) {
      uint32_t count = 0;
      EXPECT_EQ(GrB_Matrix_extractElement_UINT32(&count, matrix, arrays.row[i], arrays.column[k]), GrB_SUCCESS);
      EXPECT_EQ(count, arrays.count[k]);
    }
  }
  GrB_Matrix_free(&matrix);
}

TEST(CApiGraphBlas, NullIsAnError) {
  const trama_window window = decoded(*test::sample_window(4));
  auto matrix = reinterpret_cast<GrB_Matrix>(1);
  EXPECT_EQ(trama_window_matrix(nullptr, &window), GrB_NULL_POINTER);
  EXPECT_EQ(trama_window_matrix(&matrix, nullptr), GrB_NULL_POINTER);
  EXPECT_EQ(matrix, nullptr);
}

// In a process of its own: once begun, GraphBLAS can't be begun again.
TEST(CApiGraphBlasDeathTest, DoesNotStartGraphBlas) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto without_init = [] {
    const trama_window window = decoded(*test::sample_window(4));
    GrB_Matrix matrix = nullptr;
    const bool refused = trama_window_matrix(&matrix, &window) == GrB_PANIC && matrix == nullptr;
    std::_Exit(refused && GrB_init(GrB_NONBLOCKING) == GrB_SUCCESS ? 0 : 1);
  };
  EXPECT_EXIT(without_init(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace trama
