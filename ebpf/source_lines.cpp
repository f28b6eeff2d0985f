#include "ebpf/source_lines.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "ebpf/instruction.hpp"

namespace trama::ebpf {
namespace {

using Bytes = std::span<const uint8_t>;

struct ExtHeader {  // struct btf_ext_header
  uint16_t magic;
  uint8_t version, flags;
  uint32_t header_bytes, function_offset, function_bytes, line_offset, line_bytes, core_offset, core_bytes;
};
struct FunctionRecord {  // struct bpf_func_info_min
  uint32_t offset, type;
};
struct LineRecord {  // struct bpf_line_info_min
  uint32_t offset, file, text, line_and_column;
};

template <class Record>
bool read_record(Bytes bytes, uint64_t offset, Record& record) {
  if (offset > bytes.size() || sizeof record > bytes.size() - offset) return false;
  std::memcpy(&record, bytes.data() + offset, sizeof record);
  return true;
}

Bytes part_of(Bytes bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset ? bytes.subspan(offset, size) : Bytes{};
}

// The strings of .BTF.
class Strings {
 public:
  explicit Strings(Bytes btf) {
    struct Header {  // struct btf_header
      uint16_t magic;
      uint8_t version, flags;
      uint32_t header_bytes, type_offset, type_bytes, string_offset, string_bytes;
    } header;
    if (read_record(btf, 0, header))
      bytes_ = part_of(btf, uint64_t{header.header_bytes} + header.string_offset, header.string_bytes);
  }
  std::string at(uint32_t offset) const {
    if (offset >= bytes_.size()) return {};
    const Bytes rest = bytes_.subspan(offset);
    return {rest.begin(), std::find(rest.begin(), rest.end(), uint8_t{0})};
  }

 private:
  Bytes bytes_;
};

// Records of one kind, section by section: their size, then {name of the section, count, records} again and again.
template <class Record, class Take>
void for_each_record(Bytes part, const Strings& strings, Take take) {
  uint32_t record_bytes = 0;
  if (!read_record(part, 0, record_bytes) || record_bytes < sizeof(Record)) return;
  struct {
    uint32_t name, count;
  } section;
  for (uint64_t at = sizeof record_bytes; read_record(part, at, section);) {
    at += sizeof section;
    const std::string name = strings.at(section.name);
    Record record;
    for (uint32_t index = 0; index < section.count; ++index, at += record_bytes) {
      if (!read_record(part, at, record)) return;
      take(name, record);
    }
  }
}

std::string trimmed(std::string text) {
  constexpr const char* kBlanks = " \t\r\n";
  text.erase(text.find_last_not_of(kBlanks) + 1);
  return text.erase(0, std::min(text.find_first_not_of(kBlanks), text.size()));
}

// Linking changes constants of wide loads and of calls, and nothing else.
bool same_but_for_links(const bpf_insn& a, const bpf_insn& b, bool second_half) {
  if (a.code != b.code || a.dst_reg != b.dst_reg || a.off != b.off) return false;
  if (second_half || a.code == kWideLoad || is_call(a)) return true;
  return a.src_reg == b.src_reg && a.imm == b.imm;
}

bool same_body(std::span<const bpf_insn> linked, const std::vector<bpf_insn>& body) {
  if (linked.size() != body.size()) return false;
  for (size_t at = 0; at < body.size(); ++at) {
    const bool second_half = at > 0 && body[at - 1].code == kWideLoad;
    if (!same_but_for_links(linked[at], body[at], second_half)) return false;
  }
  return true;
}

}  // namespace

SourceLines::SourceLines(const ElfObject& object) {
  const ElfSection* const btf = object.find(".BTF");
  const ElfSection* const extension = object.find(".BTF.ext");
  ExtHeader header{};
  if (!btf || !extension) return;
  const Bytes all = extension->bytes;
  if (!read_record(all, 0, header)) {
    // The fields for CO-RE came later: there are headers without.
    std::memcpy(&header, all.data(), std::min<size_t>(all.size(), offsetof(ExtHeader, core_offset)));
  }
  const bool has_core_fields = header.header_bytes >= sizeof header;
  has_core_relocations_ = has_core_fields && header.core_bytes > sizeof(uint32_t);
  const Strings strings(btf->bytes);
  const auto section = [&](uint32_t offset, uint32_t bytes) {
    return part_of(all, uint64_t{header.header_bytes} + offset, bytes);
  };
  std::map<std::string, std::vector<uint32_t>> starts;
  for_each_record<FunctionRecord>(
      section(header.function_offset, header.function_bytes), strings,
      [&](const std::string& name, const FunctionRecord& record) { starts[name].push_back(record.offset / 8); });
  std::map<std::string, std::vector<Record>> records;
  for_each_record<LineRecord>(section(header.line_offset, header.line_bytes), strings,
                              [&](const std::string& name, const LineRecord& record) {
                                records[name].push_back({record.offset / 8, record.line_and_column >> 10,
                                                         strings.at(record.file), trimmed(strings.at(record.text))});
                              });
  for (const auto& [name, list] : starts)
    if (const ElfSection* const code = object.find(name)) read_section(*code, list, records[name]);
}

void SourceLines::read_section(const ElfSection& section, std::vector<uint32_t> starts,
                               const std::vector<Record>& records) {
  std::sort(starts.begin(), starts.end());
  starts.push_back(static_cast<uint32_t>(section.bytes.size() / sizeof(bpf_insn)));
  for (size_t index = 0; index + 1 < starts.size(); ++index) {
    const uint32_t first = starts[index], end = starts[index + 1];
    if (first >= end || end > section.bytes.size() / sizeof(bpf_insn)) continue;
    Function function;
    function.body.resize(end - first);
    std::memcpy(function.body.data(), section.bytes.data() + size_t{first} * sizeof(bpf_insn),
                function.body.size() * sizeof(bpf_insn));
    for (Record record : records) {
      if (record.instruction < first || record.instruction >= end) continue;
      record.instruction -= first;
      function.records.push_back(std::move(record));
    }
    functions_.push_back(std::move(function));
  }
}

std::vector<SourceLine> SourceLines::of(const std::vector<bpf_insn>& linked) const {
  std::vector<uint32_t> entries{0};
  for (uint32_t at = 0; at < linked.size(); ++at) {
    if (linked[at].code == kWideLoad)
      ++at;
    else if (is_function_call(linked[at]))
      entries.push_back(at + 1 + static_cast<uint32_t>(linked[at].imm));
  }
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  entries.erase(std::lower_bound(entries.begin(), entries.end(), linked.size()), entries.end());

  std::vector<SourceLine> lines;
  for (size_t index = 0; index < entries.size(); ++index) {
    const size_t first = entries[index], end = index + 1 < entries.size() ? entries[index + 1] : linked.size();
    const std::span<const bpf_insn> body = std::span(linked).subspan(first, end - first);
    const auto found = std::find_if(functions_.begin(), functions_.end(),
                                    [body](const Function& function) { return same_body(body, function.body); });
    if (found == functions_.end()) continue;
    for (const Record& record : found->records)
      lines.push_back({static_cast<uint32_t>(first) + record.instruction, record.line, record.file, record.text});
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const SourceLine& a, const SourceLine& b) { return a.instruction < b.instruction; });
  return lines;
}

}  // namespace trama::ebpf
