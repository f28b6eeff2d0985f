#include "libclient/formats/archive_verify.hpp"

#include <sys/stat.h>

#include <new>
#include <system_error>

#include "libclient/formats/archive_reader.hpp"
#include "libclient/formats/blob.hpp"
#include "libclient/formats/file_bytes.hpp"
#include "libclient/formats/manifest.hpp"
#include "libclient/formats/matrix_sum.hpp"
#include "libclient/formats/tar_layout.hpp"

namespace trama {
namespace {

namespace fs = std::filesystem;

class Verifier {
 public:
  Verifier(const fs::path& path, SpecialFiles special) : special_(special) { report_.path = path; }

  VerifyReport run() {
    try {
      load_manifest();
      check_rules();
      if (report_.has_manifest) check_manifest();
      check_members();
    } catch (const std::bad_alloc&) {
      problem("not enough memory for it");
    }
    return std::move(report_);
  }

 private:
  void problem(std::string text) { report_.problems.push_back(std::move(text)); }
  void note(std::string text) { report_.notes.push_back(std::move(text)); }

  void load_manifest() {
    auto manifest = load_manifest_of(report_.path);
    if (manifest && !*manifest) return note("no manifest: lengths, checksums and counts can't be compared");
    report_.has_manifest = true;
    if (!manifest) return problem(manifest.error().text);
    manifest_ = std::move(**manifest);
    readable_ = true;
    if (manifest_.recovered) note("recovered after its writer was killed");
  }

  void check_rules() {
    // What isn't a regular file is read once only; if it can't be, the reader says why.
    std::error_code error;
    if (!fs::is_regular_file(report_.path, error)) return;
    const auto opened = open_to_read(report_.path, SpecialFiles::refused);
    struct stat status {};
    if (!opened || fstat(opened->get(), &status) != 0) return;
    const FileDescriptor& file = *opened;
    const auto file_bytes = static_cast<uint64_t>(status.st_size);
    std::array<uint8_t, sizeof(uint64_t)> head{};
    if (file_bytes > head.size() && read_at(file.get(), 0, head) && looks_like_blob(head, file_bytes)) {
      return note("a single blob, not an archive");
    }
    TarLayout layout = read_tar_layout(file.get(), file_bytes);
    for (size_t i = 0; i < layout.entries.size(); ++i) {
      const std::string expected = window_member_name(i);
      if (layout.entries[i].name == expected) continue;
      layout.problems.push_back("member " + std::to_string(i) + " is called " + layout.entries[i].name + ", not " +
                                expected);
    }
    for (std::string& departure : layout.problems) {
      report_.has_manifest ? problem(std::move(departure)) : note(std::move(departure));
    }
  }

  // What the manifest says about itself.
  void check_manifest() {
    for (size_t i = 0; i < manifest_.windows.size(); ++i) {
      const ManifestWindow& window = manifest_.windows[i];
      if (window.member != window_member_name(i))
        problem("manifest: window " + std::to_string(i) + " is not in member order");
      if (window.verdicts.counted != window.packets)
        problem(window.member + ": the manifest counts two numbers of packets");
      if (window.closed_by == ClosedBy::full && window.packets != manifest_.header.window_packets) {
        problem(window.member + ": a full window without window_packets packets");
      }
      if (i == 0) continue;
      const uint64_t before = manifest_.windows[i - 1].seq;
      if (window.seq <= before) problem(window.member + ": window numbers don't ascend");
      if (window.seq > before + 1)
        note("windows " + std::to_string(before + 1) + " to " + std::to_string(window.seq - 1) + " were not written");
    }
  }

  void check_members() {
    auto reader = ArchiveReader::open(report_.path, kMaxMemberBytes, special_);
    if (!reader) return problem(reader.error().text);
    Member member;
    size_t index = 0;
    for (;; ++index) {
      const auto more = reader->next(member);
      if (!more) return problem(more.error().text);
      if (!*more) break;
      check_member(member, index);
    }
    if (index == 0) problem("no window in the archive");
    if (readable_ && index != manifest_.windows.size()) {
      problem("the archive has " + std::to_string(index) + " members, its manifest " +
              std::to_string(manifest_.windows.size()));
    }
  }

  void check_member(const Member& member, size_t index) {
    const ManifestWindow* window = readable_ && index < manifest_.windows.size() ? &manifest_.windows[index] : nullptr;
    if (window != nullptr && window->bytes != member.bytes.size())
      problem(member.name + ": its length is not the manifest's");
    if (window != nullptr && window->xxh3_128 != xxh3_128_hex(member.bytes))
      problem(member.name + ": its checksum is not the manifest's");
    const auto matrix = read_blob(member.bytes);
    if (!matrix) return problem(member.name + ": " + matrix.error().text);
    uint64_t packets = 0;
    for (const uint64_t count : matrix->count) packets = add_saturating(packets, count);
    ++report_.windows;
    report_.packets = add_saturating(report_.packets, packets);
    report_.links += matrix->links();
    if (window == nullptr) return;
    if (window->packets != packets) problem(member.name + ": its packets are not the manifest's");
    if (window->links != matrix->links()) problem(member.name + ": its links are not the manifest's");
  }

  const SpecialFiles special_;
  VerifyReport report_;
  Manifest manifest_;
  bool readable_ = false;  // the manifest
};

}  // namespace

VerifyReport verify_archive(const fs::path& path, SpecialFiles special) { return Verifier(path, special).run(); }

}  // namespace trama
