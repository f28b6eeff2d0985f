#include "engine/suggest.hpp"

#include <algorithm>

namespace trama {
namespace {

std::string folded(std::string_view name) {
  std::string result;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    result += c == '-' ? '_' : c;
  }
  return result;
}

// Three rows of the usual table: a swap of neighbours looks two rows back.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view wrong, const std::vector<std::string>& names) {
  const std::string wanted = folded(wrong);
  std::optional<std::string> best;
  size_t least = SIZE_MAX;
  for (const std::string& name : names) {
    const size_t shorter = std::min(wanted.size(), name.size());
    const size_t longer = std::max(wanted.size(), name.size());
    const size_t limit = std::max<size_t>(1, shorter / 3);
    // Also keeps a very long wrong name from costing time.
    if (shorter < 2 || longer - shorter > limit) continue;
    const size_t away = distance(wanted, folded(name));
    if (away <= limit && away < least) {
      least = away;
      best = name;
    }
  }
  return best;
}

std::string suggestion(std::string_view wrong, const std::string& all, const std::vector<std::string>& names) {
  std::string hint;
  if (const auto near = nearest(wrong, names)) hint = "did you mean `" + *near + "`? ";
  return hint + all + ": " + joined(names);
}

std::string joined(const std::vector<std::string>& names, const char* between) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
  return text;
}

}  // namespace trama
