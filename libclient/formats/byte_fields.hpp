// Fields of the formats that go over networks: little-endian numbers and short texts one behind the other, sealed with
// a checksum.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace trama {

static_assert(std::endian::native == std::endian::little, "numbers are read and written as they lie in memory");

inline constexpr size_t kSealBytes = 16;  // XXH3's 128 bits, big-endian

// Writes into a buffer that is long enough: the caller has computed how long.
class FieldWriter {
 public:
  explicit FieldWriter(uint8_t* out) : begin_(out), at_(out) {}

  template <class Number>
  void number(Number value) {
    static_assert(std::is_integral_v<Number>);
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  void bytes(const void* from, size_t size) {
    if (size > 0) std::memcpy(at_, from, size);
    at_ += size;
  }
  void bytes(std::string_view text) { bytes(text.data(), text.size()); }

  // The checksum of all that was written; returns the length with it.
  size_t seal();

 private:
  uint8_t* const begin_;
  uint8_t* at_;
};

// Reads from bytes of any length and content. Behind the end everything is zero and empty, and ok() false.
class FieldReader {
 public:
  explicit FieldReader(std::span<const uint8_t> bytes) : left_(bytes) {}

  template <class Number>
  Number number() {
    static_assert(std::is_integral_v<Number>);
    Number value = 0;
    const auto from = bytes(sizeof value);
    if (!from.empty()) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  std::span<const uint8_t> bytes(uint64_t size) {
    ok_ = ok_ && size <= left_.size();
    if (!ok_) return {};
    const auto taken = left_.first(static_cast<size_t>(size));
    left_ = left_.subspan(static_cast<size_t>(size));
    return taken;
  }
  std::string_view text(uint64_t size) {
    const auto from = bytes(size);
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && left_.empty(); }

 private:
  std::span<const uint8_t> left_;
  bool ok_ = true;
};

// Is the checksum at the end that of everything before it? False for bytes that are too short to have one.
bool has_whole_seal(std::span<const uint8_t> sealed);

}  // namespace trama
