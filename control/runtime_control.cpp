#include "control/runtime_control.hpp"

#include <filesystem>
#include <system_error>

namespace trama {

Expected<std::string> RuntimeControl::rotate_key(const KeyChoice& choice) {
  if (choice.file.empty()) return keys_->rotate(std::nullopt);
  std::error_code ignored;
  const auto kind = std::filesystem::status(choice.file, ignored).type();
  if (kind != std::filesystem::file_type::regular && std::filesystem::exists(choice.file, ignored))
    return failure("a running engine takes its key from a regular file", "", {choice.file, 0});
  return keys_->rotate(choice.file);
}

Expected<void> RuntimeControl::flush() {
  const auto flushed = rules_->flush();
  if (!flushed) return tl::unexpected(flushed.error());
  return {};
}

}  // namespace trama
