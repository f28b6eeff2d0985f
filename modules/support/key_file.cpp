#include "modules/support/key_file.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "libclient/formats/file_bytes.hpp"

namespace trama {
namespace {

constexpr size_t kDigits = 2 * Key::kBytes;
constexpr size_t kMostBytes = 256;  // read of a file; enough to say what is wrong with it
constexpr std::string_view kFormatHint =
    "a key file holds 64 hexadecimal digits and a newline: `trama key new FILE` makes one";

std::string system_error(int number) { return std::string(": ") + std::strerror(number); }

tl::unexpected<Diagnostic> refuse(const std::string& path, std::string text,
                                  std::string hint = std::string(kFormatHint)) {
  return failure(std::move(text), std::move(hint), Place{path, 0});
}

int value_of_digit(uint8_t c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_key(std::string_view text) {
  return text.size() == kDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return value_of_digit(static_cast<uint8_t>(c)) >= 0; });
}

// ---- Who may read the file

// The user, root, or the user who called sudo: `sudo trama run -i eth0 --key site.key` is how captures are started.
bool trusted_owner(uid_t owner) {
  if (owner == 0 || owner == geteuid()) return true;
  const char* sudo_uid = geteuid() == 0 ? std::getenv("SUDO_UID") : nullptr;
  if (sudo_uid == nullptr) return false;
  uid_t caller = 0;
  const char* end = sudo_uid + std::strlen(sudo_uid);
  const auto [stopped, error] = std::from_chars(sudo_uid, end, caller);
  return error == std::errc() && stopped == end && owner == caller;
}

Expected<void> check_access(int fd, const std::string& path) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return refuse(path, "the key file can't be examined" + system_error(errno), "");
  if (S_ISDIR(status.st_mode)) return refuse(path, "this is a directory, not a key file");
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
    return refuse(path, "a key is read from a regular file or a pipe only, not from a device or socket");
  if ((status.st_mode & 077) != 0) return refuse(path, "the key file is open to group or others", "chmod 600 " + path);
  if (!trusted_owner(status.st_uid))
    return refuse(path, "the key file belongs to another user, who knows the key and may change it",
                  "copy it to a file of your own, mode 0600");
  return {};
}

// ---- What is in it

// Reads at most kMostBytes + 1, so that a longer file can be told. Plain read(): streams would leave copies behind.
Expected<size_t> read_all(int fd, const std::string& path, SecretMemory& contents) {
  size_t size = 0;
  while (size <= kMostBytes) {
    const ssize_t got = read(fd, contents.data() + size, kMostBytes + 1 - size);
    if (got == 0) break;
    if (got > 0) {
      size += static_cast<size_t>(got);
    } else if (errno != EINTR) {
      return refuse(path, "the key file can't be read" + system_error(errno), "");
    }
  }
  return size;
}

tl::unexpected<Diagnostic> refuse_rest(std::span<const uint8_t> rest, size_t digits, const std::string& path) {
  if (digits == kDigits && rest[0] == '\r')
    return refuse(path, "the key's line ends in a carriage return, as on Windows", "sed -i 's/\\r$//' " + path);
  if (digits == kDigits) return refuse(path, "the key file holds something behind the 64 digits and their newline");
  return refuse(path, "character " + std::to_string(digits + 1) + " of the key file is not a hexadecimal digit");
}

// Why these bytes are not a key; tells how many there are and of what kind, never which.
tl::unexpected<Diagnostic> refuse_contents(std::span<const uint8_t> contents, const std::string& path) {
  if (contents.empty()) return refuse(path, "the key file is empty");
  if (contents.size() > kMostBytes)
    return refuse(path, "the key file is longer than " + std::to_string(kMostBytes) + " bytes");
  const auto is_digit = [](uint8_t c) { return value_of_digit(c) >= 0; };
  const auto first_other = std::find_if_not(contents.begin(), contents.end(), is_digit);
  const auto digits = static_cast<size_t>(first_other - contents.begin());
  const std::span<const uint8_t> rest = contents.subspan(digits);
  const bool one_line = rest.empty() || (rest.size() == 1 && rest[0] == '\n');
  if (one_line)
    return refuse(path, "the key file holds " + std::to_string(digits) + " hexadecimal digits instead of 64");
  if (contents.size() == Key::kBytes)
    return refuse(path, "the key file holds 32 raw bytes instead of 64 hexadecimal digits",
                  "write them as digits: (umask 077; xxd -p -c 32 " + path + " > NEWFILE)");
  const bool text = std::all_of(contents.begin(), contents.end(),
                                [](uint8_t c) { return std::isprint(c) != 0 || std::isspace(c) != 0; });
  if (text) return refuse_rest(rest, digits, path);
  return refuse(path, "the key file holds " + std::to_string(contents.size()) + " bytes that are not text");
}

// Fills `key`; false if `contents` is anything else than 64 digits and perhaps a newline.
bool decode(std::span<const uint8_t> contents, uint8_t* key) {
  if (contents.size() == kDigits + 1 && contents[kDigits] == '\n') contents = contents.first(kDigits);
  if (contents.size() != kDigits) return false;
  for (size_t i = 0; i < Key::kBytes; ++i) {
    const int high = value_of_digit(contents[2 * i]), low = value_of_digit(contents[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    key[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

void encode(std::span<const uint8_t> bytes, uint8_t* digits) {
  for (const uint8_t byte : bytes) {
    *digits++ = static_cast<uint8_t>("0123456789abcdef"[byte >> 4]);
    *digits++ = static_cast<uint8_t>("0123456789abcdef"[byte & 15]);
  }
}

std::string to_hex(std::span<const uint8_t> bytes) {
  std::string digits(2 * bytes.size(), '0');
  encode(bytes, reinterpret_cast<uint8_t*>(digits.data()));
  return digits;
}

// ---- Writing

bool write_all(int fd, const uint8_t* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

// A new file's name is on the disk only when its folder is.
bool sync_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const FileDescriptor opened(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems can't sync a folder (EINVAL); then there is nothing that could be done better. The same goes for
  // a folder that may be written but not read.
  return opened.get() < 0 ? errno == EACCES : fsync(opened.get()) == 0 || errno == EINVAL;
}

tl::unexpected<Diagnostic> refuse_new(const std::string& path, int error) {
  if (error == EEXIST)
    return refuse(path, "this file exists already, and a key is never written over anything",
                  "choose another name, or remove it if nobody needs what was anonymized with it");
  return refuse(path, "the key file can't be made" + system_error(error), "");
}

}  // namespace

Key::Key() : memory_(kBytes) {}

Key::Key(std::span<const uint8_t, kBytes> bytes) : Key() { std::memcpy(memory_.data(), bytes.data(), kBytes); }

Expected<Key> Key::load(const std::string& path) {
  // A named pipe without a writer is waited for here, as cat would.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0 && errno == ENOENT && is_key(path))
    return failure("the key itself was given where the name of its file is wanted",
                   "write it into a file with mode 0600; it stands in the shell's history now");
  if (file.get() < 0 && errno == ENOENT) return refuse(path, "there is no such key file", "trama key new " + path);
  if (file.get() < 0) return refuse(path, "the key file can't be opened" + system_error(errno), "");
  if (auto allowed = check_access(file.get(), path); !allowed) return tl::unexpected(std::move(allowed.error()));
  SecretMemory memory(kMostBytes + 1);
  const Expected<size_t> size = read_all(file.get(), path, memory);
  if (!size) return tl::unexpected(size.error());
  const std::span<const uint8_t> contents(memory.data(), *size);
  Key key;
  if (!decode(contents, key.memory_.data())) return refuse_contents(contents, path);
  return key;
}

Expected<Key> Key::random() {
  Key key;
  size_t size = 0;
  while (size < kBytes) {
    const ssize_t got = getrandom(key.memory_.data() + size, kBytes - size, 0);
    if (got < 0 && errno != EINTR) return failure("the kernel gives no random numbers" + system_error(errno));
    if (got > 0) size += static_cast<size_t>(got);
  }
  return key;
}

Expected<void> Key::save_new(const std::string& path) const {
  int error = 0;
  {
    const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.get() < 0) return refuse_new(path, errno);
    SecretMemory line(kDigits + 1);
    encode(bytes(), line.data());
    line.data()[kDigits] = '\n';
    // fchmod, for a umask may have taken away the owner's own rights.
    const bool written = fchmod(file.get(), 0600) == 0 && write_all(file.get(), line.data(), kDigits + 1) &&
                         fsync(file.get()) == 0 && sync_folder_of(path);
    if (!written) error = errno;
  }
  if (error == 0) return {};
  unlink(path.c_str());
  return refuse(path, "the key file can't be written" + system_error(error), "");
}

std::string Key::fingerprint() const {
  constexpr std::string_view kDomain = "trama-key/1";
  uint8_t digest[EVP_MAX_MD_SIZE];
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1 ||
      EVP_DigestUpdate(context.get(), kDomain.data(), kDomain.size()) != 1 ||
      EVP_DigestUpdate(context.get(), memory_.data(), kBytes) != 1 ||
      EVP_DigestFinal_ex(context.get(), digest, nullptr) != 1) {
    throw std::runtime_error("OpenSSL can't compute SHA-256");
  }
  return to_hex({digest, 8});
}

std::string Key::hmac_sha256_hex(std::string_view text) const {
  uint8_t digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (HMAC(EVP_sha256(), memory_.data(), kBytes, reinterpret_cast<const uint8_t*>(text.data()), text.size(), digest,
           &size) == nullptr) {
    throw std::runtime_error("OpenSSL can't compute HMAC-SHA256");
  }
  return to_hex({digest, size});
}

}  // namespace trama
