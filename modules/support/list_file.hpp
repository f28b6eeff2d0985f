// Files that hold a list, an item a line, such as privacy ranges and contents of maps. A file can be read again while
// running; nothing that is cut then passes for a shorter list, since that would let packets through.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "engine/diagnostic.hpp"

namespace trama {

// Again: it must be a regular file whose last line is complete and which doesn't change meanwhile; never waits.
enum class Reading : unsigned char { first, again };

// How messages call a list and its items.
struct ListWords {
  const char* list;  // "privacy ranges"
  const char* item;  // "range"
  const char* empty_hint;
};

struct ListLine {
  std::string text;
  Place place;
};

// `#` begins a comment; blank lines don't count. A file without items is refused, unless it holds the word `none` alone
// on a line. The first time it may be a pipe. At most 64 MiB. No message repeats anything of the file.
Expected<std::vector<ListLine>> read_list_file(const std::string& path, Reading reading, const ListWords& words);

// Without the blanks around it.
std::string_view trimmed(std::string_view text);

}  // namespace trama
