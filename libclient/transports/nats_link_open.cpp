#include "libclient/transports/nats_link_core.hpp"

namespace trama {
namespace {

constexpr int64_t kConnectMs = 2000, kReconnectMs = 250, kJitterMs = 100, kServerPingMs = 2000, kWriteMs = 2000;
constexpr int kPingsOut = 3;
// Of the library, while it connects anew: one message at most. Windows are kept by their publisher, who sends them
// again.
constexpr int kPendingBytes = 1;

std::string words(natsStatus status) { return natsStatus_GetText(status); }

}  // namespace

FormatExpected<std::unique_ptr<NatsLink>> NatsLink::open(const StreamUrl& url, const NatsAccess& access, bool lasting) {
  const SignalsBlocked blocked;
  auto core = std::make_unique<Core>();
  natsOptions*& options = core->options;
  natsStatus status = natsOptions_Create(&options);
  const auto then = [&](auto call, auto... arguments) {
    if (status == NATS_OK) status = call(options, arguments...);
  };
  const std::string host = url.host.find(':') == std::string::npos ? url.host : "[" + url.host + "]";
  const std::string server = "nats://" + host + ":" + std::to_string(url.port);
  then(natsOptions_SetURL, server.c_str());
  then(natsOptions_SetName, "trama");
  then(natsOptions_SetTimeout, kConnectMs);
  then(natsOptions_SetPingInterval, kServerPingMs);
  then(natsOptions_SetMaxPingsOut, kPingsOut);
  then(natsOptions_SetWriteDeadline, kWriteMs);
  then(natsOptions_SetReconnectBufSize, kPendingBytes);
  then(natsOptions_SetReconnectWait, kReconnectMs);
  then(natsOptions_SetReconnectJitter, kJitterMs, kJitterMs);
  then(natsOptions_SetMaxReconnect, -1);
  then(natsOptions_SetAllowReconnect, lasting);
  // What the library would print on stderr otherwise; which windows are missing, their numbers say.
  then(natsOptions_SetErrorHandler, &Core::on_error, core.get());
  // Who we are, and what we send, is for the server that was named, and not for those that it names.
  then(natsOptions_SetIgnoreDiscoveredServers, true);
  then(natsOptions_SetDisconnectedCB, &Core::on_disconnected, core.get());
  then(natsOptions_SetReconnectedCB, &Core::on_connected, core.get());
  then(natsOptions_SetClosedCB, &Core::on_closed, core.get());
  if (lasting) then(natsOptions_SetRetryOnFailedConnect, true, &Core::on_connected, core.get());
  const std::string& user = access.user.empty() ? url.user : access.user;
  const std::string& password = access.user.empty() ? url.password : access.password;
  if (!user.empty() && password.empty()) then(natsOptions_SetToken, user.c_str());
  if (!user.empty() && !password.empty()) then(natsOptions_SetUserInfo, user.c_str(), password.c_str());
  if (!access.user_jwt.empty()) {
    core->user_jwt = access.user_jwt;
    core->user_seed = access.user_seed;
    then(natsOptions_SetUserCredentialsCallbacks, &Core::give_jwt, core.get(), &Core::sign, core.get());
  }
  if (status != NATS_OK) return format_failure(url.text() + ": " + words(status));
  if (url.encrypted) {
    then(natsOptions_SetSecure, true);
    then(natsOptions_SetExpectedHostname, url.host.c_str());
    if (!access.authorities.empty()) then(natsOptions_SetCATrustedCertificates, access.authorities.c_str());
    if (!access.certificate.empty())
      then(natsOptions_SetCertificatesChain, access.certificate.c_str(), access.key.c_str());
    if (status != NATS_OK)
      return format_failure(url.text() + ": the certificates can't be used: " + words(status),
                            "they are in PEM, and a certificate belongs to its key");
  }
  natsInbox* inbox = nullptr;
  if (natsInbox_Create(&inbox) != NATS_OK) return format_failure(url.text() + ": out of memory");
  core->inbox = inbox;
  natsInbox_Destroy(inbox);
  return std::unique_ptr<NatsLink>(new NatsLink(std::move(core)));
}

}  // namespace trama
