#include "ebpf/object_codec.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "ebpf/map.hpp"

namespace trama::ebpf {
namespace {

constexpr uint32_t kObject = 0x0b1ec7, kRefusal = 0x4ef05a, kEnd = 0xe0d;
constexpr uint32_t kMaxTextBytes = 4096;

class Writer {
 public:
  template <class Number>
  requires(std::is_trivially_copyable_v<Number> && !std::is_pointer_v<Number>) void put(const Number& number) {
    const auto* const first = reinterpret_cast<const uint8_t*>(&number);
    bytes.insert(bytes.end(), first, first + sizeof number);
  }
  template <class Item>
  void put_list(const std::vector<Item>& items) {
    put(static_cast<uint32_t>(items.size()));
    const auto* const first = reinterpret_cast<const uint8_t*>(items.data());
    bytes.insert(bytes.end(), first, first + items.size() * sizeof(Item));
  }
  void put_text(const std::string& text) {
    put_list(std::vector<char>(
        text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(text.size(), kMaxTextBytes))));
  }

  std::vector<uint8_t> bytes;
};

// After the first thing that isn't right everything reads as empty, and good() is false.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool good() const { return good_; }
  void require(bool condition) { good_ = good_ && condition; }

  uint32_t number() { return value<uint32_t>(); }
  // A number of things, each of which takes at least four bytes.
  uint32_t count(uint32_t most) {
    const uint32_t counted = number();
    require(counted <= most && counted <= bytes_.size() / sizeof(uint32_t));
    return good_ ? counted : 0;
  }
  template <class Value>
  Value value() {
    Value read{};
    require(bytes_.size() >= sizeof read);
    if (!good_) return read;
    std::memcpy(&read, bytes_.data(), sizeof read);
    bytes_ = bytes_.subspan(sizeof read);
    return read;
  }
  template <class Item>
  std::vector<Item> list(uint64_t most) {
    const uint32_t size = number();
    require(size <= most && uint64_t{size} * sizeof(Item) <= bytes_.size());
    if (!good_ || size == 0) return {};
    std::vector<Item> items(size);
    std::memcpy(items.data(), bytes_.data(), size * sizeof(Item));
    bytes_ = bytes_.subspan(size * sizeof(Item));
    return items;
  }
  std::string text() {
    const std::vector<char> raw = list<char>(kMaxTextBytes);
    std::string printable(raw.begin(), raw.end());
    for (char& c : printable)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    return printable;
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::span<const uint8_t> bytes_;
  bool good_ = true;
};

void put_refusal(Writer& writer, const Refusal& refusal) {
  writer.put(kRefusal);
  writer.put_text(refusal.text);
  writer.put_text(refusal.hint);
}

void put_map(Writer& writer, const MapSpec& map) {
  writer.put_text(map.name);
  for (const uint32_t field :
       {map.type, map.key_size, map.value_size, map.max_entries, map.flags, static_cast<uint32_t>(map.section)})
    writer.put(field);
  writer.put_list(map.initial_value);
  writer.put_list(map.program_slots);
}

void put_program(Writer& writer, const Program& program) {
  writer.put_text(program.name);
  writer.put_list(program.code);
  writer.put(static_cast<uint32_t>(program.lines.size()));
  for (const SourceLine& line : program.lines) {
    writer.put(line.instruction);
    writer.put(line.line);
    writer.put_text(line.file);
    writer.put_text(line.text);
  }
}

MapSpec read_map(Reader& reader) {
  MapSpec map;
  map.name = reader.text();
  map.type = reader.number();
  map.key_size = reader.number();
  map.value_size = reader.number();
  map.max_entries = reader.number();
  map.flags = reader.number();
  const uint32_t section = reader.number();
  reader.require(section <= static_cast<uint32_t>(Section::bss));
  map.section = static_cast<Section>(section);
  map.initial_value = reader.list<uint8_t>(kMaxEncodedBytes);
  map.program_slots = reader.list<int32_t>(kMaxEncodedBytes);
  reader.require(map.initial_value.empty() || map.initial_value.size() == map.value_size);
  reader.require(map.program_slots.size() <= map.max_entries);
  return map;
}

Program read_program(Reader& reader) {
  Program program;
  program.name = reader.text();
  program.code = reader.list<bpf_insn>(kMaxInstructions);
  const uint32_t lines = reader.count(kMaxInstructions);
  for (uint32_t index = 0; index < lines && reader.good(); ++index) {
    SourceLine line;
    line.instruction = reader.number();
    line.line = reader.number();
    line.file = reader.text();
    line.text = reader.text();
    reader.require(line.instruction < program.code.size());
    reader.require(program.lines.empty() || program.lines.back().instruction <= line.instruction);
    program.lines.push_back(std::move(line));
  }
  return program;
}

}  // namespace

std::vector<uint8_t> encode(const Expected<Object>& result) {
  Writer writer;
  if (!result) {
    put_refusal(writer, result.error());
  } else {
    writer.put(kObject);
    writer.put_text(result->name);
    writer.put(static_cast<uint32_t>(result->maps.size()));
    for (const MapSpec& map : result->maps) put_map(writer, map);
    writer.put(static_cast<uint32_t>(result->programs.size()));
    for (const Program& program : result->programs) put_program(writer, program);
    writer.put(static_cast<uint32_t>(result->other_programs.size()));
    for (const std::string& program : result->other_programs) writer.put_text(program);
  }
  writer.put(kEnd);
  return std::move(writer.bytes);
}

Expected<Object> decode(std::span<const uint8_t> bytes) {
  constexpr uint32_t kMaxOtherPrograms = 1024;
  Reader reader(bytes);
  const uint32_t kind = reader.number();
  if (kind == kRefusal) {
    Refusal refusal{reader.text()};
    refusal.hint = reader.text();
    if (reader.good() && reader.number() == kEnd) return tl::unexpected(std::move(refusal));
    return refuse("the object can't be linked");
  }
  reader.require(kind == kObject);
  Object object;
  object.name = reader.text();
  for (uint32_t left = reader.count(kMaxMaps); left > 0 && reader.good(); --left)
    object.maps.push_back(read_map(reader));
  for (uint32_t left = reader.count(kMaxPrograms); left > 0 && reader.good(); --left)
    object.programs.push_back(read_program(reader));
  for (uint32_t left = reader.count(kMaxOtherPrograms); left > 0 && reader.good(); --left)
    object.other_programs.push_back(reader.text());
  const auto programs = static_cast<int32_t>(object.programs.size());
  for (const MapSpec& map : object.maps)
    for (const int32_t slot : map.program_slots) reader.require(slot >= -1 && slot < programs);
  if (!reader.good() || reader.number() != kEnd || !reader.at_end()) return refuse("the object can't be linked");
  return object;
}

}  // namespace trama::ebpf
