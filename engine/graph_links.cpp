#include "engine/graph_links.hpp"

#include "engine/suggest.hpp"

namespace trama {
namespace {

constexpr const char* kForm = "write \"a -> b -> c\", and to several readers \"c -> d, e\"";

bool alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

std::vector<std::string> split(std::string_view text, std::string_view between) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t at = text.find(between);
    parts.emplace_back(trimmed(text.substr(0, at)));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + between.size());
  }
}

// What is wrong with a name, if anything.
std::optional<Diagnostic> name_wrong(const std::string& name, const Place& place) {
  if (name.empty()) return Diagnostic{Severity::error, place, "a name is missing beside an arrow or comma", kForm};
  if (is_stage_name(name)) return std::nullopt;
  return Diagnostic{Severity::error, place, "`" + name + "` is no stage name",
                    "a name has letters, digits, _ and -; the arrow between two names is `->`"};
}

// Commas anywhere but in the last element.
std::optional<Diagnostic> early_comma(const std::vector<std::string>& elements, const Place& place) {
  for (size_t i = 0; i + 1 < elements.size(); ++i) {
    if (elements[i].find(',') == std::string::npos) continue;
    if (i == 0)
      return Diagnostic{Severity::error, place, "several stages in front of an arrow",
                        "each stage has one stage that feeds it: only the last element may be a list"};
    const std::string last = split(elements[i], ",").back();
    const std::vector<std::string> head(elements.begin(), elements.begin() + static_cast<ptrdiff_t>(i) + 1);
    std::vector<std::string> tail(elements.begin() + static_cast<ptrdiff_t>(i), elements.end());
    tail[0] = last;
    return Diagnostic{Severity::error, place, "an arrow behind a list doesn't say which of its stages it leaves from",
                      "write two links: \"" + joined(head, " -> ") + "\" and \"" + joined(tail, " -> ") + "\""};
  }
  return std::nullopt;
}

}  // namespace

bool is_stage_name(std::string_view name) {
  if (name.empty() || !alphanumeric(name.front()) || name.back() == '-') return false;
  for (const char c : name)
    if (!alphanumeric(c) && c != '_' && c != '-') return false;
  return true;
}

std::vector<LinkSpec> parse_links(std::string_view text, const Place& place, Diagnostics& diagnostics) {
  const std::vector<std::string> elements = split(text, "->");
  if (elements.size() == 1) {
    diagnostics.push_back({Severity::error, place, "a link needs an arrow", kForm});
    return {};
  }
  if (auto wrong = early_comma(elements, place)) {
    diagnostics.push_back(std::move(*wrong));
    return {};
  }
  std::vector<LinkSpec> links;
  bool sound = true;
  for (size_t i = 0; i < elements.size(); ++i) {
    for (std::string& name : split(elements[i], ",")) {
      if (auto wrong = name_wrong(name, place)) {
        diagnostics.push_back(std::move(*wrong));
        sound = false;
      } else if (i > 0) {
        links.push_back({elements[i - 1], std::move(name), place});
      }
    }
  }
  return sound ? links : std::vector<LinkSpec>{};
}

}  // namespace trama
