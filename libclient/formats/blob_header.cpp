#include "libclient/formats/blob_header.hpp"

#include <cstring>
#include <string>

namespace trama {
namespace {

constexpr const char* kTypeNames[16] = {"(none)", "BOOL",   "INT8",         "UINT8",  "INT16", "UINT16",
                                        "INT32",  "UINT32", "INT64",        "UINT64", "FP32",  "FP64",
                                        "FC32",   "FC64",   "user-defined", "(none)"};
constexpr uint8_t kTypeBytes[10] = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8};
constexpr uint64_t kIndexMax = uint64_t{1} << 60;  // GrB_INDEX_MAX + 1

FormatExpected<void> check_type(const BlobHeader& header) {
  const uint32_t type = header.type();
  if (header.type_code >> 16 != 0 || (header.type_code >> 12 & 15) > 1 || (header.type_code >> 8 & 15) > 1 ||
      (header.type_code >> 4 & 15) > 1 || type == 0 || type == 15) {
    return format_failure("unknown type code in the blob");
  }
  if (header.version < 10'000'000 && header.type_code > 15) return format_failure("unknown type code in the blob");
  if (type > 9) {
    return format_failure("the matrix holds values of type " + std::string(kTypeNames[type]),
                          "packet counts are integers: convert it to UINT64 or UINT32");
  }
  if (header.value_bytes != kTypeBytes[type]) return format_failure("type and size of the values don't agree");
  return {};
}

FormatExpected<void> check_form(const BlobHeader& header) {
  const uint32_t form = header.form >> 2;
  if (form == 4 || form == 8) {
    return format_failure(std::string("the matrix is stored in ") + (form == 4 ? "bitmap" : "full") + " form",
                          "write it sparse or hypersparse (GxB_SPARSITY_CONTROL)");
  }
  if (!header.hypersparse() && !header.sparse()) return format_failure("unknown form of the matrix");
  return {};
}

// Number of values in an array, or nothing if its bytes are no whole number of them.
bool holds(uint64_t bytes, uint64_t values, uint64_t value_bytes) {
  return values <= bytes / value_bytes && values * value_bytes == bytes;
}

FormatExpected<void> check_lengths(const BlobHeader& header) {
  if (header.vector_length > kIndexMax || header.vectors_max > kIndexMax || header.vectors > header.vectors_max ||
      header.vectors_with_entries > header.vectors || header.vectors >= kIndexMax || header.entries > kIndexMax) {
    return format_failure("impossible dimensions");
  }
  const auto& bytes = header.array_bytes;
  auto wrong = [](BlobArray array) {
    return format_failure(std::string("the length of the ") + kBlobArrayNames[array] + " doesn't fit the header");
  };
  const uint64_t index_bytes = header.indices_are_32() ? 4 : 8;
  const uint64_t entries = bytes[kIndices] / index_bytes;
  if (bytes[kIndices] % index_bytes != 0) return wrong(kIndices);
  if (header.entries != entries && !(header.version <= 7'002'000 && header.entries == 0)) return wrong(kIndices);
  if (!holds(bytes[kStarts], header.vectors + 1, header.starts_are_32() ? 4 : 8)) return wrong(kStarts);
  const uint64_t vectors = header.hypersparse() ? header.vectors : 0;
  if (!holds(bytes[kVectors], vectors, header.vectors_are_32() ? 4 : 8)) return wrong(kVectors);
  if (header.sparse() && header.vectors != header.vectors_max) return wrong(kVectors);
  if (bytes[kBitmap] != 0) return wrong(kBitmap);
  // An iso matrix without entries may or may not bring its value along.
  const bool lonely_value = header.iso() && holds(bytes[kValues], 1, header.value_bytes);
  if (!lonely_value &&
      (header.iso() ? entries != 0 || bytes[kValues] != 0 : !holds(bytes[kValues], entries, header.value_bytes))) {
    return wrong(kValues);
  }
  return {};
}

constexpr FormatExpected<void> (*kChecks[])(const BlobHeader&) = {check_type, check_form, check_lengths};

}  // namespace

bool looks_like_blob(std::span<const uint8_t> head, uint64_t total_bytes) {
  if (head.size() < sizeof(uint64_t) || total_bytes < sizeof(BlobHeader)) return false;
  uint64_t stated;
  std::memcpy(&stated, head.data(), sizeof stated);
  return stated == total_bytes;
}

FormatExpected<BlobHeader> read_blob_header(std::span<const uint8_t> blob) {
  BlobHeader header;
  if (blob.size() < sizeof header) return format_failure("not a GraphBLAS blob: shorter than its header");
  std::memcpy(&header, blob.data(), sizeof header);
  if (header.bytes != blob.size()) {
    return format_failure("not a whole GraphBLAS blob: " + std::to_string(blob.size()) +
                          " bytes, and the header states another length");
  }
  const int32_t major = header.version / 1'000'000;
  if (header.version < 0 || major < 5 || major > 10) {
    return format_failure("written by an unknown version of GraphBLAS (known are 5 to 10)");
  }
  for (const auto check : kChecks) {
    if (auto checked = check(header); !checked) return tl::unexpected(checked.error());
  }
  return header;
}

}  // namespace trama
