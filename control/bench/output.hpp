// Files that `trama bench` makes: judged before minutes are spent on measuring, written after it.
#pragma once
#include <string>

#include "engine/diagnostic.hpp"

namespace trama {

// `option` for messages ("--json"). Refused: a folder, a file that exists and isn't empty (it may be worth keeping), a
// place where no file can be made. Devices, pipes and FIFOs are written as they are.
Expected<void> judge_output(const std::string& path, const char* option);
// Makes the file; it must still not be there. What was written in part is removed.
Expected<void> write_output(const std::string& path, const std::string& bytes);

}  // namespace trama
