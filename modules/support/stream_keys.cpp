#include "modules/support/stream_keys.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "libclient/formats/file_bytes.hpp"
#include "modules/support/list_file.hpp"

namespace trama {
namespace {

namespace fs = std::filesystem;

constexpr size_t kKeyCharacters = 40;
constexpr uint64_t kMostFileBytes = 1 << 20;

bool is_key(const std::string& text) {
  std::array<uint8_t, 32> raw;
  return text.size() == kKeyCharacters && zmq_z85_decode(raw.data(), text.c_str()) != nullptr;
}

Expected<std::string> read_text(const fs::path& file) {
  auto text = read_small_file(file, kMostFileBytes);
  if (!text) return failure(std::move(text.error().text), std::move(text.error().hint));
  return std::move(*text);
}

Expected<std::string> load_key(const fs::path& file) {
  auto text = read_text(file);
  if (!text) return text;
  std::string key(trimmed(*text));
  if (!is_key(key)) return failure("not a key of a stream", "`trama key curve FILE` makes one", {file.string(), 0});
  return key;
}

Expected<void> write_new(const fs::path& file, const std::string& text, mode_t mode) {
  const FileDescriptor out(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  if (out && write_at(out.get(), 0, bytes) && fsync(out.get()) == 0) return {};
  const int reason = errno;
  if (out) unlink(file.c_str());
  return failure(std::string("can't make the key file: ") + std::strerror(reason),
                 reason == EEXIST ? "keys are never written over a file: choose another name" : "", {file.string(), 0});
}

}  // namespace

Expected<std::string> make_stream_key(const fs::path& file) {
  std::array<char, kKeyCharacters + 1> open_key, secret;
  if (zmq_curve_keypair(open_key.data(), secret.data()) != 0)
    return failure("this machine's ZeroMQ has no encryption", "install a libzmq5 that is built with libsodium");
  const fs::path public_file = file.string() + ".pub";
  if (fs::exists(fs::symlink_status(public_file)))
    return failure("there is such a file already", "keys are never written over a file: choose another name",
                   {public_file.string(), 0});
  if (auto written = write_new(file, std::string(secret.data()) + "\n", 0600); !written)
    return tl::unexpected(std::move(written.error()));
  if (auto written = write_new(public_file, std::string(open_key.data()) + "\n", 0644); !written)
    return tl::unexpected(std::move(written.error()));
  return std::string(open_key.data());
}

// The two look alike. `trama key curve` makes the one FILE and the other FILE.pub.
Expected<std::string> load_stream_secret(const fs::path& file) {
  if (file.extension() == ".pub")
    return failure("this is a public key", "give the secret one, " + fs::path(file).replace_extension().string(),
                   {file.string(), 0});
  struct stat status {};
  if (stat(file.c_str(), &status) == 0 && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return failure("others can use this key", "chmod 600 " + file.string(), {file.string(), 0});
  return load_key(file);
}

Expected<std::string> load_stream_public(const fs::path& file) {
  const std::string beside = file.string() + ".pub";
  if (file.extension() != ".pub" && fs::exists(fs::symlink_status(beside)))
    return failure("this is the secret key", "give the public one, " + beside, {file.string(), 0});
  struct stat status {};
  if (file.extension() != ".pub" && stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
      (status.st_mode & (S_IRWXG | S_IRWXO)) == 0)
    return failure("this may be a secret key: only its owner can read it",
                   "give FILE.pub of `trama key curve FILE`; or, if it is public: chmod a+r " + file.string(),
                   {file.string(), 0});
  return load_key(file);
}

Expected<StreamKeys> load_stream_keys(const fs::path& secret, const fs::path& clients) {
  StreamKeys keys;
  auto own = load_stream_secret(secret);
  if (!own) return tl::unexpected(std::move(own.error()));
  keys.secret = std::move(*own);
  const auto text = read_text(clients);
  if (!text) return tl::unexpected(text.error());
  int line_number = 0;
  for (size_t begin = 0; begin < text->size(); ++line_number) {
    const size_t end = std::min(text->find('\n', begin), text->size());
    std::string key(trimmed(std::string_view(*text).substr(begin, end - begin)));
    begin = end + 1;
    const bool right = is_key(key);  // asked first: a key may begin with `#`
    if (!right && (key.empty() || key.front() == '#')) continue;
    if (!right)
      return failure("not the public key of a subscriber", "one a line, as in the FILE.pub of `trama key curve FILE`",
                     {clients.string(), line_number + 1});
    keys.clients.push_back(std::move(key));
  }
  return keys;
}

}  // namespace trama
