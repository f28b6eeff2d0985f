// The text of a graph whose hash names the result: two graphs with the same text make the same bytes of the same input.
#include <algorithm>
#include <cstdio>

#include "engine/graph_spec.hpp"

namespace trama {
namespace {

// Quoted, so that no text can look like the end of itself and the beginning of another key.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result + "\"";
}

struct Written {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
  }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(const std::vector<std::string>& value) const {
    std::string text;
    for (const std::string& item : value) text += (text.empty() ? "" : ", ") + quoted(item);
    return "[" + text + "]";
  }
};

}  // namespace

std::string canonical_text(const GraphSpec& spec, const std::vector<std::string>& leave_out) {
  std::string text = "trama-graph/1\nwindow_packets = " + std::to_string(spec.sizes.window_items) + "\n";
  for (const LinkSpec& link : spec.links) text += "link " + quoted(link.from) + " " + quoted(link.to) + "\n";

  std::vector<const StageSpec*> stages;
  for (const StageSpec& stage : spec.stages) stages.push_back(&stage);
  std::sort(stages.begin(), stages.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  for (const StageSpec* stage : stages) {
    text += "stage " + quoted(stage->name) + " " + quoted(stage->kind) + "\n";
    for (const auto& [name, value] : stage->parameters.values) {
      if (std::find(leave_out.begin(), leave_out.end(), name) != leave_out.end()) continue;
      text += "  " + quoted(name) + " = " + std::visit(Written(), value.value) + "\n";
    }
  }
  return text;
}

}  // namespace trama
