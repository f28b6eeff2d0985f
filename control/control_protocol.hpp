// What goes through the control socket: a request and its answer, a JSON object each, on a line each (docs/control.md).
//
//   {"trama": 1, "id": 7, "request": "exclude add", "range": "192.0.2.0/24"}
//   {"trama": 1, "id": 7, "ok": true, "result": {"changed": true, "ranges": 3}}
//   {"trama": 1, "id": 7, "ok": false, "error": "...", "hint": "..."}
//
// Whoever may open the socket may be careless or hostile: a request is a flat object of known fields, each once, and
// anything else is refused with what would have been right. No answer repeats what isn't printable.
#pragma once
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/diagnostic.hpp"

namespace trama {

inline constexpr int64_t kControlVersion = 1;
inline constexpr size_t kMaxRequestBytes = 64 << 10;  // of a line, without its end

enum class ControlVerb {
  status,
  counters,
  windows,
  exclude_add,
  exclude_remove,
  exclude_list,
  reload,
  rotate_key,
  flush,
  stop,
};

struct ControlRequest {
  ControlVerb verb = ControlVerb::status;
  std::string range;       // of exclude_add and exclude_remove: CIDR[:side]
  std::string key_file;    // of rotate_key
  bool ephemeral = false;  // of rotate_key, instead of a file
  uint64_t last = 16;      // of windows: how many
  bool operator==(const ControlRequest&) const = default;
};

// What the client calls its request; nothing unless it was said.
using RequestId = std::variant<std::monostate, int64_t, std::string>;

// The names, as in `trama ctl`: "exclude add".
const char* to_string(ControlVerb verb);
std::vector<std::string> control_verbs();
Expected<ControlVerb> find_control_verb(std::string_view name);

struct DecodedRequest {
  RequestId id;  // also where the rest is wrong, if it could be read
  Expected<ControlRequest> request;
};
// `line` without its end; of any length and contents.
DecodedRequest decode_request(std::string_view line);

// All with the newline. Text that isn't UTF-8 is sent with U+FFFD for what is wrong in it.
std::string encode_request(const ControlRequest& request, const RequestId& id = {});
std::string encode_result(const RequestId& id, const nlohmann::ordered_json& result);
std::string encode_failure(const RequestId& id, const Diagnostic& failure);

// The result, or the failure that the engine told. Also fails when this is no answer.
Expected<nlohmann::ordered_json> decode_answer(std::string_view line);

}  // namespace trama
