#include "libclient/formats/envelope.hpp"

#include <algorithm>
#include <cstring>

#include "libclient/formats/byte_fields.hpp"
#include "libclient/formats/stream_note.hpp"

namespace trama {
namespace {

constexpr uint16_t kRawOrder = 1;  // flags
constexpr size_t kHeaderBytes = 184;
constexpr size_t kTexts = 6;

// In the order in which the format has them.
constexpr uint64_t VerdictCounts::*kVerdicts[] = {
    &VerdictCounts::counted, &VerdictCounts::excluded,  &VerdictCounts::filtered, &VerdictCounts::ipv6,
    &VerdictCounts::not_ip,  &VerdictCounts::malformed, &VerdictCounts::cut,      &VerdictCounts::unknown_link};
constexpr uint64_t DroppedCounts::*kDropped[] = {&DroppedCounts::kernel, &DroppedCounts::nic, &DroppedCounts::ring};
constexpr std::string_view Envelope::*kTextFields[kTexts] = {&Envelope::sensor, &Envelope::stream,
                                                             &Envelope::graph,  &Envelope::anonymization,
                                                             &Envelope::key,    &Envelope::exclusions};

const char* contradiction_in(const Envelope& envelope) {
  if (envelope.run == 0) return "no run";
  if (envelope.seq == UINT64_MAX) return "a number that none can follow";
  if (envelope.first_ns > envelope.last_ns) return "its last packet before its first";
  if (envelope.packets > envelope.window_packets) return "more packets than a window has";
  if (envelope.encoding == EnvelopeEncoding::tail) {
    if (envelope.packets != 0 || envelope.links != 0 || !envelope.matrix.empty()) return "a tail with a matrix";
  } else {
    if (envelope.matrix.empty() || envelope.links == 0) return "a window without a matrix";
    if (envelope.packets < envelope.links) return "fewer packets than links";
    if (envelope.packets != envelope.verdicts.counted) return "other packets than were counted";
  }
  return nullptr;
}

tl::unexpected<FormatError> damaged(const char* what) {
  return format_failure(std::string("damaged envelope: ") + what);
}

}  // namespace

size_t envelope_bytes(const Envelope& envelope) {
  size_t bytes = kHeaderBytes + envelope.matrix.size() + kSealBytes;
  for (const auto text : kTextFields) bytes += (envelope.*text).size();
  return bytes;
}

size_t write_envelope(const Envelope& envelope, std::span<uint8_t> out) noexcept {
  const size_t bytes = envelope_bytes(envelope);
  if (out.size() < bytes) return 0;
  for (const auto text : kTextFields)
    if ((envelope.*text).size() > kMostEnvelopeText) return 0;
  FieldWriter fields(out.data());
  fields.bytes(kEnvelopeMagic.data(), kEnvelopeMagic.size());
  fields.number(kEnvelopeVersion);
  fields.number(envelope.raw_order ? kRawOrder : uint16_t{0});
  fields.number(uint64_t{bytes});
  fields.number(envelope.run);
  fields.number(envelope.seq);
  fields.number(envelope.window_packets);
  fields.number(envelope.packets);
  fields.number(envelope.links);
  fields.number(envelope.first_ns);
  fields.number(envelope.last_ns);
  for (const auto count : kVerdicts) fields.number(envelope.verdicts.*count);
  for (const auto count : kDropped) fields.number(envelope.dropped.*count);
  fields.number(envelope.removed_in_kernel);
  fields.number(uint64_t{envelope.matrix.size()});
  fields.number(static_cast<uint8_t>(envelope.closed_by));
  fields.number(static_cast<uint8_t>(envelope.encoding));
  for (const auto text : kTextFields) fields.number(static_cast<uint8_t>((envelope.*text).size()));
  for (const auto text : kTextFields) fields.bytes(envelope.*text);
  fields.bytes(envelope.matrix.data(), envelope.matrix.size());
  return fields.seal();
}

FormatExpected<Envelope> read_envelope(std::span<const uint8_t> bytes) {
  if (bytes.size() < kHeaderBytes + kSealBytes) return format_failure("not an envelope, or a cut one: it is too short");
  if (!std::equal(kEnvelopeMagic.begin(), kEnvelopeMagic.end(), bytes.begin()))
    return format_failure("not an envelope");
  if (is_of_other_version(bytes))
    return format_failure("an envelope of another version", "use the same release on both");
  if (!has_whole_seal(bytes)) return damaged("its checksum is wrong, or it is cut");

  FieldReader fields(bytes.first(bytes.size() - kSealBytes));
  fields.bytes(kEnvelopeMagic.size() + sizeof kEnvelopeVersion);
  Envelope envelope;
  const auto flags = fields.number<uint16_t>();
  const auto stated_bytes = fields.number<uint64_t>();
  envelope.run = fields.number<uint64_t>();
  envelope.seq = fields.number<uint64_t>();
  envelope.window_packets = fields.number<uint64_t>();
  envelope.packets = fields.number<uint64_t>();
  envelope.links = fields.number<uint64_t>();
  envelope.first_ns = fields.number<int64_t>();
  envelope.last_ns = fields.number<int64_t>();
  for (const auto count : kVerdicts) envelope.verdicts.*count = fields.number<uint64_t>();
  for (const auto count : kDropped) envelope.dropped.*count = fields.number<uint64_t>();
  envelope.removed_in_kernel = fields.number<uint64_t>();
  const auto matrix_bytes = fields.number<uint64_t>();
  const auto closed_by = fields.number<uint8_t>();
  const auto encoding = fields.number<uint8_t>();
  std::array<uint8_t, kTexts> text_bytes;
  for (uint8_t& length : text_bytes) length = fields.number<uint8_t>();
  for (size_t i = 0; i < kTexts; ++i) envelope.*kTextFields[i] = fields.text(text_bytes[i]);
  envelope.matrix = fields.bytes(matrix_bytes);

  if (stated_bytes != bytes.size() || !fields.at_end()) return damaged("its lengths don't add up");
  if ((flags & ~kRawOrder) != 0) return damaged("flags that this version doesn't know");
  if (closed_by > static_cast<uint8_t>(ClosedBy::flush)) return damaged("an unknown reason for its end");
  if (encoding > static_cast<uint8_t>(EnvelopeEncoding::compact)) return damaged("an unknown encoding");
  envelope.raw_order = (flags & kRawOrder) != 0;
  envelope.closed_by = static_cast<ClosedBy>(closed_by);
  envelope.encoding = static_cast<EnvelopeEncoding>(encoding);
  if (const char* wrong = contradiction_in(envelope)) return damaged(wrong);
  return envelope;
}

bool is_of_other_version(std::span<const uint8_t> bytes) {
  const auto other = [&](const std::array<uint8_t, 4>& magic, uint16_t version) {
    uint16_t stated;
    if (bytes.size() < magic.size() + sizeof stated || !std::equal(magic.begin(), magic.end(), bytes.begin()))
      return false;
    std::memcpy(&stated, bytes.data() + magic.size(), sizeof stated);
    return stated != version;
  };
  return other(kEnvelopeMagic, kEnvelopeVersion) || other(kNoteMagic, kNoteVersion);
}

}  // namespace trama
