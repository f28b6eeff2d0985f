// trama.h: what a window has.
#include "libclient/c_api.hpp"

using namespace trama::c_api;
using trama::ClosedBy;
using trama::EnvelopeEncoding;
using trama::WindowInfo;

// The constants of trama.h are those of the C++ types; what is added to these needs a constant of its own.
static_assert(TRAMA_CLOSED_FULL == int(ClosedBy::full) && TRAMA_CLOSED_END == int(ClosedBy::end) &&
              TRAMA_CLOSED_TIME == int(ClosedBy::time) && TRAMA_CLOSED_KEY == int(ClosedBy::key) &&
              TRAMA_CLOSED_EXCLUSIONS == int(ClosedBy::exclusions) && TRAMA_CLOSED_FLUSH == int(ClosedBy::flush));
static_assert(TRAMA_BLOB == int(EnvelopeEncoding::blob_plain) && TRAMA_BLOB_LZ4 == int(EnvelopeEncoding::blob_lz4) &&
              TRAMA_BLOB_ZSTD == int(EnvelopeEncoding::blob_zstd) && TRAMA_COMPACT == int(EnvelopeEncoding::compact));

namespace trama::c_api {

uint64_t verdict_of(const VerdictCounts& verdicts, int verdict, const char* function) noexcept {
  switch (verdict) {
    case TRAMA_COUNTED: return verdicts.counted;
    case TRAMA_EXCLUDED: return verdicts.excluded;
    case TRAMA_FILTERED: return verdicts.filtered;
    case TRAMA_IPV6: return verdicts.ipv6;
    case TRAMA_NOT_IP: return verdicts.not_ip;
    case TRAMA_MALFORMED: return verdicts.malformed;
    case TRAMA_CUT: return verdicts.cut;
    case TRAMA_UNKNOWN_LINK: return verdicts.unknown_link;
    case TRAMA_SEEN: return verdicts.seen();
    default: return fail_constant(function, "the verdicts"), 0;
  }
}

}  // namespace trama::c_api

namespace {

template <class Value, class Get>
Value of_window(const trama_window* window, const char* function, Value otherwise, Get get) noexcept {
  return ask(window, function, "window", otherwise, [&](const trama_window& of) -> Value { return get(*of.window); });
}

template <class Value>
Value of_info(const trama_window* window, const char* function, Value WindowInfo::*what) noexcept {
  return of_window(window, function, Value{}, [=](auto& of) { return of.info().*what; });
}

const char* text(const trama_window* window, const char* function, std::string WindowInfo::*what) noexcept {
  return of_window(window, function, "", [=](auto& of) { return (of.info().*what).c_str(); });
}

const uint32_t* array(const trama_window* window, const char* function,
                      std::span<const uint32_t> trama::HyperCsr::*what) noexcept {
  return of_window(window, function, static_cast<const uint32_t*>(nullptr),
                   [=](auto& of) { return (of.matrix().*what).data(); });
}

}  // namespace

extern "C" {

void trama_window_free(trama_window* window) { delete window; }

uint64_t trama_window_missed(const trama_window* window) {
  return of_window(window, __func__, uint64_t{0}, [](auto& of) { return of.missed; });
}
int trama_window_restarted(const trama_window* window) {
  return of_window(window, __func__, 0, [](auto& of) { return of.restarted ? 1 : 0; });
}

uint64_t trama_window_run(const trama_window* window) { return of_info(window, __func__, &WindowInfo::run); }
uint64_t trama_window_seq(const trama_window* window) { return of_info(window, __func__, &WindowInfo::seq); }
uint64_t trama_window_full_packets(const trama_window* window) {
  return of_info(window, __func__, &WindowInfo::window_packets);
}
uint64_t trama_window_packets(const trama_window* window) { return of_info(window, __func__, &WindowInfo::packets); }
int64_t trama_window_first_ns(const trama_window* window) { return of_info(window, __func__, &WindowInfo::first_ns); }
int64_t trama_window_last_ns(const trama_window* window) { return of_info(window, __func__, &WindowInfo::last_ns); }
int trama_window_closed_by(const trama_window* window) {
  return of_window(window, __func__, -1, [](auto& of) { return static_cast<int>(of.info().closed_by); });
}
uint64_t trama_window_verdict(const trama_window* window, int verdict) {
  return of_window(window, __func__, uint64_t{0},
                   [=](auto& of) { return verdict_of(of.info().verdicts, verdict, "trama_window_verdict"); });
}
uint64_t trama_window_dropped(const trama_window* window, int where) {
  return of_window(window, __func__, uint64_t{0}, [=](auto& of) -> uint64_t {
    const trama::DroppedCounts& dropped = of.info().dropped;
    switch (where) {
      case TRAMA_DROPPED_KERNEL: return dropped.kernel;
      case TRAMA_DROPPED_NIC: return dropped.nic;
      case TRAMA_DROPPED_RING: return dropped.ring;
      default: return fail_constant("trama_window_dropped", "the places where packets are dropped"), 0;
    }
  });
}
uint64_t trama_window_removed_in_kernel(const trama_window* window) {
  return of_info(window, __func__, &WindowInfo::removed_in_kernel);
}

const char* trama_window_sensor(const trama_window* window) { return text(window, __func__, &WindowInfo::sensor); }
const char* trama_window_stream(const trama_window* window) { return text(window, __func__, &WindowInfo::stream); }
const char* trama_window_graph(const trama_window* window) { return text(window, __func__, &WindowInfo::graph); }
const char* trama_window_anonymization(const trama_window* window) {
  return text(window, __func__, &WindowInfo::anonymization);
}
const char* trama_window_key(const trama_window* window) { return text(window, __func__, &WindowInfo::key); }
const char* trama_window_exclusions(const trama_window* window) {
  return text(window, __func__, &WindowInfo::exclusions);
}

size_t trama_window_n_rows(const trama_window* window) {
  return of_window(window, __func__, size_t{0}, [](auto& of) { return of.matrix().rows(); });
}
size_t trama_window_n_links(const trama_window* window) {
  return of_window(window, __func__, size_t{0}, [](auto& of) { return of.matrix().links(); });
}
const uint32_t* trama_window_rows(const trama_window* window) { return array(window, __func__, &trama::HyperCsr::row); }
const uint32_t* trama_window_starts(const trama_window* window) {
  return array(window, __func__, &trama::HyperCsr::start);
}
const uint32_t* trama_window_columns(const trama_window* window) {
  return array(window, __func__, &trama::HyperCsr::column);
}
const uint32_t* trama_window_counts(const trama_window* window) {
  return array(window, __func__, &trama::HyperCsr::count);
}
int trama_window_raw_order(const trama_window* window) {
  return of_window(window, __func__, 0, [](auto& of) { return of.info().raw_order ? 1 : 0; });
}
int trama_window_encoding(const trama_window* window) {
  return of_window(window, __func__, -1, [](auto& of) { return static_cast<int>(of.info().encoding); });
}
const void* trama_window_serialized(const trama_window* window, size_t* bytes) {
  if (bytes == nullptr) return fail_null(__func__, "bytes"), nullptr;
  *bytes = 0;
  return of_window(window, __func__, static_cast<const void*>(nullptr), [=](auto& of) -> const void* {
    *bytes = of.serialized().size();
    return of.serialized().data();
  });
}
}
