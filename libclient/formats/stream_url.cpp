#include "libclient/formats/stream_url.hpp"

#include <sys/un.h>

#include <charconv>
#include <optional>

#include "libclient/formats/stream_note.hpp"

namespace trama {
namespace {

constexpr std::string_view kTcp = "trama+tcp://", kIpc = "trama+ipc://", kFile = "file://";
constexpr const char* kForms = "trama+tcp://HOST:PORT/STREAM, trama+ipc://PATH or file:///FOLDER";

bool is_control(char letter) { return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F; }

std::optional<char> hex_pair(std::string_view digits) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2) return std::nullopt;
  return static_cast<char>(value);
}

// RFC 3986 2.1. Nothing where a `%` isn't followed by two digits, or stands for a byte that no name holds.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    const auto byte = hex_pair(text.substr(i + 1, 2));
    if (!byte || *byte == '\0') return std::nullopt;
    result += *byte;
    i += 2;
  }
  return result;
}

FormatExpected<StreamUrl> parse_tcp(std::string_view rest) {
  StreamUrl url;
  const size_t slash = rest.find('/');
  if (slash != std::string_view::npos) url.stream = rest.substr(slash + 1);
  std::string_view place = rest.substr(0, slash);
  const size_t colon = place.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == place.size())
    return format_failure("a URL without a port", "as in trama+tcp://127.0.0.1:7801/roof");
  const std::string_view port = place.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  if (error != std::errc() || end != port.data() + port.size())
    return format_failure("the port of a URL is no number from 0 to 65535");
  place = place.substr(0, colon);
  const bool bracketed = place.size() > 2 && place.front() == '[' && place.back() == ']';
  if (bracketed) place = place.substr(1, place.size() - 2);
  if (place.empty() || (!bracketed && place.find(':') != std::string_view::npos))
    return format_failure("the host of a URL is missing, or an IPv6 address without brackets",
                          "as in trama+tcp://[::1]:7801/roof");
  if (url.stream.size() > kMostNoteText) return format_failure("the name of a stream is longer than 255 bytes");
  url.host = place;
  return url;
}

FormatExpected<StreamUrl> parse_ipc(std::string_view rest) {
  if (rest.empty()) return format_failure("a URL without a path", "as in trama+ipc:///run/trama/roof.sock");
  if (rest.size() >= sizeof(sockaddr_un::sun_path))
    return format_failure("the path of a URL is too long for a socket (107 bytes at most)");
  StreamUrl url;
  url.way = StreamUrl::Way::ipc;
  url.path = rest;
  return url;
}

FormatExpected<StreamUrl> parse_file(std::string_view rest) {
  auto path = percent_decoded(rest);
  if (!path) return format_failure("a `%` in a URL is not followed by two hexadecimal digits", "write %25 for a `%`");
  if (path->empty() || path->front() != '/')
    return format_failure("a file URL names a folder by its whole path", "as in file:///var/lib/trama");
  StreamUrl url;
  url.way = StreamUrl::Way::file;
  url.path = std::move(*path);
  return url;
}

}  // namespace

std::string StreamUrl::endpoint() const {
  if (way == Way::ipc) return "ipc://" + path;
  // Names are not resolved for a socket that listens, and this one always means the same.
  const std::string known = host == "localhost" ? "127.0.0.1" : host;
  const std::string written = known.find(':') == std::string::npos ? known : "[" + known + "]";
  return "tcp://" + written + ":" + std::to_string(port);
}

std::string StreamUrl::text() const {
  switch (way) {
    case Way::ipc: return std::string(kIpc) + path;
    case Way::file: return std::string(kFile) + path;
    case Way::tcp: break;
  }
  const std::string written = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return std::string(kTcp) + written + ":" + std::to_string(port) + (stream.empty() ? "" : "/" + stream);
}

bool StreamUrl::stays_on_machine() const {
  if (way != Way::tcp) return true;
  if (host == "localhost" || host == "::1") return true;
  // 127.0.0.0/8 by its digits: a name that begins so must not pass.
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos;
}

FormatExpected<StreamUrl> parse_stream_url(std::string_view text) {
  for (const char letter : text)
    if (is_control(letter)) return format_failure("a control character in a URL");
  if (text.starts_with(kTcp)) return parse_tcp(text.substr(kTcp.size()));
  if (text.starts_with(kIpc)) return parse_ipc(text.substr(kIpc.size()));
  if (text.starts_with(kFile)) return parse_file(text.substr(kFile.size()));
  if (text.starts_with("nats://") || text.starts_with("nats+tls://"))
    return format_failure("streams over NATS are not in this version", std::string("there is ") + kForms);
  return format_failure("not the URL of a stream", std::string("it is ") + kForms);
}

}  // namespace trama
