// trama key: makes keys and tells them apart; never prints one.
#include <cstdio>

#include "control/privileges.hpp"
#include "control/terminal.hpp"
#include "control/verbs.hpp"
#include "engine/suggest.hpp"
#include "modules/support/key_file.hpp"

namespace trama {
namespace {

int make_key(const std::string& path) {
  const auto key = Key::random();
  if (!key) return print(key.error()), kMisused;
  if (const auto saved = key->save_new(path); !saved) return print(saved.error()), kMisused;
  std::printf("%s: new key, fingerprint %s\n", printable(path).c_str(), key->fingerprint().c_str());
  return kDone;
}

int show_key(const std::string& path) {
  const auto key = Key::load(path);
  if (!key) return print(key.error()), kMisused;
  std::printf("%s\n", key->fingerprint().c_str());
  return kDone;
}

}  // namespace

int key_verb(const Arguments& arguments) {
  std::vector<std::string> words;
  CommandLine line("key new FILE | show FILE",
                   "new: makes a key, readable by its owner only, never over a file.\n"
                   "show: prints the fingerprint that tells keys apart; a key itself is never printed.",
                   "  trama key new site.key\n"
                   "  trama key show site.key\n");
  line.words(words, "new FILE or show FILE", 2, 2);
  if (const auto ended = line.ends(arguments)) return *ended;
  forbid_core_dumps();
  if (words[0] == "new") return make_key(words[1]);
  if (words[0] == "show") return show_key(words[1]);
  print_error("unknown command `key " + words[0] + "`", suggestion(words[0], "there are", {"new", "show"}));
  return kMisused;
}

}  // namespace trama
