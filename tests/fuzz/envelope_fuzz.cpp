// libFuzzer target: what a subscriber does with a message that comes from anywhere. Bytes as they are, then sealed anew
// so that more of it is reached: envelope, then the decoder of its matrix; and notes. What is read must be what it
// says, and the same once written and read again.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "libclient/formats/byte_fields.hpp"
#include "libclient/formats/stream_note.hpp"
#include "libclient/stream_window.hpp"
#include "tests/libclient/compact_cases.hpp"

namespace {

using Bytes = std::vector<uint8_t>;
constexpr uint64_t kMaxLinks = 1 << 16;

void expect(bool right) {
  if (!right) __builtin_trap();
}

// Magic, version, length and checksum put right; for an envelope also what must agree, and the length of a blob.
void put_right(Bytes& bytes) {
  constexpr size_t kHeader = 184, kWindowPackets = 32, kPackets = 40, kCounted = 72, kMatrixBytes = 168, kTexts = 178;
  if (bytes.size() < kHeader + trama::kSealBytes) return;
  const auto put = [&](size_t at, uint64_t value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  const auto get = [&](size_t at) {
    uint64_t value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  };
  std::copy(trama::kEnvelopeMagic.begin(), trama::kEnvelopeMagic.end(), bytes.begin());
  bytes[4] = trama::kEnvelopeVersion;
  bytes[5] = bytes[7] = 0;
  bytes[6] &= 1;
  put(8, bytes.size());
  put(kWindowPackets, get(kPackets));
  put(kCounted, get(kPackets));
  size_t texts = 0;
  for (size_t i = 0; i < 6; ++i) texts += bytes[kTexts + i] &= 7;
  const size_t rest = bytes.size() - kHeader - trama::kSealBytes;
  if (texts > rest) return;
  put(kMatrixBytes, rest - texts);
  // The first 8 bytes of a blob are its length; 8 bytes behind its magic and version, those of a compact matrix.
  const bool compact = bytes[177] % 5 == static_cast<uint8_t>(trama::EnvelopeEncoding::compact);
  bytes[177] %= 5;
  if (rest - texts >= 48) put(kHeader + texts + (compact ? 8 : 0), rest - texts);
}

void seal(Bytes& bytes) {
  const Bytes copy = bytes;
  trama::FieldWriter writer(bytes.data());
  writer.bytes(copy.data(), copy.size() - trama::kSealBytes);
  writer.seal();
}

void try_envelope(const Bytes& bytes) {
  const auto exact = std::make_shared<const Bytes>(bytes);
  const auto envelope = trama::read_envelope(*exact);
  if (!envelope) return;
  Bytes again(trama::envelope_bytes(*envelope));
  expect(trama::write_envelope(*envelope, again) == again.size() && again == bytes);
  if (envelope->encoding == trama::EnvelopeEncoding::tail) return;
  const auto window = trama::StreamWindow::decode(trama::window_info(*envelope), {exact, envelope->matrix}, kMaxLinks);
  if (!window) return;
  expect(trama::test::keeps_the_rules(window->matrix()));
  expect(window->matrix().links() == envelope->links && window->info().packets == envelope->packets);
}

void try_note(const Bytes& bytes) {
  const auto note = trama::read_note(bytes);
  if (!note) return;
  std::array<uint8_t, trama::kMostNoteBytes> again;
  expect(trama::write_note(*note, again) == bytes.size());
  expect(std::equal(bytes.begin(), bytes.end(), again.begin()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes bytes(data, data + size);
  bytes.shrink_to_fit();
  try_envelope(bytes);
  try_note(bytes);
  if (size < trama::kSealBytes) return 0;
  seal(bytes);
  try_envelope(bytes);
  try_note(bytes);
  put_right(bytes);
  seal(bytes);
  try_envelope(bytes);
  return 0;
}
