#include "ebpf/kernel_program.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

#include "ebpf/instruction.hpp"
#include "ebpf/kernel_types.hpp"

namespace trama::ebpf {
namespace {

constexpr const char* kProgramName = "trama_filter";
// None that is compatible with the GPL, so that the kernel itself sees to it that no module gets at helpers which ask
// for that: what license a module has isn't asked here.
constexpr const char* kLicense = "not stated";

// Maps by descriptor instead of by index.
std::vector<bpf_insn> with_descriptors(const std::vector<bpf_insn>& linked, const KernelMaps& maps) {
  std::vector<bpf_insn> code = linked;
  for (size_t at = 0; at < code.size(); ++at) {
    if (code[at].code != kWideLoad) continue;
    const bool whole = code[at].src_reg == BPF_PSEUDO_MAP_IDX;
    if (whole || code[at].src_reg == BPF_PSEUDO_MAP_IDX_VALUE) {
      code[at].src_reg = whole ? BPF_PSEUDO_MAP_FD : BPF_PSEUDO_MAP_VALUE;
      code[at].imm = maps.descriptor(static_cast<uint32_t>(code[at].imm));
    }
    ++at;  // its second half
  }
  return code;
}

// Code of a module, and where it stands in what is loaded.
struct Origin {
  const FilterModule* module;
  uint32_t program;  // index
  uint32_t start;

  const Program& source() const { return module->object().programs[program]; }
};

// What the kernel is given.
struct Loadable {
  std::span<const bpf_insn> code;
  std::vector<NamedFunction> functions;
  std::vector<Origin> origins;  // ascending
  bool frames_in_pieces = false;
};

void name_functions(const Origin& origin, std::vector<NamedFunction>& functions) {
  const std::string& name = origin.source().name;
  const std::vector<FunctionFacts>& facts = origin.module->analysis().programs[origin.program].functions;
  for (size_t function = 0; function < facts.size(); ++function)
    functions.push_back(
        {origin.start + facts[function].entry, function == 0 ? name : name + "_" + std::to_string(function)});
}

int load_code(const Loadable& program, const KernelTypes& types, std::span<char> log) {
  LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_XDP,
              .prog_btf_fd = static_cast<uint32_t>(types.descriptor()),
              .prog_flags = program.frames_in_pieces ? uint32_t{BPF_F_XDP_HAS_FRAGS} : 0u,
              .func_info = types.functions().data(), .func_info_cnt = static_cast<uint32_t>(types.functions().size()),
              .func_info_rec_size = sizeof(bpf_func_info));
  if (!log.empty()) {
    options.log_level = 1;
    options.log_buf = log.data();
    options.log_size = static_cast<uint32_t>(log.size());
  }
  return bpf_prog_load(BPF_PROG_TYPE_XDP, kProgramName, kLicense, program.code.data(), program.code.size(), &options);
}

// The last words of the kernel's verifier, and the instruction it had come to: lines as "12: (61) r0 = ...", then the
// reason, then "processed 13 insns ...".
struct LastWords {
  std::string reason;
  int64_t instruction = -1;
};

LastWords last_words(const char* log) {
  LastWords words;
  std::istringstream text(log);
  for (std::string line; std::getline(text, line);) {
    char* after = nullptr;
    const int64_t number = std::strtoll(line.c_str(), &after, 10);
    if (after != line.c_str() && std::strncmp(after, ": (", 3) == 0)
      words.instruction = number;
    else if (!line.empty() && !line.starts_with("processed ") && !line.starts_with("verification time"))
      words.reason = line;
  }
  return words;
}

Refusal refusal_of(int error, const LastWords& words, const std::vector<Origin>& origins) {
  Refusal refusal;
  refusal.text =
      "the kernel doesn't take it: " + (words.reason.empty() ? std::string(std::strerror(error)) : words.reason);
  if (error == EPERM && words.reason.empty())
    refusal.hint =
        "the process holds the capabilities, but not in the first user namespace, or the kernel is locked down";
  const auto after = std::find_if(origins.begin(), origins.end(),
                                  [&words](const Origin& origin) { return int64_t{origin.start} > words.instruction; });
  if (after == origins.begin()) return refusal;
  const Origin& origin = *std::prev(after);
  refusal.text = origin.module->object().name + ": " + refusal.text;
  refusal.program = origin.source().name;
  refusal.instruction = words.instruction - origin.start;
  if (const SourceLine* line = origin.source().line_of(static_cast<uint32_t>(refusal.instruction))) {
    refusal.source_file = line->file;
    refusal.source_line = line->line;
    refusal.source_text = line->text;
  }
  return refusal;
}

Expected<Descriptor> load_program(const Loadable& program) {
  const auto types = KernelTypes::load(program.functions);
  if (!types) return tl::unexpected(types.error());
  Descriptor loaded(load_code(program, *types, {}));
  if (loaded) return loaded;
  const int error = errno;
  // Once more, for the verifier's words, which cost time.
  constexpr size_t kLogBytes = 1 << 20;
  std::vector<char> log(kLogBytes, '\0');
  loaded = Descriptor(load_code(program, *types, log));
  if (loaded) return loaded;
  log.back() = '\0';
  return tl::unexpected(refusal_of(error, last_words(log.data()), program.origins));
}

// The kernel fills a program array with programs of one kind: those that are loaded the same way.
Expected<void> fill_slots(const FilterModule& module, const KernelMaps& maps, bool frames_in_pieces,
                          std::vector<Descriptor>& loaded) {
  std::vector<int> by_program(module.object().programs.size(), -1);
  for (const uint32_t index : tail_called_programs(module)) {
    const Origin origin{&module, index, 0};
    const std::vector<bpf_insn> code = with_descriptors(origin.source().code, maps);
    Loadable program{code, {}, {origin}, frames_in_pieces};
    name_functions(origin, program.functions);
    auto one = load_program(program);
    if (!one) return tl::unexpected(one.error());
    by_program[index] = one->number();
    loaded.push_back(std::move(*one));
  }
  for (uint32_t map = 0; map < module.maps().size(); ++map) {
    const Map& slots = module.maps()[map];
    if (slots.spec().type != BPF_MAP_TYPE_PROG_ARRAY || maps.descriptor(map) < 0) continue;
    for (uint32_t slot = 0; slot < slots.spec().max_entries; ++slot) {
      const int64_t program = slot_value(slots, slot);
      if (program < 0 || program >= static_cast<int64_t>(by_program.size())) continue;
      if (bpf_map_update_elem(maps.descriptor(map), &slot, &by_program[static_cast<size_t>(program)], BPF_ANY) != 0)
        return refuse(module.object().name + ": the kernel refuses what is in map " + slots.spec().name + ": " +
                      std::strerror(errno));
    }
  }
  return {};
}

std::array<bool, kCountedVerdicts> verdicts_that_go_on(const FilterModule& module) {
  std::array<bool, kCountedVerdicts> goes_on{};
  for (size_t verdict = 0; verdict < goes_on.size(); ++verdict)
    goes_on[verdict] = module.decide(verdict) == Decision::pass;
  return goes_on;
}

}  // namespace

Expected<KernelProgram> KernelProgram::load(ModuleChain chain, const KernelProgramOptions& options,
                                            const KernelProgram* before) {
  KernelProgram made;
  std::vector<std::vector<bpf_insn>> codes;
  for (size_t module = 0; module < chain.size(); ++module) {
    auto maps = KernelMaps::create(*chain[module], before ? &before->maps_[module] : nullptr);
    if (!maps) return tl::unexpected(maps.error());
    if (auto filled = fill_slots(*chain[module], *maps, options.frames_in_pieces, made.tail_calls_); !filled)
      return tl::unexpected(filled.error());
    codes.push_back(with_descriptors(chain[module]->entry().code, *maps));
    made.maps_.push_back(std::move(*maps));
  }
  std::vector<DispatchedModule> dispatched;
  for (size_t module = 0; module < chain.size(); ++module)
    dispatched.push_back({codes[module], verdicts_that_go_on(*chain[module])});
  const Dispatcher dispatcher = make_dispatcher(dispatched, options.counters, options.sockets);
  Loadable whole{dispatcher.code, {{0, "trama_dispatch"}}, {}, options.frames_in_pieces};
  if (!chain.empty()) whole.functions.push_back({dispatcher.count, "trama_count"});
  for (size_t module = 0; module < chain.size(); ++module) {
    whole.origins.push_back({chain[module].get(), chain[module]->program(), dispatcher.starts[module]});
    name_functions(whole.origins.back(), whole.functions);
  }
  auto program = load_program(whole);
  if (!program) return tl::unexpected(program.error());
  made.program_ = std::move(*program);
  return made;
}

Expected<void> check_fit_for_kernel(const FilterModule& module) {
  const std::string& name = module.object().name;
  if (module.needs_copy())
    return refuse(name + (module.properties().moves_packet ? " moves the start of packets" : " writes into packets") +
                      ": in the kernel the engine would see what it leaves of them",
                  "run it inside the engine, where it works on a copy");
  if (module.properties().serial())
    return refuse(name + " " + module.properties().why_serial() +
                      ": in the kernel, where every processor judges packets, its verdicts would be others",
                  "run it inside the engine, in one replica");
  return {};
}

}  // namespace trama::ebpf
