// Which format a capture is in, by its first bytes; what isn't read is named, so that its user knows what to do.
// The magic numbers are those of the formats' own descriptions and of file(1).
#include <algorithm>
#include <string_view>

#include "modules/support/capture_format.hpp"
#include "modules/support/pcap_format.hpp"
#include "modules/support/pcapng_format.hpp"

namespace trama {
namespace {

using namespace std::string_view_literals;

constexpr size_t kLook = 512;  // as far as the latest magic, tar's, is looked for

struct Foreign {
  std::string_view magic;
  size_t at;
  std::string_view name;
  std::string_view remedy;
};

constexpr std::string_view kConvert = "convert it with: editcap -F pcapng IN OUT";
constexpr std::string_view kUnpack = "unpack it first";

constexpr Foreign kForeign[] = {
    {"snoop\0\0\0"sv, 0, "a Sun snoop capture", kConvert},
    {"iptrace 1.0"sv, 0, "an AIX iptrace capture", kConvert},
    {"iptrace 2.0"sv, 0, "an AIX iptrace capture", kConvert},
    {"RTSS"sv, 0, "a Microsoft Network Monitor 1 capture", kConvert},
    {"GMBU"sv, 0, "a Microsoft Network Monitor 2 capture", kConvert},
    {"XCP\0"sv, 0, "a NetXRay or Sniffer capture", kConvert},
    {"TRSNIFF data"sv, 0, "a DOS Sniffer capture", kConvert},
    {"\x7fver"sv, 0, "an OmniPeek capture", kConvert},
    {"\x1c\x00\x01\xac"sv, 0, "an Ixia lcap capture", kConvert},
    {"\xac\x01\x00\x1c"sv, 0, "an Ixia lcap capture", kConvert},
    {"\x1c\x00\x01\xab"sv, 0, "an Ixia lcap capture", kConvert},
    {"\xab\x01\x00\x1c"sv, 0, "an Ixia lcap capture", kConvert},
    {"\x01\x10"sv, 0, "perhaps a LANalyzer capture", kConvert},
    {"\x07\x10"sv, 0, "perhaps a LANalyzer capture", kConvert},
    {"BZh"sv, 0, "bzip2 data", kUnpack},
    {"PK\x03\x04"sv, 0, "a ZIP archive", kUnpack},
    {"7z\xbc\xaf\x27\x1c"sv, 0, "a 7-Zip archive", kUnpack},
    {"Rar!\x1a\x07"sv, 0, "a RAR archive", kUnpack},
    {"\x1f\x9d"sv, 0, "compress (.Z) data", kUnpack},
    {"\x02\x21\x4c\x18"sv, 0, "LZ4 data in the legacy format", kUnpack},
    {"\x89LZO"sv, 0, "lzop data", kUnpack},
    {"\x1f\x8b"sv, 0, "data that was compressed twice", kUnpack},
    {"\x28\xb5\x2f\xfd"sv, 0, "data that was compressed twice", kUnpack},
    {"\xfd\x37zXZ\0"sv, 0, "data that was compressed twice", kUnpack},
    {"\x04\x22\x4d\x18"sv, 0, "data that was compressed twice", kUnpack},
    {"ustar"sv, 257, "a TAR archive", kUnpack},
    {"version https://git-lfs"sv, 0, "a Git LFS pointer", "fetch the file behind it: git lfs pull"},
    {"<!DOCTYPE"sv, 0, "a web page", "download the capture itself"},
    {"<html"sv, 0, "a web page", "download the capture itself"},
};

bool is_pcap(std::span<const uint8_t> head) {
  return head.size() >= 4 && PcapFormat::knows(load_unaligned<uint32_t>(head.data(), false));
}

bool is_pcapng(std::span<const uint8_t> head) {
  return head.size() >= 4 && load_unaligned<uint32_t>(head.data(), false) == PcapngFormat::kSectionHeader;
}

// Whether the whole input, fewer than four bytes, is how a pcap or pcapng file begins.
bool begins_like_capture(std::string_view text) {
  constexpr std::string_view kMagics[] = {"\xa1\xb2\xc3\xd4"sv, "\xd4\xc3\xb2\xa1"sv, "\xa1\xb2\x3c\x4d"sv,
                                          "\x4d\x3c\xb2\xa1"sv, "\xa1\xb2\xcd\x34"sv, "\x34\xcd\xb2\xa1"sv,
                                          "\x0a\x0d\x0d\x0a"sv};
  return std::any_of(std::begin(kMagics), std::end(kMagics),
                     [&](std::string_view magic) { return magic.starts_with(text); });
}

InputFailure refusal(std::span<const uint8_t> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (text.empty()) return {InputStatus::truncated, "it is empty: not even a file header is there"};
  if (text.size() < 4 && begins_like_capture(text)) {
    return {InputStatus::truncated,
            "truncated at byte 0: the file header needs 24 bytes, " + std::to_string(text.size()) + " are there"};
  }
  for (const Foreign& foreign : kForeign) {
    if (text.size() < foreign.at || !text.substr(foreign.at).starts_with(foreign.magic)) continue;
    return {InputStatus::unsupported,
            "this is " + std::string(foreign.name) + ", which is not read; " + std::string(foreign.remedy)};
  }
  return {InputStatus::unsupported, "not a capture file: it begins like neither pcap nor pcapng"};
}

}  // namespace

std::unique_ptr<CaptureFormat> recognise_capture(std::span<const uint8_t> head, bool ended, InputFailure& failure) {
  if (is_pcap(head)) return std::make_unique<PcapFormat>();
  if (is_pcapng(head)) return std::make_unique<PcapngFormat>();
  if (ended || head.size() >= kLook) failure = refusal(head);
  return nullptr;
}

}  // namespace trama
