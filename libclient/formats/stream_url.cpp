#include "libclient/formats/stream_url.hpp"

#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "libclient/formats/stream_note.hpp"

namespace trama {
namespace {

constexpr std::string_view kTcp = "trama+tcp://", kIpc = "trama+ipc://", kFile = "file://";
constexpr std::string_view kNats = "nats://", kNatsTls = "nats+tls://";
constexpr const char* kForms =
    "trama+tcp://HOST:PORT/STREAM, trama+ipc://PATH, nats://HOST:PORT/SUBJECT, nats+tls:// or file:///FOLDER";
constexpr uint16_t kNatsPort = 4222;

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

// HOST:PORT
FormatExpected<StreamUrl> parse_place(std::string_view place) {
  StreamUrl url;
  const size_t colon = place.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == place.size())
    return format_failure("a URL without a port", "as in trama+tcp://127.0.0.1:7801/roof");
  const std::string_view port = place.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  if (error != std::errc() || end != port.data() + port.size())
    return format_failure("the port of a URL is no number from 0 to 65535", "as in trama+tcp://127.0.0.1:7801/roof");
  place = place.substr(0, colon);
  if (place.find('@') != std::string_view::npos)  // it may be a secret, and a host is shown
    return format_failure("a URL with a login, where there is none", "keys are given apart; nats:// has logins");
  const bool bracketed = place.size() > 2 && place.front() == '[' && place.back() == ']';
  if (bracketed) place = place.substr(1, place.size() - 2);
  if (place.empty() || (!bracketed && place.find(':') != std::string_view::npos))
    return format_failure("the host of a URL is missing, or an IPv6 address without brackets",
                          "as in trama+tcp://[::1]:7801/roof");
  url.host = place;
  return url;
}

FormatExpected<StreamUrl> parse_tcp(std::string_view rest) {
  const size_t slash = rest.find('/');
  auto url = parse_place(rest.substr(0, slash));
  if (!url || slash == std::string_view::npos) return url;
  url->stream = rest.substr(slash + 1);
  if (url->stream.size() > kMostNoteText) return format_failure("the name of a stream is longer than 255 bytes");
  return url;
}

// Tokens with dots between them. No wildcards: a stream is one.
bool is_subject(std::string_view text) {
  if (text.empty() || text.front() == '$' || text.front() == '.' || text.back() == '.') return false;
  return text.find("..") == std::string_view::npos && text.find_first_of(" *>/?#&%") == std::string_view::npos;
}

// One part of the folder that JetStream keeps a stream in.
bool is_store_name(std::string_view text) { return is_subject(text) && text.find('.') == std::string_view::npos; }

FormatExpected<void> parse_nats_options(std::string_view rest, StreamUrl& url) {
  while (!rest.empty()) {
    const std::string_view option = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), option.size() + 1));
    const bool store = option.starts_with("store="), domain = option.starts_with("domain=");
    if (!store && !domain) return format_failure("behind the `?` of a NATS URL is neither store=NAME nor domain=NAME");
    const std::string_view name = option.substr(option.find('=') + 1);
    if (!is_store_name(name))
      return format_failure("the name of a store or a domain is no name", "letters, digits, - and _");
    (store ? url.store : url.domain) = name;
  }
  return {};
}

FormatExpected<StreamUrl> parse_nats(std::string_view rest, bool encrypted) {
  const char* const form = "as in nats://127.0.0.1:4222/trama.roof";
  const size_t slash = rest.find('/');
  std::string_view place = rest.substr(0, slash), tail;
  if (slash != std::string_view::npos) tail = rest.substr(slash + 1);
  StreamUrl who;
  if (const size_t at = place.rfind('@'); at != std::string_view::npos) {
    const std::string_view login = place.substr(0, at);
    const size_t colon = std::min(login.size(), login.find(':'));
    auto user = percent_decoded(login.substr(0, colon));
    auto password = percent_decoded(login.substr(std::min(login.size(), colon + 1)));
    if (!user || !password || user->empty())
      return format_failure("the user or password of a URL is badly written", "write %40 for an `@`, %3A for a `:`");
    who.user = std::move(*user);
    who.password = std::move(*password);
    place.remove_prefix(at + 1);
  }
  const bool has_port = place.find(':') != std::string_view::npos && (place.front() != '[' || place.back() != ']');
  auto url = parse_place(has_port ? std::string(place) : std::string(place) + ":" + std::to_string(kNatsPort));
  if (!url) return url;
  url->way = StreamUrl::Way::nats;
  url->encrypted = encrypted;
  url->user = std::move(who.user);
  url->password = std::move(who.password);
  url->stream = tail.substr(0, tail.find('?'));
  if (url->port == 0) return format_failure("the port of a NATS URL is 0", form);
  if (!is_subject(url->stream)) return format_failure("a NATS URL ends in a subject, without wildcards", form);
  if (url->stream.size() > kMostNoteText) return format_failure("the name of a stream is longer than 255 bytes");
  tail.remove_prefix(std::min(tail.size(), url->stream.size() + 1));
  if (auto fine = parse_nats_options(tail, *url); !fine) return tl::unexpected(std::move(fine.error()));
  return url;
}

std::string nats_options(const StreamUrl& url) {
  std::string text;
  if (!url.store.empty()) text += "?store=" + url.store;
  if (!url.domain.empty()) text += (text.empty() ? "?domain=" : "&domain=") + url.domain;
  return text;
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
    case Way::tcp:
    case Way::nats: break;
  }
  const std::string written = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (way == Way::nats)
    return std::string(encrypted ? kNatsTls : kNats) + written + ":" + std::to_string(port) + "/" + stream +
           nats_options(*this);
  return std::string(kTcp) + written + ":" + std::to_string(port) + (stream.empty() ? "" : "/" + stream);
}

bool StreamUrl::stays_on_machine() const {
  if (way == Way::ipc || way == Way::file) return true;
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
  if (text.starts_with(kNats)) return parse_nats(text.substr(kNats.size()), false);
  if (text.starts_with(kNatsTls)) return parse_nats(text.substr(kNatsTls.size()), true);
  return format_failure("not the URL of a stream", std::string("it is ") + kForms);
}

std::string shown_stream_url(std::string_view text) {
  const size_t at = text.rfind('@'), scheme = text.find("://");
  if (!text.starts_with("nats") || at == std::string_view::npos || scheme == std::string_view::npos || at < scheme)
    return std::string(text);
  return std::string(text.substr(0, scheme + 3)) + std::string(text.substr(at + 1));
}

}  // namespace trama
