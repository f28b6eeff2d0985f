// One connection to a NATS server: the only door to the NATS library, for those who publish and those who subscribe.
// Messages wait here until the user's thread takes them; the library's own threads do nothing but put them here. Not
// meant for others.
//
//   auto link = NatsLink::open(url, access, true);
//   (*link)->subscribe("trama.roof.*.*", 64, 64 << 20);
//   poll(descriptor()) ... while (auto message = (*link)->take()) ...
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "libclient/formats/error.hpp"
#include "libclient/formats/stream_url.hpp"

namespace trama {

// Contents of files, as they were when they were loaded. None of it appears in any text.
struct NatsAccess {
  std::string authorities, certificate, key;  // PEM
  std::string user_jwt, user_seed;            // of the credentials
  std::string user, password;                 // instead of those in the URL; without a password the user is a token

  // Files that aren't wanted have empty names. Error: a file that can't be read, a certificate without its key.
  static FormatExpected<NatsAccess> load(const std::string& ca_file, const std::string& certificate_file,
                                         const std::string& key_file, const std::string& credentials_file,
                                         const std::string& login_file);
};

inline constexpr int kNatsTooLong = 413;

struct NatsMessage {
  std::shared_ptr<const void> owner;  // of what the others point into
  std::string_view subject;
  std::span<const uint8_t> bytes;
  int status = 0;         // of an answer that has no content: 404 and the like, kNatsTooLong; else 0
  uint64_t sequence = 0;  // in the stream that it was read from; 0: it wasn't
};

enum class NatsSent {
  done,
  later,     // there is no connection now
  too_long,  // for the server
};

// One thread. Answers to requests come as messages whose subject begins with inbox().
class NatsLink {
 public:
  // Returns at once: the connection is made by a thread. A lasting one is made again whenever it is lost, for ever.
  // Error: certificates or credentials that can't be used. False without libnats (nats_available()).
  static FormatExpected<std::unique_ptr<NatsLink>> open(const StreamUrl& url, const NatsAccess& access, bool lasting);
  ~NatsLink();
  NatsLink(const NatsLink&) = delete;
  NatsLink& operator=(const NatsLink&) = delete;

  int descriptor() const;  // readable when a message came, or the connection changed
  void clear();            // before taking
  std::optional<NatsMessage> take();

  bool connected() const;
  bool over() const;             // it failed, and is not made again
  uint64_t connections() const;  // that were made so far
  std::string why() const;       // the last failure, for people
  bool not_permitted() const;    // the server has said so, of something that was sent or subscribed to
  uint64_t most_bytes() const;   // of a message to the server, with its headers
  const std::string& inbox() const;

  // No more than so many messages wait here: others that come are thrown away. Longer ones come without their content.
  // False: not now.
  bool subscribe(const std::string& subject, size_t most_waiting, uint64_t max_bytes);
  // `id`: by which the server knows what it has stored already. Either may be empty.
  NatsSent send(const std::string& subject, std::span<const uint8_t> bytes, const std::string& answer_to = "",
                const std::string& id = "");
  NatsSent send(const std::string& subject, std::string_view text, const std::string& answer_to = "");
  // Until the server has had everything that was sent, or not.
  bool flush(int timeout_ms);

 private:
  struct Core;
  explicit NatsLink(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

// Was this built with the NATS library?
bool nats_available();
inline constexpr const char* kNoNats = "this build has no NATS";
inline constexpr const char* kNoNatsHint = "install libnats-dev, and build again";

}  // namespace trama
