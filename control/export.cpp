// trama export: the links of all windows given, summed, as text for other programs.
#include <array>

#include "control/archive_input.hpp"
#include "control/data_output.hpp"
#include "control/terminal.hpp"
#include "control/verbs.hpp"
#include "libclient/formats/matrix_sum.hpp"

namespace trama {
namespace {

enum class Form { dotted, numeric, matrix_market };

// 1.2.3.4 of the index that the order gives it; returns the end.
char* write_address(char* at, uint32_t index, bool raw) {
  if (raw) index = __builtin_bswap32(index);
  for (int shift = 24; shift >= 0; shift -= 8) {
    const uint32_t byte = index >> shift & 255;
    if (byte >= 100) *at++ = static_cast<char>('0' + byte / 100);
    if (byte >= 10) *at++ = static_cast<char>('0' + byte / 10 % 10);
    *at++ = static_cast<char>('0' + byte % 10);
    if (shift > 0) *at++ = '.';
  }
  return at;
}

class Links {
 public:
  Links(DataOutput& output, Form form, bool raw) : output_(output), form_(form), raw_(raw) {}

  void write(const Matrix& matrix) {
    if (form_ == Form::matrix_market) {
      // Matrix Market exchange format (NIST): coordinates count from 1.
      output_.write("%%MatrixMarket matrix coordinate integer general\n4294967296 4294967296 " +
                    std::to_string(matrix.links()) + "\n");
    } else {
      output_.write("source,destination,packets\n");
    }
    const char between = form_ == Form::matrix_market ? ' ' : ',';
    for (size_t row = 0; row < matrix.rows() && output_.alive(); ++row) {
      for (uint64_t i = matrix.start[row]; i < matrix.start[row + 1]; ++i) {
        index(matrix.row[row]);
        output_.write(between);
        index(matrix.column[i]);
        output_.write(between);
        output_.number(matrix.count[i]);
        output_.write('\n');
      }
    }
  }

 private:
  void index(uint32_t value) {
    if (form_ == Form::dotted) {
      std::array<char, 16> text;
      output_.write({text.data(), static_cast<size_t>(write_address(text.data(), value, raw_) - text.data())});
    } else {
      output_.number(uint64_t{value} + (form_ == Form::matrix_market ? 1 : 0));
    }
  }

  DataOutput& output_;
  const Form form_;
  const bool raw_;
};

// Which index order dotted addresses are to be read from; nothing: that can't be said.
std::optional<bool> is_raw(const ArchiveInput& input, const std::optional<std::string>& wanted, Form form) {
  if (input.has_mixed_index_orders()) {
    print_error("these archives have different index orders and can't be summed", "export them apart");
    return std::nullopt;
  }
  if (input.has_mixed_keys())
    print_warning("these windows were made under different keys: their sum means nothing", "export them apart");
  if (input.index_order()) return *input.index_order() == "raw";
  if (wanted) return *wanted == "raw";
  if (form == Form::dotted)
    print_note(
        "no manifest says which index order this is; 0x01020304 is taken for 1.2.3.4",
        "give --index-order raw where it is 4.3.2.1, as the CAIDA/ILANDS tools have it; --numeric leaves it open");
  return false;
}

}  // namespace

int export_verb(const Arguments& arguments) {
  bool numeric = false, matrix_market = false;
  std::optional<std::string> index_order;
  std::vector<std::string> paths;
  CommandLine line("export PATH... [--numeric|--mtx]",
                   "Prints source,destination,packets of the sum of all windows given.",
                   "  trama export trama-out > links.csv\n"
                   "  trama export --mtx out/20231114-221320-000000.8388608.tar > links.mtx\n");
  line.flag("--numeric", numeric, "indices instead of addresses");
  line.flag("--mtx", matrix_market, "Matrix Market, counted from 1");
  line.choice("--index-order", index_order, {"numeric", "raw"}, "of archives without a manifest");
  line.words(paths, "PATH", 1, SIZE_MAX);
  if (const auto ended = line.ends(arguments)) return *ended;
  if (numeric && matrix_market) return print_error("--numeric and --mtx exclude each other"), kMisused;

  ArchiveInput input(paths);
  if (!input.has_archives()) return input.status();
  const Form form = matrix_market ? Form::matrix_market : numeric ? Form::numeric : Form::dotted;
  const auto raw = is_raw(input, index_order, form);
  if (!raw) return kMisused;
  MatrixSum sum;
  input.each([&](ArchivedWindow& window) {
    sum.add(std::move(window.matrix));
    return true;
  });
  DataOutput output;
  if (input.status() != kFailed) Links(output, form, *raw).write(sum.take());
  return output.finish() ? input.status() : kFailed;
}

}  // namespace trama
