#include "ebpf/elf_object.hpp"

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstring>

#ifndef EM_BPF
#define EM_BPF 247
#endif

namespace trama::ebpf {
namespace {

using Bytes = std::span<const uint8_t>;

// A part of the bytes; empty if it isn't inside.
Bytes part_of(Bytes bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset ? bytes.subspan(offset, size) : Bytes{};
}

template <class Record>
bool read_record(Bytes bytes, uint64_t offset, Record& record) {
  const Bytes part = part_of(bytes, offset, sizeof record);
  if (part.empty()) return false;
  std::memcpy(&record, part.data(), sizeof record);
  return true;
}

std::string text_at(Bytes strings, uint64_t offset) {
  if (offset >= strings.size()) return {};
  const Bytes rest = strings.subspan(offset);
  const auto end = std::find(rest.begin(), rest.end(), uint8_t{0});
  return {rest.begin(), end};
}

}  // namespace

Expected<void> check_elf_header(Bytes bytes) {
  static_assert(std::endian::native == std::endian::little);
  Elf64_Ehdr header;
  const std::string hint = "compile with clang -O2 -g -target bpf -mcpu=v2 -c NAME.bpf.c";
  if (!read_record(bytes, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return refuse("this isn't an ELF object file", hint);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_BPF)
    return refuse("this object file isn't for BPF", hint);
  if (header.e_ident[EI_DATA] != ELFDATA2LSB)
    return refuse("this object file is for machines of the other byte order", "compile with -target bpfel");
  if (header.e_type != ET_REL) return refuse("this is no object file as a compiler writes it", hint);
  return {};
}

Expected<ElfObject> ElfObject::parse(Bytes bytes) {
  if (auto good = check_elf_header(bytes); !good) return tl::unexpected(good.error());
  Elf64_Ehdr header;
  read_record(bytes, 0, header);
  ElfObject object;
  std::vector<Elf64_Shdr> headers(header.e_shnum);
  for (size_t index = 0; index < headers.size(); ++index) {
    const uint64_t at = header.e_shoff + index * sizeof(Elf64_Shdr);
    if (header.e_shentsize != sizeof(Elf64_Shdr) || at < header.e_shoff || !read_record(bytes, at, headers[index]))
      return refuse("the object file is damaged: its table of sections is cut");
    const Elf64_Shdr& section = headers[index];
    const bool in_file = section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL;
    object.sections_.push_back({{},
                                section.sh_type,
                                section.sh_info,
                                at,
                                in_file ? part_of(bytes, section.sh_offset, section.sh_size) : Bytes{}});
  }
  if (header.e_shstrndx >= headers.size()) return refuse("the object file is damaged: its sections have no names");
  for (size_t index = 0; index < headers.size(); ++index)
    object.sections_[index].name = text_at(object.sections_[header.e_shstrndx].bytes, headers[index].sh_name);

  for (size_t index = 0; index < headers.size(); ++index) {
    if (headers[index].sh_type != SHT_SYMTAB || headers[index].sh_link >= headers.size()) continue;
    const Bytes table = object.sections_[index].bytes, strings = object.sections_[headers[index].sh_link].bytes;
    Elf64_Sym symbol;
    for (uint64_t at = 0; read_record(table, at, symbol); at += sizeof symbol)
      object.symbols_.push_back({text_at(strings, symbol.st_name), static_cast<uint8_t>(ELF64_ST_TYPE(symbol.st_info)),
                                 symbol.st_shndx == SHN_UNDEF});
    break;
  }
  return object;
}

const ElfSection* ElfObject::find(const std::string& name) const {
  const auto found = std::find_if(sections_.begin(), sections_.end(),
                                  [&name](const ElfSection& section) { return section.name == name; });
  return found == sections_.end() ? nullptr : &*found;
}

std::vector<ElfRelocation> ElfObject::relocations(const ElfSection& section) {
  std::vector<ElfRelocation> list;
  Elf64_Rel relocation;
  for (uint64_t at = 0; read_record(section.bytes, at, relocation); at += sizeof relocation)
    list.push_back({relocation.r_offset, static_cast<uint32_t>(ELF64_R_SYM(relocation.r_info))});
  return list;
}

}  // namespace trama::ebpf
