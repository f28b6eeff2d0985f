// libbpf's gen_loader mode: bpf_object__load() makes no system call, appends subprograms, resolves calls, and writes
// references to maps as (BPF_PSEUDO_MAP_IDX, index) and (BPF_PSEUDO_MAP_IDX_VALUE, index, offset).
#include "ebpf/linker.hpp"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "ebpf/elf_object.hpp"
#include "ebpf/source_lines.hpp"

namespace trama::ebpf {
namespace {

// What libbpf has to say, for the text of a refusal. Its print function has no context argument.
std::vector<std::string> g_log;

int keep_log(libbpf_print_level level, const char* format, va_list arguments) {
  constexpr size_t kMaxLines = 16;
  std::array<char, 512> line;
  const int length = std::vsnprintf(line.data(), line.size(), format, arguments);
  if (level == LIBBPF_DEBUG || length <= 0 || g_log.size() == kMaxLines) return length;
  std::string text(line.data());
  if (text.starts_with("libbpf: ")) text.erase(0, 8);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  g_log.push_back(text);
  return length;
}

tl::unexpected<Refusal> libbpf_refuses(const char* what, const char* hint = "") {
  std::string text = what;
  constexpr size_t kLastLines = 3;
  for (size_t line = g_log.size() - std::min(g_log.size(), kLastLines); line < g_log.size(); ++line)
    text += (line + kLastLines >= g_log.size() && text == what ? ": " : "; ") + g_log[line];
  return refuse(std::move(text), hint);
}

using Opened = std::unique_ptr<bpf_object, decltype(&bpf_object__close)>;

Section section_of(const bpf_map* map, const std::string& name) {
  if (!bpf_map__is_internal(map)) return Section::none;
  if (name.find(".rodata") != std::string::npos) return Section::rodata;
  if (name.find(".bss") != std::string::npos) return Section::bss;
  return Section::data;
}

// libbpf puts the object's name in front of a section's: "privacy.rodata".
std::string section_name(const std::string& name) {
  const size_t dot = name.find('.');
  return dot == std::string::npos ? name : name.substr(dot);
}

MapSpec spec_of(const bpf_map* map) {
  MapSpec spec;
  spec.name = bpf_map__name(map);
  spec.type = static_cast<uint32_t>(bpf_map__type(map));
  spec.key_size = bpf_map__key_size(map);
  spec.value_size = bpf_map__value_size(map);
  spec.max_entries = bpf_map__max_entries(map);
  spec.flags = bpf_map__map_flags(map);
  spec.section = section_of(map, spec.name);
  if (spec.section == Section::none) return spec;
  spec.name = section_name(spec.name);
  size_t bytes = 0;
  const auto* const first =
      static_cast<const uint8_t*>(bpf_map__initial_value(const_cast<bpf_map*>(map), &bytes));  // its API isn't const
  if (first && bytes == spec.value_size) spec.initial_value.assign(first, first + bytes);
  return spec;
}

// Where a map's definition lies in the section .maps, and where in it the array `values` begins.
struct Definition {
  std::string name;
  uint32_t offset = 0, bytes = 0, values = 0;
};

std::vector<Definition> definitions_with_values(const btf* types) {
  std::vector<Definition> list;
  const int section = btf__find_by_name_kind(types, ".maps", BTF_KIND_DATASEC);
  if (section < 0) return list;
  const btf_type* const all = btf__type_by_id(types, static_cast<uint32_t>(section));
  for (int index = 0; index < btf_vlen(all); ++index) {
    const btf_var_secinfo& place = btf_var_secinfos(all)[index];
    const btf_type* const variable = btf__type_by_id(types, place.type);
    const int resolved = variable ? btf__resolve_type(types, variable->type) : -1;
    const btf_type* const structure = resolved > 0 ? btf__type_by_id(types, static_cast<uint32_t>(resolved)) : nullptr;
    if (!structure || !btf_is_struct(structure)) continue;
    for (uint16_t member = 0; member < btf_vlen(structure); ++member) {
      const char* const name = btf__name_by_offset(types, btf_members(structure)[member].name_off);
      if (!name || std::strcmp(name, "values") != 0) continue;
      list.push_back({btf__name_by_offset(types, variable->name_off), place.offset, place.size,
                      btf_member_bit_offset(structure, member) / 8});
    }
  }
  return list;
}

const ElfSection* relocations_of_maps(const ElfObject& elf) {
  for (const ElfSection& section : elf.sections())
    if (section.type == SHT_REL && section.info < elf.sections().size() && elf.sections()[section.info].name == ".maps")
      return &section;
  return nullptr;
}

// The initial slots of program arrays: relocations in .maps that name programs. libbpf refuses them in this mode.
void read_program_slots(const ElfObject& elf, const btf* types, Object& object) {
  const ElfSection* const section = relocations_of_maps(elf);
  if (!section || !types) return;
  for (const Definition& definition : definitions_with_values(types)) {
    const int index = object.find_map(definition.name);
    if (index < 0) continue;
    MapSpec& map = object.maps[static_cast<size_t>(index)];
    const uint64_t first = uint64_t{definition.offset} + definition.values;
    for (const ElfRelocation& relocation : ElfObject::relocations(*section)) {
      const uint64_t slot = (relocation.offset - first) / sizeof(uint64_t);
      if (relocation.offset < first || slot >= map.max_entries || relocation.symbol >= elf.symbols().size()) continue;
      if (relocation.offset >= uint64_t{definition.offset} + std::max(definition.bytes, definition.values)) continue;
      const Program* const program = object.find_program(elf.symbols()[relocation.symbol].name);
      if (!program) continue;
      if (map.program_slots.size() <= slot) map.program_slots.resize(slot + 1, -1);
      map.program_slots[slot] = static_cast<int32_t>(program - object.programs.data());
    }
  }
}

Expected<void> refuse_kernel_only(const ElfObject& elf, const SourceLines& lines) {
  if (lines.has_core_relocations())
    return refuse("the object has CO-RE relocations, which can be resolved only against a kernel's types",
                  "filters need no types of the kernel: leave out vmlinux.h and bpf_core_read.h");
  for (const ElfSymbol& symbol : elf.symbols())
    if (symbol.undefined && !symbol.name.empty())
      return refuse("it needs " + symbol.name + ", which isn't in the object",
                    "configuration and functions of the kernel exist only in a kernel");
  return {};
}

bool runs_here(const bpf_program* program) {
  return bpf_program__type(program) == BPF_PROG_TYPE_XDP &&
         bpf_program__expected_attach_type(program) != BPF_XDP_DEVMAP &&
         bpf_program__expected_attach_type(program) != BPF_XDP_CPUMAP;
}

Expected<void> choose_programs(bpf_object* opened, Object& object) {
  bpf_program* program = nullptr;
  uint32_t chosen = 0;
  bpf_object__for_each_program(program, opened) {
    if (runs_here(program)) {
      bpf_program__set_autoload(program, true);
      ++chosen;
      continue;
    }
    bpf_program__set_autoload(program, false);
    object.other_programs.push_back(std::string(bpf_program__name(program)) + " (" +
                                    bpf_program__section_name(program) + ")");
  }
  if (chosen > kMaxPrograms) return refuse("the object has more than " + std::to_string(kMaxPrograms) + " programs");
  if (chosen != 0) return {};
  std::string others;
  for (const std::string& other : object.other_programs) others += (others.empty() ? "" : ", ") + other;
  return refuse("the object has no XDP program" + (others.empty() ? "" : ", only " + others),
                "put SEC(\"xdp\") in front of the function");
}

Expected<void> read_maps(bpf_object* opened, Object& object) {
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, opened) {
    if (object.maps.size() == kMaxMaps) return refuse("the object has more than " + std::to_string(kMaxMaps) + " maps");
    object.maps.push_back(spec_of(map));
  }
  return {};
}

// libbpf's own refusals of `.values` would end everything: it is shown a copy without them.
std::vector<uint8_t> without_slot_relocations(std::span<const uint8_t> bytes, const ElfObject& elf) {
  std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  const ElfSection* const section = relocations_of_maps(elf);
  const uint32_t nothing = SHT_NULL;
  if (section)
    std::memcpy(copy.data() + section->header_offset + offsetof(Elf64_Shdr, sh_type), &nothing, sizeof nothing);
  return copy;
}

}  // namespace

Expected<Object> link_object(std::span<const uint8_t> bytes, const std::string& name) {
  const auto elf = ElfObject::parse(bytes);
  if (!elf) return tl::unexpected(elf.error());
  const SourceLines lines(*elf);
  if (auto good = refuse_kernel_only(*elf, lines); !good) return tl::unexpected(good.error());

  ::libbpf_set_print(keep_log);
  const std::vector<uint8_t> shown = without_slot_relocations(bytes, *elf);
  const Opened opened(bpf_object__open_mem(shown.data(), shown.size(), nullptr), bpf_object__close);
  if (!opened) return libbpf_refuses("the object can't be opened", "compile it with clang -O2 -g -target bpf");

  Object object;
  object.name = name;
  if (auto good = choose_programs(opened.get(), object); !good) return tl::unexpected(good.error());
  if (auto good = read_maps(opened.get(), object); !good) return tl::unexpected(good.error());

  LIBBPF_OPTS(gen_loader_opts, generated);
  if (bpf_object__gen_loader(opened.get(), &generated) != 0 || bpf_object__load(opened.get()) != 0)
    return libbpf_refuses("the object can't be linked");
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, opened.get()) {
    if (!runs_here(program)) continue;
    const bpf_insn* const first = bpf_program__insns(program);
    const size_t count = bpf_program__insn_cnt(program);
    if (count > kMaxInstructions)
      return refuse(std::string("program ") + bpf_program__name(program) + " has more than " +
                    std::to_string(kMaxInstructions) + " instructions");
    Program linked{bpf_program__name(program), {first, first + count}, {}};
    linked.lines = lines.of(linked.code);
    object.programs.push_back(std::move(linked));
  }
  read_program_slots(*elf, bpf_object__btf(opened.get()), object);
  return object;
}

}  // namespace trama::ebpf
