// The file that --summary names: judged before the run, written after it.
#pragma once
#include <string>
#include <vector>

#include "engine/diagnostic.hpp"

namespace trama {

class SummaryFile {
 public:
  // `path` "-" is standard output. Refused: a folder; a file that the run reads or writes, by whichever name; a file
  // that exists, isn't empty and isn't an earlier summary; a folder that can't be written or isn't there, unless it is
  // `output_folder`, which the run makes.
  static Expected<SummaryFile> judge(const std::string& path, const std::vector<std::string>& used,
                                     const std::string& output_folder);

  // Under a name of its own first, then renamed, so that nobody ever reads half a summary. Devices and FIFOs are
  // written as they are.
  Expected<void> write(const std::string& json) const;

 private:
  explicit SummaryFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace trama
