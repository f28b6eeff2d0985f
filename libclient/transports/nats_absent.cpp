// In place of nats_link.cpp where the NATS library isn't there.
#include "libclient/transports/nats_link.hpp"

namespace trama {

struct NatsLink::Core {
  std::string inbox;
};

NatsLink::NatsLink(std::unique_ptr<Core> core) : core_(std::move(core)) {}
NatsLink::~NatsLink() = default;
FormatExpected<std::unique_ptr<NatsLink>> NatsLink::open(const StreamUrl& url, const NatsAccess&, bool) {
  return format_failure(url.text() + ": " + kNoNats, kNoNatsHint);
}
int NatsLink::descriptor() const { return -1; }
void NatsLink::clear() {}
std::optional<NatsMessage> NatsLink::take() { return std::nullopt; }
bool NatsLink::connected() const { return false; }
bool NatsLink::over() const { return true; }
uint64_t NatsLink::connections() const { return 0; }
std::string NatsLink::why() const { return kNoNats; }
bool NatsLink::not_permitted() const { return false; }
uint64_t NatsLink::most_bytes() const { return 0; }
const std::string& NatsLink::inbox() const { return core_->inbox; }
bool NatsLink::subscribe(const std::string&, size_t, uint64_t) { return false; }
NatsSent NatsLink::send(const std::string&, std::span<const uint8_t>, const std::string&, const std::string&) {
  return NatsSent::later;
}
NatsSent NatsLink::send(const std::string&, std::string_view, const std::string&) { return NatsSent::later; }
bool NatsLink::flush(int) { return false; }
bool nats_available() { return false; }

}  // namespace trama
