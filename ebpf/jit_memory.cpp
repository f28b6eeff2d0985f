#include "ebpf/jit_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace trama::ebpf {
namespace {

constexpr int kAllSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;

tl::unexpected<Refusal> no_memory(const char* what) {
  return refuse(std::string("the system gives no memory for machine code (") + what + ": " + std::strerror(errno) +
                ")");
}

// A file that exists in memory only.
class MemoryFile {
 public:
  MemoryFile() {
    // Newer kernels want it said that the content may be executed; older ones don't know the word.
    constexpr unsigned kExecutable = 0x10;  // MFD_EXEC
    constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    descriptor_ = ::memfd_create("trama filter", kFlags | kExecutable);
    if (descriptor_ < 0 && errno == EINVAL) descriptor_ = ::memfd_create("trama filter", kFlags);
  }
  ~MemoryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

}  // namespace

Expected<CodeMemory> CodeMemory::make(size_t bytes, const Write& write) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t mapped = (bytes + page - 1) / page * page;
  // The address must be known before the code is written: it is reserved first.
  void* const reserved = ::mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED) return no_memory("mmap");
  CodeMemory memory(static_cast<uint8_t*>(reserved), bytes, mapped);

  const MemoryFile file;
  if (file.descriptor() < 0) return no_memory("memfd_create");
  if (::ftruncate(file.descriptor(), static_cast<off_t>(mapped)) != 0) return no_memory("ftruncate");
  void* const writable = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0);
  if (writable == MAP_FAILED) return no_memory("mmap");
  const bool written = write(static_cast<uint8_t*>(writable), reinterpret_cast<uint64_t>(reserved));
  ::munmap(writable, mapped);
  if (!written) return refuse("the machine code can't be written");
  if (::fcntl(file.descriptor(), F_ADD_SEALS, kAllSeals) != 0) return no_memory("sealing");
  if (::mmap(reserved, mapped, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file.descriptor(), 0) == MAP_FAILED)
    return no_memory("mmap to execute");
  __builtin___clear_cache(static_cast<char*>(reserved), static_cast<char*>(reserved) + bytes);
  return memory;
}

CodeMemory::~CodeMemory() {
  if (code_) ::munmap(code_, mapped_bytes_);
}

}  // namespace trama::ebpf
