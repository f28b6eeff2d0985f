#include "libclient/formats/tar_writer.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace trama {
namespace {

constexpr int64_t kLastTime_s = (int64_t{1} << 33) - 1;

// The fields of a ustar header: offset and length.
struct Field {
  size_t offset, bytes;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kUser{108, 8}, kGroup{116, 8}, kSize{124, 12}, kTime{136, 12},
    kChecksum{148, 8}, kType{156, 1}, kMagic{257, 6}, kVersion{263, 2}, kDeviceMajor{329, 8}, kDeviceMinor{337, 8};

void put_text(TarHeader& header, Field field, std::string_view text) {
  std::memcpy(header.block.data() + field.offset, text.data(), std::min(text.size(), field.bytes));
}

// Octal digits with leading zeros that leave the last byte of the field NUL.
void put_octal(TarHeader& header, Field field, uint64_t value) {
  for (size_t i = field.bytes - 1; i-- > 0; value >>= 3) {
    header.block[field.offset + i] = static_cast<uint8_t>('0' + (value & 7));
  }
}

}  // namespace

FormatExpected<TarHeader> make_tar_header(std::string_view name, uint64_t bytes, int64_t mtime_s) {
  if (name.empty() || name.size() > kName.bytes) return format_failure("a member's name must have 1 to 100 bytes");
  if (bytes > kTarMaxMemberBytes) return format_failure("a member of a plain tar archive can't have 8 GiB");
  TarHeader header;
  put_text(header, kName, name);
  put_octal(header, kMode, 0644);
  put_octal(header, kUser, 0);
  put_octal(header, kGroup, 0);
  put_octal(header, kSize, bytes);
  put_octal(header, kTime, static_cast<uint64_t>(std::clamp<int64_t>(mtime_s, 0, kLastTime_s)));
  put_text(header, kType, "0");
  put_text(header, kMagic, {"ustar\0", 6});
  put_text(header, kVersion, "00");
  put_octal(header, kDeviceMajor, 0);
  put_octal(header, kDeviceMinor, 0);

  // The sum of all bytes, with its own field taken as spaces; six digits, NUL, space.
  put_text(header, kChecksum, "        ");
  uint64_t sum = 0;
  for (const uint8_t byte : header.block) sum += byte;
  put_octal(header, {kChecksum.offset, kChecksum.bytes - 1}, sum);
  header.block[kChecksum.offset + 6] = 0;

  header.padding_bytes = (kTarBlockBytes - bytes % kTarBlockBytes) % kTarBlockBytes;
  return header;
}

std::string window_member_name(size_t index) { return std::to_string(index) + ".grb"; }

}  // namespace trama
