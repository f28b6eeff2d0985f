#include "libclient/formats/stream_note.hpp"

#include <algorithm>

#include "libclient/formats/byte_fields.hpp"
#include "libclient/formats/envelope.hpp"

namespace trama {
namespace {

constexpr size_t kNoteHeaderBytes = 48, kReservedBytes = 14;
static_assert(kMostNoteBytes == kNoteHeaderBytes + kMostNoteText + kSealBytes);

}  // namespace

size_t write_note(const StreamNote& note, std::span<uint8_t, kMostNoteBytes> out) noexcept {
  if (note.text.size() > kMostNoteText) return 0;
  FieldWriter fields(out.data());
  fields.bytes(kNoteMagic.data(), kNoteMagic.size());
  fields.number(kNoteVersion);
  fields.number(static_cast<uint8_t>(note.kind));
  fields.number(static_cast<uint8_t>(note.start));
  fields.number(note.run);
  fields.number(note.number);
  fields.number(note.allowed);
  fields.number(static_cast<uint8_t>(note.refusal));
  fields.number(static_cast<uint8_t>(note.text.size()));
  fields.bytes(std::array<uint8_t, kReservedBytes>{}.data(), kReservedBytes);
  fields.bytes(note.text);
  return fields.seal();
}

FormatExpected<StreamNote> read_note(std::span<const uint8_t> bytes) {
  if (bytes.size() < kNoteHeaderBytes + kSealBytes || !std::equal(kNoteMagic.begin(), kNoteMagic.end(), bytes.begin()))
    return format_failure("not a note of a stream");
  if (is_of_other_version(bytes)) return format_failure("a note of another version", "use the same release on both");
  if (!has_whole_seal(bytes)) return format_failure("damaged note: its checksum is wrong, or it is cut");
  FieldReader fields(bytes.first(bytes.size() - kSealBytes));
  fields.bytes(kNoteMagic.size() + sizeof kNoteVersion);
  StreamNote note;
  const auto kind = fields.number<uint8_t>(), start = fields.number<uint8_t>();
  note.run = fields.number<uint64_t>();
  note.number = fields.number<uint64_t>();
  note.allowed = fields.number<uint64_t>();
  const auto refusal = fields.number<uint8_t>(), text_bytes = fields.number<uint8_t>();
  const auto reserved = fields.bytes(kReservedBytes);
  const bool plain = std::all_of(reserved.begin(), reserved.end(), [](uint8_t byte) { return byte == 0; });
  note.text = fields.text(text_bytes);
  const bool known =
      kind >= static_cast<uint8_t>(NoteKind::subscribe) && kind <= static_cast<uint8_t>(NoteKind::refused) &&
      start <= static_cast<uint8_t>(StartKind::time) && refusal <= static_cast<uint8_t>(Refusal::unknown);
  if (!fields.at_end() || !plain || !known) return format_failure("damaged note: fields that make no sense");
  note.kind = static_cast<NoteKind>(kind);
  note.start = static_cast<StartKind>(start);
  note.refusal = static_cast<Refusal>(refusal);
  return note;
}

bool looks_like_envelope(std::span<const uint8_t> bytes) {
  return bytes.size() >= kEnvelopeMagic.size() &&
         std::equal(kEnvelopeMagic.begin(), kEnvelopeMagic.end(), bytes.begin());
}

}  // namespace trama
