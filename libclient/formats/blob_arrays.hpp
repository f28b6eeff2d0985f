// From the decompressed arrays of a blob to a matrix. Part of blob.hpp's reader, not meant for others.
#pragma once
#include <cstdint>
#include <span>

#include "libclient/formats/blob_header.hpp"
#include "libclient/formats/error.hpp"
#include "libclient/formats/matrix.hpp"

namespace trama {

// Each checks the bytes of an array and adds what they hold, widened, to the matrix. The bytes are of the length that
// the (checked) header states; vectors and values may be missing when there are no entries. In this order, so that an
// array that lies is found out before memory is taken for the next. All throw std::bad_alloc.
FormatExpected<void> check_starts(const BlobHeader& header, std::span<const uint8_t> starts);
// Rows without entries vanish. `starts` have been checked.
FormatExpected<void> take_rows(const BlobHeader& header, std::span<const uint8_t> starts,
                               std::span<const uint8_t> vectors, Matrix& matrix);
FormatExpected<void> take_columns(const BlobHeader& header, std::span<const uint8_t> indices, Matrix& matrix);
FormatExpected<void> take_counts(const BlobHeader& header, std::span<const uint8_t> values, Matrix& matrix);

// A matrix stored by column is read as if it were by row; this puts it right.
Matrix transposed(const Matrix& from);

}  // namespace trama
