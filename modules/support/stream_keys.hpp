// Key files of streams: CURVE keys, which have nothing to do with those that addresses are anonymized under.
//
//   FILE        the secret key, mode 0600
//   FILE.pub    its public key, for the other side
//
// Both hold 40 characters of Z85 (RFC 32 of ZeroMQ) and a newline. Messages never show a secret key.
#pragma once
#include <filesystem>
#include <string>

#include "engine/diagnostic.hpp"
#include "modules/support/stream_socket.hpp"

namespace trama {

// Makes a pair, never over a file. Returns the public key.
Expected<std::string> make_stream_key(const std::filesystem::path& file);

// Error: not a key; one of the other kind, as far as its name, its neighbour and its mode say; a secret one that others
// can read.
Expected<std::string> load_stream_secret(const std::filesystem::path& file);
Expected<std::string> load_stream_public(const std::filesystem::path& file);

// Of a publisher: its secret key, and the public keys of those who may subscribe, one a line; `#` begins a comment.
Expected<StreamKeys> load_stream_keys(const std::filesystem::path& secret, const std::filesystem::path& clients);

}  // namespace trama
