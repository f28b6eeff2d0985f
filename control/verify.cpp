// trama verify: opens every window of archives and compares it with its manifest and the tar rules.
#include <filesystem>
#include <system_error>

#include "control/data_output.hpp"
#include "control/terminal.hpp"
#include "control/verbs.hpp"
#include "libclient/formats/archive_finish.hpp"
#include "libclient/formats/archive_recover.hpp"
#include "libclient/formats/archive_verify.hpp"
#include "libclient/formats/paths.hpp"

namespace trama {
namespace {

namespace fs = std::filesystem;

// What was found so far; the exit status follows from it.
struct Found {
  size_t sound = 0, damaged = 0, useless = 0;
  int status() const {
    if (damaged + useless == 0) return kDone;
    return sound + damaged > 0 ? kLossy : kFailed;
  }
};

bool is_part(const fs::path& path) { return is_part_name(path.filename().string()); }

// The left-overs that a PATH stands for, in the order of their names. In a folder only what is named as a writer names
// it: a folder may hold other people's *.part.
std::vector<fs::path> parts_of(const fs::path& path) {
  std::vector<fs::path> parts;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (path.extension() == ".part") parts.push_back(path);
    return parts;
  }
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
    if (is_part(entry->path())) parts.push_back(entry->path());
  std::sort(parts.begin(), parts.end());
  return parts;
}

// True if there may be an archive of it now, or an error has been said: nothing was left to make one of otherwise.
bool recover(const fs::path& part, DataOutput& output, Found& found) {
  const auto recovered = recover_part(part);
  if (!recovered) {
    ++found.useless;
    print(to_diagnostic(recovered.error()));
    return true;
  }
  if (recovered->left_alone) {
    print({Severity::note, {part.string(), 0}, "is empty and has just been made: left to its writer", ""});
    return false;
  }
  if (recovered->archive.empty()) {
    output.write(printable(part.string()) + ": nothing had been written; removed\n");
    return false;
  }
  std::string line = printable(part.string()) + ": recovered as " + printable(recovered->archive.string()) + ", " +
                     counted(recovered->windows, "window") + ", " + counted(recovered->packets, "packet");
  if (recovered->cut_bytes > 0) line += ", " + counted(recovered->cut_bytes, "byte") + " of a cut window left out";
  output.write(line + "\n");
  return true;
}

void verify(const fs::path& archive, SpecialFiles special, DataOutput& output, Found& found) {
  const VerifyReport report = verify_archive(archive, special);
  ++(report.ok() ? found.sound : report.windows > 0 ? found.damaged : found.useless);
  std::string line = printable(archive.string()) + ": " + (report.ok() ? "ok" : "damaged") + ", " +
                     counted(report.windows, "window") + ", " + counted(report.packets, "packet") + ", " +
                     counted(report.links, "link");
  if (!report.has_manifest) line += ", no manifest";
  output.write(line + "\n");
  output.flush();
  for (const std::string& problem : report.problems) print({Severity::error, {archive.string(), 0}, problem, ""});
  for (const std::string& note : report.notes) print({Severity::note, {archive.string(), 0}, note, ""});
}

void verify_path(const std::string& path, bool recovering, DataOutput& output, Found& found) {
  const std::vector<fs::path> parts = parts_of(path);
  bool only_empty_parts = recovering && !parts.empty();
  if (recovering)
    for (const fs::path& part : parts) only_empty_parts &= !recover(part, output, found);
  const bool is_left_over = !parts.empty() && parts.front() == path;
  if (is_left_over && recovering) return;
  if (is_left_over && is_part(path)) {
    ++found.useless;
    return print({Severity::error,
                  {path, 0},
                  "is an archive that is being written, or was left behind by a killed run",
                  "`trama verify --recover " + path + "` makes an archive of its whole windows"});
  }
  const auto archives = expand_archives(path);
  if (!archives) {
    if (only_empty_parts) return;  // a folder into which nothing has been written yet
    ++found.useless;
    return print(to_diagnostic(archives.error()));
  }
  if (!recovering && !parts.empty())
    print_note(path + " holds " + counted(parts.size(), "unfinished archive") + " (*.part)",
               "if no run is writing there, `trama verify --recover " + path + "` finishes them");
  for (const fs::path& archive : *archives) verify(archive, special_files(archive, path), output, found);
}

}  // namespace

int verify_verb(const Arguments& arguments) {
  bool recovering = false;
  std::vector<std::string> paths;
  CommandLine line("verify PATH... [--recover]",
                   "Opens every window and checks it against its manifest and the tar rules.",
                   "  trama verify trama-out\n"
                   "  trama verify --recover trama-out      after a killed run: makes archives of *.part\n");
  line.flag("--recover", recovering, "turn a left-over .part into an archive of its whole windows");
  line.words(paths, "PATH", 1, SIZE_MAX);
  if (const auto ended = line.ends(arguments)) return *ended;
  DataOutput output;
  Found found;
  for (const std::string& path : paths) verify_path(path, recovering, output, found);
  return output.finish() ? found.status() : kFailed;
}

}  // namespace trama
