// From the decompressed arrays of a blob to a matrix. Part of blob.hpp's reader, not meant for others.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "libclient/formats/blob_header.hpp"
#include "libclient/formats/error.hpp"
#include "libclient/formats/matrix.hpp"

namespace trama {

// The bytes of each array, of the lengths that the (checked) header states; starts and values may be missing when there
// are no entries.
using BlobArrays = std::array<std::span<const uint8_t>, kBlobArrays>;

// Checks what the arrays hold and widens, transposes and tidies them. Throws std::bad_alloc.
FormatExpected<Matrix> assemble_matrix(const BlobHeader& header, const BlobArrays& arrays);

}  // namespace trama
