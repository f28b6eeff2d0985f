// "Did you mean ...": the name that somebody probably had in mind.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trama {

// The name nearest to `wrong`, if one is near: at most a third of the shorter one's letters differ, and one letter may
// always. Counted are letters put in, left out, changed, and two neighbours swapped (Damerau 1964, in its restricted
// form); capitals and `-` for `_` don't count. The first of several equally near names.
std::optional<std::string> nearest(std::string_view wrong, const std::vector<std::string>& names);

// A hint: "did you mean `x`? " when one is near, then `all` and the names: "[graph] takes: a, b, c".
std::string suggestion(std::string_view wrong, const std::string& all, const std::vector<std::string>& names);

// "a, b, c"
std::string joined(const std::vector<std::string>& names, const char* between = ", ");

}  // namespace trama
