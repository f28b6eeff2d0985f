// trama key: makes keys and tells them apart; never prints one.
#include <cstdio>

#include "control/privileges.hpp"
#include "control/terminal.hpp"
#include "control/verbs.hpp"
#include "engine/suggest.hpp"
#include "modules/support/key_file.hpp"
#include "modules/support/stream_keys.hpp"

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

// Keys of streams are other keys: they tell machines apart, and have nothing to do with addresses.
int make_curve_key(const std::string& path) {
  const auto public_key = make_stream_key(path);
  if (!public_key) return print(public_key.error()), kMisused;
  const std::string name = printable(path);
  std::printf("%s: new key of a stream; its public key, for the other side, is in %s.pub\n", name.c_str(),
              name.c_str());
  return kDone;
}

}  // namespace

int key_verb(const Arguments& arguments) {
  std::vector<std::string> words;
  CommandLine line("key new FILE | show FILE | curve FILE",
                   "new: makes a key, readable by its owner only, never over a file.\n"
                   "show: prints the fingerprint that tells keys apart; a key itself is never printed.\n"
                   "curve: makes a pair of keys for encrypted matrix streams, FILE and FILE.pub.",
                   "  trama key new site.key\n"
                   "  trama key show site.key\n");
  line.words(words, "new FILE, show FILE or curve FILE", 2, 2);
  if (const auto ended = line.ends(arguments)) return *ended;
  forbid_core_dumps();
  if (words[0] == "new") return make_key(words[1]);
  if (words[0] == "show") return show_key(words[1]);
  if (words[0] == "curve") return make_curve_key(words[1]);
  print_error("unknown command `key " + words[0] + "`", suggestion(words[0], "there are", {"new", "show", "curve"}));
  return kMisused;
}

}  // namespace trama
