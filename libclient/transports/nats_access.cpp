#include <sys/stat.h>

#include "libclient/formats/file_bytes.hpp"
#include "libclient/transports/nats_link.hpp"

namespace trama {
namespace {

constexpr uint64_t kMostBytes = 1 << 20;

FormatExpected<std::string> read_pem(const std::string& file) {
  if (file.empty()) return std::string();
  auto text = read_small_file(file, kMostBytes);
  if (text && text->find("-----BEGIN ") == std::string::npos)
    return format_failure(file + ": neither a certificate nor a key in PEM");
  return text;
}

FormatExpected<std::string> read_secret(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) == 0 && (status.st_mode & 077) != 0)
    return format_failure(file + ": others can read or write it", "chmod 600 " + file);
  return read_small_file(file, kMostBytes);
}

// The line between those that say where it begins and ends.
std::string part_of(const std::string& text, const std::string& name) {
  const size_t head = text.find("BEGIN " + name + "-");
  const size_t begin = head == std::string::npos ? head : text.find('\n', head);
  if (begin == std::string::npos) return "";
  const size_t first = text.find_first_not_of(" \t\r\n", begin);
  if (first == std::string::npos || text[first] == '-') return "";
  return text.substr(first, text.find_first_of(" \t\r\n", first) - first);
}

}  // namespace

FormatExpected<NatsAccess> NatsAccess::load(const std::string& ca_file, const std::string& certificate_file,
                                            const std::string& key_file, const std::string& credentials_file,
                                            const std::string& login_file) {
  NatsAccess access;
  if (certificate_file.empty() != key_file.empty())
    return format_failure("a certificate and its key go together: one of the two files is missing",
                          "give both, or neither where the server asks for no certificate");
  if (!credentials_file.empty() && !login_file.empty())
    return format_failure("credentials and a login exclude each other", "give the one that the server knows");
  const std::pair<const std::string&, std::string&> parts[] = {
      {ca_file, access.authorities}, {certificate_file, access.certificate}, {key_file, access.key}};
  for (const auto& [file, text] : parts) {
    auto read = read_pem(file);
    if (!read) return tl::unexpected(std::move(read.error()));
    text = std::move(*read);
  }
  if (!credentials_file.empty()) {
    auto read = read_secret(credentials_file);
    if (!read) return tl::unexpected(std::move(read.error()));
    access.user_jwt = part_of(*read, "NATS USER JWT");
    access.user_seed = part_of(*read, "USER NKEY SEED");
    if (access.user_jwt.empty() || access.user_seed.empty())
      return format_failure(credentials_file + ": not a JWT of a user with the seed of its key",
                            "give a .creds file, as nsc makes it");
  }
  if (login_file.empty()) return access;
  auto login = read_secret(login_file);
  if (!login) return tl::unexpected(std::move(login.error()));
  while (!login->empty() && (login->back() == '\n' || login->back() == '\r')) login->pop_back();
  const size_t colon = std::min(login->find(':'), login->size());
  access.user = login->substr(0, colon);
  access.password = login->substr(std::min(login->size(), colon + 1));
  if (access.user.empty()) return format_failure(login_file + ": neither USER:PASSWORD nor a token");
  return access;
}

}  // namespace trama
