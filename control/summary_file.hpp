// The file that --summary names: judged before the run, written after it.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "engine/diagnostic.hpp"
#include "libclient/formats/file_bytes.hpp"

namespace trama {

class SummaryFile {
 public:
  // `path` "-" is standard output. Refused: a folder; a file that the run reads or writes, by whichever name; a file
  // that exists, isn't empty and isn't an earlier summary; a link to nothing; a folder that can't be written or isn't
  // there, unless it is `output_folder`, which the run makes. A link to an earlier summary stays a link.
  static Expected<SummaryFile> judge(const std::string& path, const std::vector<std::string>& used,
                                     const std::string& output_folder);

  // Under a name of its own first, then renamed, so that nobody ever reads half a summary. It goes into the folder that
  // was judged, and replaces only the file that was judged: whatever has taken the name since (a file, a link) stays,
  // and the summary isn't written. Devices and FIFOs are written as they are.
  Expected<void> write(const std::string& json) const;

 private:
  explicit SummaryFile(std::string path) : path_(std::move(path)) {}
  Expected<void> find_folder(const std::string& output_folder);
  Expected<void> judge_file() const;
  Expected<void> write_special(const std::string& json) const;
  Expected<void> write_file(const std::string& json) const;
  Expected<void> put_in_place(int folder, const std::string& temporary) const;

  std::string path_;  // as it was given
  // What stood there when it was judged, links followed; none if nothing did. Held, so that no other file gets its
  // inode number.
  FileDescriptor there_;
  bool special_ = false;               // that is a device, a pipe or a FIFO
  FileDescriptor folder_;              // of the file
  std::filesystem::path yet_to_make_;  // folders between that and the file
  std::string name_;                   // of the file in its folder
};

}  // namespace trama
