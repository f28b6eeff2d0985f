// Blocks of 64 KiB and more for fuzz targets: malloc() and new[] get them here, where they are kept for the next run.
//
// AddressSanitizer maps and unmaps such blocks page by page, and their shadow with them, which costs many times what
// the reading of a small file does. Here it is told of them instead: the bytes right before and behind a block are
// poisoned, and the first ones of a block that was given back. What is lost: such a block is handed out again at once.
// Its leaks are found all the same, for there are few blocks to give.
#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

// AddressSanitizer's own, for which malloc() and so on are weak names.
extern "C" void* __interceptor_malloc(size_t bytes);
extern "C" void* __interceptor_calloc(size_t count, size_t bytes);
extern "C" void* __interceptor_realloc(void* memory, size_t bytes);
extern "C" void __interceptor_free(void* memory);

namespace {

constexpr size_t kLarge = 64 << 10, kMost = 4 << 20;
constexpr size_t kGuard = 4096;      // bytes before and behind a block that are always poisoned
constexpr size_t kFreeBytes = 4096;  // bytes at the beginning of a block that are poisoned while nobody has it
static_assert(kFreeBytes <= kLarge);

struct Block {
  uint8_t* memory = nullptr;
  size_t bytes = 0;
  bool used = false;
};
Block blocks[64];

Block* find(const void* memory) {
  if (memory == nullptr || reinterpret_cast<uintptr_t>(memory) % kGuard != 0) return nullptr;
  for (Block& block : blocks) {
    if (block.memory == memory) return &block;
  }
  return nullptr;
}

bool is_ours(size_t bytes) { return bytes >= kLarge && bytes <= kMost; }

// Null when there are 64 of other sizes.
void* take(size_t bytes) {
  for (Block& block : blocks) {
    if (block.used || (block.memory != nullptr && block.bytes != bytes)) continue;
    if (block.memory == nullptr) {
      auto* const whole = static_cast<uint8_t*>(__interceptor_malloc(bytes + 3 * kGuard));
      if (whole == nullptr) return nullptr;
      auto* const aligned = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(whole) + kGuard - 1) & -kGuard);
      block = {aligned + kGuard, bytes, false};
      ASAN_POISON_MEMORY_REGION(aligned, kGuard);
      ASAN_POISON_MEMORY_REGION(block.memory + bytes, kGuard);
    }
    block.used = true;
    ASAN_UNPOISON_MEMORY_REGION(block.memory, kFreeBytes);
    return block.memory;
  }
  return nullptr;
}

void give_back(Block& block) {
  if (!block.used) std::abort();  // twice
  block.used = false;
  ASAN_POISON_MEMORY_REGION(block.memory, kFreeBytes);
}

}  // namespace

extern "C" void* malloc(size_t bytes) {
  void* const memory = is_ours(bytes) ? take(bytes) : nullptr;
  return memory != nullptr ? memory : __interceptor_malloc(bytes);
}
extern "C" void* calloc(size_t count, size_t bytes) {
  size_t all = 0;
  void* const memory = !__builtin_mul_overflow(count, bytes, &all) && is_ours(all) ? take(all) : nullptr;
  return memory != nullptr ? std::memset(memory, 0, all) : __interceptor_calloc(count, bytes);
}
extern "C" void free(void* memory) {
  if (Block* const block = find(memory)) {
    give_back(*block);
  } else {
    __interceptor_free(memory);
  }
}
extern "C" void* realloc(void* memory, size_t bytes) {
  Block* const block = find(memory);
  if (block == nullptr) return __interceptor_realloc(memory, bytes);
  void* const other = malloc(bytes);
  if (other == nullptr) return nullptr;
  std::memcpy(other, memory, std::min(bytes, block->bytes));
  give_back(*block);
  return other;
}

void* operator new[](size_t bytes) {
  void* const memory = malloc(bytes);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete[](void* memory) noexcept { free(memory); }
void operator delete[](void* memory, size_t) noexcept { free(memory); }
