#include "modules/support/list_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "libclient/formats/file_bytes.hpp"

namespace trama {
namespace {

constexpr size_t kMostFileBytes = size_t{64} << 20;  // three million ranges; keeps /dev/zero from filling the memory
constexpr std::string_view kNone = "none";           // instead of items: the list is empty on purpose

// Whether a file is as it was, by what the system says of it, and has as many bytes as were read.
bool unchanged(const struct stat& before, const struct stat& after, size_t bytes) {
  const auto time = [](const struct stat& about) { return std::pair(about.st_mtim.tv_sec, about.st_mtim.tv_nsec); };
  return before.st_size == after.st_size && time(before) == time(after) &&
         static_cast<uint64_t>(after.st_size) == bytes;
}

// The whole text of the file. Nothing that is cut, and no directory, passes for a short list.
Expected<std::string> read_text(const std::string& path, bool again, const ListWords& words) {
  const auto refuse = [&](const std::string& what, const char* hint = "") {
    return failure("the file of " + std::string(words.list) + " " + what, hint, Place{path, 0});
  };
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | (again ? O_NONBLOCK : 0)));
  if (file.get() < 0) return refuse(std::string("can't be opened: ") + std::strerror(errno));
  struct stat before {
  }, after{};
  if (fstat(file.get(), &before) != 0) return refuse(std::string("can't be examined: ") + std::strerror(errno));
  if (again && !S_ISREG(before.st_mode))
    return refuse("is no regular file, and can't be read again", "give a regular file");
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse(std::string("can't be read: ") + std::strerror(errno));
    if (got == 0) break;
    text.append(buffer.data(), static_cast<size_t>(got));
    if (text.size() > kMostFileBytes) return refuse("is longer than 64 MiB");
  }
  constexpr const char* kRename = "write a new file beside it, and rename that to this name";
  if (again && (fstat(file.get(), &after) != 0 || !unchanged(before, after, text.size())))
    return refuse("changed while it was read", kRename);
  if (again && !text.empty() && text.back() != '\n')
    return refuse("ends inside a line, as if it weren't wholly written", "end its last line with a newline");
  return text;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

Expected<std::vector<ListLine>> read_list_file(const std::string& path, Reading reading, const ListWords& words) {
  const Expected<std::string> text = read_text(path, reading == Reading::again, words);
  if (!text) return tl::unexpected(text.error());
  const std::string list = "the file of " + std::string(words.list);
  std::vector<ListLine> items;
  bool none = false;
  std::string_view rest = *text;
  for (int line = 1; !rest.empty(); ++line) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view item = trimmed(rest.substr(0, end).substr(0, rest.substr(0, end).find('#')));
    if (item == kNone)
      none = true;
    else if (!item.empty())
      items.push_back({std::string(item), Place{path, line}});
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (none && !items.empty())
    return failure(list + " holds `none` beside others", "keep one of the two", Place{path, 0});
  if (!none && items.empty()) return failure(list + " holds no " + words.item, words.empty_hint, Place{path, 0});
  return items;
}

}  // namespace trama
