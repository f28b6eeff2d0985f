// Data on standard output: much of it, without stdio's locks, and with every error noticed.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/diagnostic.hpp"

namespace trama {

// A reader that has gone away (`trama inspect … | head`) is no error: it had enough. SIGPIPE must be ignored.
class DataOutput {
 public:
  explicit DataOutput(int fd = 1);
  ~DataOutput();
  DataOutput(const DataOutput&) = delete;
  DataOutput& operator=(const DataOutput&) = delete;

  void write(std::string_view text);
  void write(char c) { write(std::string_view(&c, 1)); }
  void number(uint64_t value);

  // False when nobody reads on, or nothing can be written on: what follows needn't be made.
  bool alive() const { return error_ == 0; }
  void flush();
  // Writes what is left. True unless data that somebody wanted was lost; that has then been said on stderr.
  bool finish();

 private:
  const int fd_;
  int error_ = 0;
  std::vector<char> buffer_;
};

}  // namespace trama
