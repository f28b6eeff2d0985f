#include "ebpf/jit.hpp"

#include <asmjit/core.h>

#include <utility>

#include "ebpf/jit_target.hpp"
#include "ebpf/jit_translator.hpp"

namespace trama::ebpf {
namespace {

// After the first one asmjit goes on saying no.
class FirstError final : public asmjit::ErrorHandler {
 public:
  void handleError(asmjit::Error error, const char*, asmjit::BaseEmitter*) override { keep(error); }
  void keep(asmjit::Error error) {
    if (error_ == asmjit::kErrorOk) error_ = error;
  }
  bool any() const { return error_ != asmjit::kErrorOk; }
  std::string text() const { return asmjit::DebugUtils::errorAsString(error_); }

 private:
  asmjit::Error error_ = asmjit::kErrorOk;
};

}  // namespace

Jit::Jit(CodeMemory memory, std::vector<Entry> programs) : memory_(std::move(memory)), programs_(std::move(programs)) {}

const char* Jit::processor() noexcept { return JitTarget::name(); }

Expected<std::unique_ptr<Jit>> Jit::compile(const Object& object, const Analysis& analysis, const Maps& maps) {
  if (!processor()) return refuse("there is no machine code for this processor");
  FirstError errors;
  asmjit::CodeHolder code;
  errors.keep(code.init(asmjit::Environment::host()));
  code.setErrorHandler(&errors);
  const std::unique_ptr<JitTarget> target = JitTarget::make(code);
  JitTranslator translator(object, analysis, maps, *target);
  translator.translate();
  errors.keep(code.flatten());
  errors.keep(code.resolveUnresolvedLinks());
  if (errors.any()) return refuse("the programs can't be compiled: " + errors.text());

  auto memory = CodeMemory::make(code.codeSize(), [&](uint8_t* where, uint64_t address) {
    errors.keep(code.relocateToBase(address));
    errors.keep(code.copyFlattenedData(where, code.codeSize()));
    return !errors.any();
  });
  if (!memory) return tl::unexpected(memory.error());
  std::vector<Entry> programs;
  for (const asmjit::Label& program : translator.programs()) {
    const uint8_t* const at = memory->code() + code.labelOffsetFromBase(program);
    programs.push_back(reinterpret_cast<Entry>(reinterpret_cast<uintptr_t>(at)));
  }
  return std::unique_ptr<Jit>(new Jit(std::move(*memory), std::move(programs)));
}

}  // namespace trama::ebpf
