// Writes plain ustar archives (POSIX.1-1988, IEEE 1003.1 "ustar interchange format"), a header at a time.
//
// It only makes bytes: header, blob and padding of a member can go out in one writev, and the file can be cut back to
// the end of the last whole member when the disk is full. A library that buffers by itself, as libarchive does, can't
// be cut back: nobody knows what it still holds. Headers hold nothing of the machine (no user, no mode but 0644), so
// the same windows give the same archive.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "libclient/formats/error.hpp"

namespace trama {

inline constexpr size_t kTarBlockBytes = 512;
inline constexpr uint64_t kTarMaxMemberBytes = (uint64_t{8} << 30) - 1;  // 11 octal digits

// Two blocks of zeros end an archive. The padding of a member is taken from here too.
inline constexpr std::array<uint8_t, 2 * kTarBlockBytes> kTarEnd{};

struct TarHeader {
  std::array<uint8_t, kTarBlockBytes> block{};
  size_t padding_bytes = 0;  // zeros that follow the member, 0 .. 511
};

// The header of a regular file, mode 0644, user and group 0 without names. mtime_s is brought into 0 .. 2^33 - 1.
// Error: a name that is empty or above 100 bytes, a member above kTarMaxMemberBytes.
FormatExpected<TarHeader> make_tar_header(std::string_view name, uint64_t bytes, int64_t mtime_s);

// "0.grb", "1.grb", …: the names of windows in an archive.
std::string window_member_name(size_t index);

}  // namespace trama
