// The windows of archives, folders of archives and single blobs, one after the other: what inspect and export read.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libclient/formats/file_bytes.hpp"
#include "libclient/formats/manifest.hpp"
#include "libclient/formats/matrix.hpp"

namespace trama {

struct ArchivedWindow {
  uint64_t seq = 0;  // as the manifest says; without one, its place among all windows read
  std::string member;
  Matrix matrix;
};

// What can't be read is said on stderr, and reading goes on behind it. One window is in memory at a time.
class ArchiveInput {
 public:
  explicit ArchiveInput(const std::vector<std::string>& paths);

  // Of the manifests: "numeric" or "raw"; nothing when there is no manifest. `mixed`: they don't agree, so that a sum
  // over all windows means nothing.
  const std::optional<std::string>& index_order() const { return index_order_; }
  bool has_mixed_index_orders() const { return mixed_index_orders_; }
  bool has_mixed_keys() const { return mixed_keys_; }  // equal addresses are then different indices

  bool has_archives() const { return !archives_.empty(); }
  // `use` returns false when it needs no more.
  void each(const std::function<bool(ArchivedWindow&)>& use);

  // 0; 1 when nothing could be read; 3 when something couldn't.
  int status() const;

 private:
  struct Archive {
    std::filesystem::path path;
    SpecialFiles special;
  };
  void note(const ManifestHeader& header, const std::string& key);
  bool read_archive(const Archive& archive, const std::function<bool(ArchivedWindow&)>& use);
  void fail(const std::filesystem::path& path, FormatError error);

  std::vector<Archive> archives_;
  std::optional<std::string> index_order_, key_;
  bool mixed_index_orders_ = false, mixed_keys_ = false;
  size_t failures_ = 0, windows_ = 0;
};

}  // namespace trama
