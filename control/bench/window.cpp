#include "control/bench/window.hpp"

#include <cstring>
#include <optional>

#include "control/bench/graphblas.hpp"
#include "libclient/formats/blob.hpp"
#include "libclient/formats/tar_writer.hpp"
#include "modules/support/matrix_sorter.hpp"
#include "modules/support/window_anonymizer.hpp"

namespace trama {
namespace {

class OwnWorker final : public WindowWorker {
 public:
  OwnWorker(size_t most_packets, const CryptoPan* crypto_pan)
      : crypto_pan_(crypto_pan),
        builder_(most_packets),
        sorter_(most_packets),
        matrix_(most_packets),
        writer_(most_packets),
        memory_(2 * LazyMemory::bytes_of<uint32_t>(most_packets) + LazyMemory::bytes_of<uint8_t>(writer_.bound())),
        source_(memory_.take<uint32_t>(most_packets)),
        destination_(memory_.take<uint32_t>(most_packets)),
        blob_(memory_.take<uint8_t>(writer_.bound()), writer_.bound()),
        summed_(most_packets) {
    if (crypto_pan_ != nullptr) anonymizer_.emplace(most_packets);
  }

  std::span<const uint8_t> blob_of(const WindowView& window) override {
    if (!anonymizer_)
      builder_.build(window.source, window.destination, window.packets, IndexOrder::numeric, matrix_);
    else if (anonymizer_->anonymize(*crypto_pan_, window.source, window.destination, window.packets, source_,
                                    destination_, summed_))
      sorter_.sort(summed_.view(), IndexOrder::numeric, matrix_);
    else
      builder_.build(source_, destination_, window.packets, IndexOrder::numeric, matrix_);
    return blob_.first(writer_.write(matrix_.view(), blob_));
  }

 private:
  const CryptoPan* crypto_pan_;
  std::optional<WindowAnonymizer> anonymizer_;
  MatrixBuilder builder_;
  MatrixSorter sorter_;
  MatrixStorage matrix_;
  BlobWriter writer_;
  LazyMemory memory_;
  uint32_t *source_, *destination_;
  std::span<uint8_t> blob_;
  MatrixStorage summed_;
};

class PublishedWorker final : public WindowWorker {
 public:
  PublishedWorker(size_t most_packets, const AddressTable* table)
      : table_(table), source_(most_packets), destination_(most_packets), window_(most_packets) {}

  std::span<const uint8_t> blob_of(const WindowView& window) override {
    for (size_t i = 0; i < window.packets; ++i) {
      source_[i] = table_ != nullptr ? table_->image(window.source[i]) : window.source[i];
      destination_[i] = table_ != nullptr ? table_->image(window.destination[i]) : window.destination[i];
    }
    if (!window_.build(source_.data(), destination_.data(), window.packets)) return {};
    return window_.serialize();
  }

 private:
  const AddressTable* table_;
  std::vector<uint64_t> source_, destination_;
  GraphBlasWindow window_;
};

}  // namespace

std::unique_ptr<WindowWorker> make_own_worker(size_t most_packets, const CryptoPan* crypto_pan) {
  return std::make_unique<OwnWorker>(most_packets, crypto_pan);
}

std::unique_ptr<WindowWorker> make_published_worker(size_t most_packets, const AddressTable* table) {
  return std::make_unique<PublishedWorker>(most_packets, table);
}

Expected<void> same_matrices(std::span<const uint8_t> ours, std::span<const uint8_t> theirs) {
  const auto own = read_blob(ours);
  if (!own) return failure("our blob can't be read: " + own.error().text);
  const auto other = read_blob(theirs);
  if (!other) return failure("the baseline's blob can't be read: " + other.error().text);
  if (*own == *other) return {};
  return failure("ours and the baseline make different matrices of the same pairs, so that nothing was measured",
                 "this is a fault of this program: please report it with the output of `trama doctor`");
}

MemoryTar::MemoryTar(size_t windows, size_t most_packets)
    : windows_(windows),
      capacity_(windows * (blob_bound(most_packets) + 2 * kTarBlockBytes) + kTarEnd.size()),
      memory_(LazyMemory::bytes_of<uint8_t>(capacity_)),
      archive_(memory_.take<uint8_t>(capacity_)) {}

bool MemoryTar::append(std::span<const uint8_t> blob) {
  if (members_ == windows_) used_ = members_ = 0;
  const auto header = make_tar_header(window_member_name(members_), blob.size(), 0);
  const size_t bytes = kTarBlockBytes + blob.size() + (header ? header->padding_bytes : 0) + kTarEnd.size();
  if (blob.empty() || !header || used_ + bytes > capacity_) return false;
  const auto put = [&](const uint8_t* from, size_t count) {
    std::memcpy(archive_ + used_, from, count);
    used_ += count;
  };
  put(header->block.data(), kTarBlockBytes);
  put(blob.data(), blob.size());
  put(kTarEnd.data(), header->padding_bytes);
  if (++members_ == windows_) put(kTarEnd.data(), kTarEnd.size());
  return true;
}

}  // namespace trama
