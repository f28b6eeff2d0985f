#include "libclient/stream_window.hpp"

#include <gtest/gtest.h>

extern "C" {
#include <GraphBLAS.h>
}

#include "libclient/formats/graphblas_matrix.hpp"
#include "tests/libclient/stream_cases.hpp"

namespace trama {
namespace {

using test::sample_window;
constexpr uint64_t kMostLinks = 1 << 20;

FormatExpected<StreamWindow> decode(const test::SampleWindow& sample, uint64_t max_links = kMostLinks) {
  const auto bytes = std::make_shared<std::vector<uint8_t>>(sample.bytes);
  return StreamWindow::decode(window_info(sample.envelope), {bytes, *bytes}, max_links);
}

template <class Span, class Vector>
void expect_equal(const Span& span, const Vector& vector) {
  EXPECT_TRUE(std::equal(span.begin(), span.end(), vector.begin(), vector.end()));
}

TEST(StreamWindow, HasTheMatrixInEveryEncoding) {
  for (const EnvelopeEncoding encoding : test::kWindowEncodings) {
    const auto sample = sample_window(8, 700, encoding);
    auto decoded = decode(*sample);
    ASSERT_TRUE(decoded) << decoded.error().text;
    const StreamWindow window = std::move(*decoded);  // what it shows moves along
    expect_equal(window.matrix().row, sample->arrays.row);
    expect_equal(window.matrix().start, sample->arrays.start);
    expect_equal(window.matrix().column, sample->arrays.column);
    expect_equal(window.matrix().count, sample->arrays.count);
    EXPECT_EQ(window.info().sensor, "roof");
    EXPECT_EQ(window.info().verdicts.ipv6, 9u);
    expect_equal(window.serialized(), sample->bytes);
  }
}

TEST(StreamWindow, MustBeWhatIsSaidOfIt) {
  for (const EnvelopeEncoding encoding : test::kWindowEncodings) {
    const auto right = sample_window(8, 700, encoding);
    EXPECT_FALSE(decode(*right, right->envelope.links - 1));
    auto sample = sample_window(8, 700, encoding);
    --sample->envelope.links;
    EXPECT_FALSE(decode(*sample));
    sample->envelope.links += 2;
    EXPECT_FALSE(decode(*sample));
    sample = sample_window(8, 700, encoding);
    ++sample->envelope.packets;
    EXPECT_FALSE(decode(*sample));
    sample = sample_window(8, 700, encoding);
    sample->bytes.resize(sample->bytes.size() / 2);
    EXPECT_FALSE(decode(*sample));
  }
  const auto sample = sample_window(8, 700, EnvelopeEncoding::compact);
  sample->envelope.raw_order = true;
  EXPECT_FALSE(decode(*sample));
}

TEST(StreamWindow, IsAGraphBlasMatrix) {
  GrB_init(GrB_NONBLOCKING);
  for (const size_t packets : {size_t{1}, size_t{900}}) {
    const auto sample = sample_window(4, packets, EnvelopeEncoding::compact);
    const auto window = decode(*sample);
    ASSERT_TRUE(window);
    GrB_Matrix matrix = to_graphblas(window->matrix());
    ASSERT_NE(matrix, nullptr);
    const test::WindowArrays& arrays = sample->arrays;
    GrB_Index entries = 0, rows = 0;
    GrB_Matrix_nvals(&entries, matrix);
    GrB_Matrix_nrows(&rows, matrix);
    EXPECT_EQ(entries, arrays.column.size());
    EXPECT_EQ(rows, GrB_Index{1} << 32);
    for (size_t i = 0; i < arrays.row.size(); ++i) {
      for (size_t k = arrays.start[i]; k < arrays.start[i + 1]; ++k) {
        uint32_t count = 0;
        EXPECT_EQ(GrB_Matrix_extractElement_UINT32(&count, matrix, arrays.row[i], arrays.column[k]), GrB_SUCCESS);
        EXPECT_EQ(count, arrays.count[k]);
      }
    }
    GrB_Matrix_free(&matrix);
  }
}

}  // namespace
}  // namespace trama
