// Our blobs beside GraphBLAS': the same bytes where that is promised, and the same matrix everywhere.
#include "libclient/formats/blob.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdlib>
#include <cstring>

#include "tests/libclient/matrices.hpp"
extern "C" {
#include <GraphBLAS.h>
}

namespace trama {
namespace {

using test::random_window;
using test::Traffic;
using test::window_of;
using test::WindowArrays;

// GraphBLAS is started once a process and never ended: it can't be started again.
class BlobTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const GrB_Info started = GrB_init(GrB_NONBLOCKING);
    ASSERT_TRUE(started == GrB_SUCCESS || started == GrB_INVALID_VALUE) << started;  // the latter: it runs already
    set_threads(1);
  }
  static void set_threads(int threads) { GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads); }
};

template <class T>
T* allocated(const std::vector<uint32_t>& values, size_t least = 1) {
  auto* array = static_cast<T*>(std::malloc(std::max(values.size(), least) * sizeof(T)));
  for (size_t i = 0; i < values.size(); ++i) array[i] = static_cast<T>(values[i]);
  return array;
}

bool is_iso(const WindowArrays& w) {
  return !w.count.empty() && std::all_of(w.count.begin(), w.count.end(), [&](uint32_t c) { return c == w.count[0]; });
}

GrB_Matrix import_matrix(const WindowArrays& w) {
  auto* starts = allocated<GrB_Index>(w.start);
  auto* rows = allocated<GrB_Index>(w.row);
  auto* columns = allocated<GrB_Index>(w.column);
  void* counts = allocated<uint32_t>(w.count);
  const bool iso = is_iso(w);
  GrB_Matrix matrix = nullptr;
  EXPECT_EQ(GxB_Matrix_import_HyperCSR(&matrix, GrB_UINT32, GrB_Index{1} << 32, GrB_Index{1} << 32, &starts, &rows,
                                       &columns, &counts, w.start.size() * 8, w.row.size() * 8, w.column.size() * 8,
                                       iso ? 4 : w.count.size() * 4, iso, w.row.size(), false, nullptr),
            GrB_SUCCESS);
  return matrix;
}

std::vector<uint8_t> serialize(GrB_Matrix matrix, int method) {
  GrB_Descriptor descriptor = nullptr;
  GrB_Descriptor_new(&descriptor);
  GxB_Desc_set(descriptor, GxB_COMPRESSION, method);
  void* blob = nullptr;
  GrB_Index bytes = 0;
  EXPECT_EQ(GxB_Matrix_serialize(&blob, &bytes, matrix, descriptor), GrB_SUCCESS);
  std::vector<uint8_t> copy(static_cast<uint8_t*>(blob), static_cast<uint8_t*>(blob) + bytes);
  std::free(blob);
  GrB_Descriptor_free(&descriptor);
  return copy;
}

std::vector<uint8_t> library_blob(const WindowArrays& w, int method) {
  GrB_Matrix matrix = import_matrix(w);
  auto blob = serialize(matrix, method);
  GrB_Matrix_free(&matrix);
  return blob;
}

// A block that ends where the blob ends, so that a reader that goes one byte too far is seen.
std::vector<uint8_t> own_blob(const WindowArrays& w, Compression compression, Lz4Writer writer, size_t max_links = 0) {
  BlobWriter blob_writer(std::max<size_t>({max_links, w.column.size(), 1}), compression, writer);
  std::vector<uint8_t> out(blob_writer.bound());
  const size_t bytes = blob_writer.write(w.view(), out);
  EXPECT_GT(bytes, 0U);
  return {out.begin(), out.begin() + static_cast<ptrdiff_t>(bytes)};
}

// What GraphBLAS itself makes of a blob.
Matrix deserialized(const std::vector<uint8_t>& blob) {
  GrB_Matrix matrix = nullptr;
  EXPECT_EQ(GxB_Matrix_deserialize(&matrix, nullptr, blob.data(), blob.size(), nullptr), GrB_SUCCESS);
  if (matrix == nullptr) return {};
  GrB_Index entries = 0;
  GrB_Matrix_nvals(&entries, matrix);
  std::vector<GrB_Index> rows(entries), columns(entries);
  std::vector<uint64_t> counts(entries);
  EXPECT_EQ(GrB_Matrix_extractTuples_UINT64(rows.data(), columns.data(), counts.data(), &entries, matrix), GrB_SUCCESS);
  GrB_Matrix_free(&matrix);
  Matrix result;
  for (size_t i = 0; i < entries; ++i) {
    if (i == 0 || rows[i] != rows[i - 1]) {
      result.row.push_back(static_cast<uint32_t>(rows[i]));
      result.start.push_back(i);
    }
    result.start.back() = i + 1;
    result.column.push_back(static_cast<uint32_t>(columns[i]));
    result.count.push_back(counts[i]);
  }
  return result;
}

std::vector<WindowArrays> windows() {
  std::mt19937_64 random(20231114);
  std::vector<WindowArrays> all{window_of({{0, 0}}), window_of({{0xffffffff, 0xffffffff}}),
                                window_of({{1, 2}, {1, 2}, {1, 2}})};
  for (const Traffic traffic : {Traffic::uniform, Traffic::skewed, Traffic::edges}) {
    for (const size_t packets :
         {1, 2, 3, 4, 7, 15, 16, 30, 31, 32, 33, 63, 64, 65, 100, 500, 1000, 8191, 8192, 8200, 131072}) {
      all.push_back(random_window(random, packets, traffic));
    }
  }
  std::vector<std::pair<uint32_t, uint32_t>> scan, flood;
  for (uint32_t i = 0; i < 70000; ++i) scan.emplace_back(7, 1000 + i), flood.emplace_back(i * 17, 99);
  all.push_back(window_of(scan));
  all.push_back(window_of(flood));
  all.push_back(window_of(std::vector<std::pair<uint32_t, uint32_t>>(70000, {5, 6})));
  return all;
}

struct Way {
  const char* name;
  Compression compression;
  Lz4Writer writer;
  int method;  // of GraphBLAS, whose bytes must be the same; 0 if they needn't
};
constexpr Way kWays[] = {{"none", Compression::none, Lz4Writer::own, GxB_COMPRESSION_NONE},
                         {"lz4 of the library", Compression::lz4, Lz4Writer::library, GxB_COMPRESSION_LZ4},
                         {"zstd", Compression::zstd, Lz4Writer::own, GxB_COMPRESSION_ZSTD + 1},
                         {"own lz4", Compression::lz4, Lz4Writer::own, 0}};

TEST_F(BlobTest, IsTheLibrarysAndReadsBack) {
  for (const WindowArrays& w : windows()) {
    for (const Way& way : kWays) {
      SCOPED_TRACE(std::string(way.name) + ", " + std::to_string(w.column.size()) + " links");
      const auto blob = own_blob(w, way.compression, way.writer);
      if (way.method != 0) {
        const auto expected = library_blob(w, way.method);
        ASSERT_EQ(blob.size(), expected.size());
        ASSERT_TRUE(blob == expected);
      }
      const auto read = read_blob(blob);
      ASSERT_TRUE(read) << read.error().text;
      ASSERT_TRUE(*read == w.matrix());
      ASSERT_TRUE(deserialized(blob) == w.matrix());
    }
  }
}

TEST_F(BlobTest, EmptyMatrix) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    const auto blob = own_blob({}, way.compression, way.writer);
    EXPECT_EQ(blob, library_blob({}, way.method == 0 ? GxB_COMPRESSION_LZ4 : way.method));
    EXPECT_EQ(deserialized(blob), Matrix{});
    const auto read = read_blob(blob);
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(*read, Matrix{});
  }
}

// A writer that has written longer windows before must not leave traces, and takes what it was made for.
TEST_F(BlobTest, WriterIsUsedAgain) {
  std::mt19937_64 random(7);
  const auto longer = random_window(random, 5000, Traffic::uniform),
             shorter = random_window(random, 90, Traffic::skewed);
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    BlobWriter writer(5000, way.compression, way.writer);
    std::vector<uint8_t> out(writer.bound());
    for (const WindowArrays* w : {&longer, &shorter, &longer}) {
      const size_t bytes = writer.write(w->view(), out);
      EXPECT_TRUE(std::vector<uint8_t>(out.begin(), out.begin() + static_cast<ptrdiff_t>(bytes)) ==
                  own_blob(*w, way.compression, way.writer));
    }
    EXPECT_EQ(writer.write(random_window(random, 5100, Traffic::uniform).view(), out), 0U);
    EXPECT_EQ(writer.write(shorter.view(), std::span(out).first(out.size() - 1)), 0U);
    const uint32_t one[] = {1};
    EXPECT_EQ(writer.write({one, one, one, one}, out), 0U);
  }
}

// With several threads the library cuts arrays into blocks.
TEST_F(BlobTest, ReadsBlobsOfManyBlocks) {
  std::mt19937_64 random(8);
  const auto w = random_window(random, 40000, Traffic::uniform);
  GxB_Global_Option_set(GxB_GLOBAL_CHUNK, 4096.0);
  for (const int threads : {2, 7}) {
    set_threads(threads);
    for (const int method :
         {GxB_COMPRESSION_LZ4, GxB_COMPRESSION_LZ4HC, GxB_COMPRESSION_ZSTD, GxB_COMPRESSION_ZSTD + 5}) {
      SCOPED_TRACE(std::to_string(threads) + " threads, method " + std::to_string(method));
      const auto blob = library_blob(w, method);
      BlobHeader header;
      std::memcpy(&header, blob.data(), sizeof header);
      EXPECT_GT(header.blocks[kIndices].blocks, 1);
      const auto read = read_blob(blob);
      ASSERT_TRUE(read) << read.error().text;
      EXPECT_TRUE(*read == w.matrix());
    }
  }
  set_threads(1);
}

struct TypeCase {
  const char* name;
  GrB_Type type;
  const char* error;  // nullptr if it is read
};

TEST_F(BlobTest, TypesAndForms) {
  const TypeCase types[] = {
      {"bool", GrB_BOOL, nullptr},     {"int8", GrB_INT8, nullptr},     {"uint8", GrB_UINT8, nullptr},
      {"int16", GrB_INT16, nullptr},   {"uint16", GrB_UINT16, nullptr}, {"int32", GrB_INT32, nullptr},
      {"uint32", GrB_UINT32, nullptr}, {"int64", GrB_INT64, nullptr},   {"uint64", GrB_UINT64, nullptr},
      {"fp32", GrB_FP32, "FP32"},      {"fp64", GrB_FP64, "FP64"},      {"fc32", GxB_FC32, "FC32"}};
  for (const TypeCase& type : types) {
    for (const int form : {GxB_HYPERSPARSE, GxB_SPARSE, GxB_BITMAP}) {
      for (const int order : {GxB_BY_ROW, GxB_BY_COL}) {
        SCOPED_TRACE(std::string(type.name) + ", form " + std::to_string(form) + ", order " + std::to_string(order));
        GrB_Matrix matrix = nullptr;
        GrB_Matrix_new(&matrix, type.type, 40, 50);
        GxB_Matrix_Option_set(matrix, GxB_FORMAT, order);
        GxB_Matrix_Option_set(matrix, GxB_SPARSITY_CONTROL, form);
        const bool is_bool = type.type == GrB_BOOL;
        Matrix expected{{3, 39}, {0, 2, 3}, {0, 49, 7}, {1, is_bool ? 1U : 100U, is_bool ? 1U : 2U}};
        GrB_Matrix_setElement_UINT64(matrix, 1, 3, 0);
        GrB_Matrix_setElement_UINT64(matrix, 100, 3, 49);
        GrB_Matrix_setElement_UINT64(matrix, 2, 39, 7);
        GrB_Matrix_wait(matrix, GrB_MATERIALIZE);
        const auto blob = serialize(matrix, GxB_COMPRESSION_LZ4);
        GrB_Matrix_free(&matrix);
        const auto read = read_blob(blob);
        const char* error = form == GxB_BITMAP ? "bitmap" : type.error;
        if (type.error != nullptr) error = type.error;
        if (error == nullptr) {
          ASSERT_TRUE(read) << read.error().text;
          EXPECT_EQ(*read, expected);
        } else {
          ASSERT_FALSE(read);
          EXPECT_NE(read.error().text.find(error), std::string::npos) << read.error().text;
        }
      }
    }
  }
}

TEST_F(BlobTest, ValuesThatAreNoPackets) {
  for (const int64_t value : {int64_t{-1}, int64_t{0}}) {
    GrB_Matrix matrix = nullptr;
    GrB_Matrix_new(&matrix, GrB_INT64, 9, 9);
    GrB_Matrix_setElement_INT64(matrix, 5, 1, 1);
    GrB_Matrix_setElement_INT64(matrix, value, 2, 3);
    const auto read = read_blob(serialize(matrix, GxB_COMPRESSION_LZ4));
    GrB_Matrix_free(&matrix);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().text.find(value < 0 ? "negative" : "0 packets"), std::string::npos) << read.error().text;
  }
}

TEST_F(BlobTest, IndicesBeyond32Bits) {
  GrB_Matrix matrix = nullptr;
  GrB_Matrix_new(&matrix, GrB_UINT32, GrB_Index{1} << 60, GrB_Index{1} << 60);
  GrB_Matrix_setElement_UINT32(matrix, 5, 1, 1);
  EXPECT_TRUE(read_blob(serialize(matrix, GxB_COMPRESSION_LZ4)));
  GrB_Matrix_setElement_UINT32(matrix, 5, 1, GrB_Index{1} << 32);
  EXPECT_FALSE(read_blob(serialize(matrix, GxB_COMPRESSION_LZ4)));
  GrB_Matrix_free(&matrix);
}

}  // namespace
}  // namespace trama
