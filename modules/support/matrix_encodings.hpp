// Which encodings the stages of a graph serialize matrices in, so that a stage that takes some of them only can refuse
// the others at setup.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engine/diagnostic.hpp"
#include "libclient/formats/compact.hpp"

namespace trama {

// Used at setup, by one thread. Stages are made after those that feed them: who asks finds all that stand in front of
// it, and may find stages of other branches too, since links are not known here.
class MatrixEncodings {
 public:
  struct Writer {
    std::string stage;  // its name
    MatrixEncoding encoding;
    Place place;  // of what chose the encoding
  };

  void add(Writer writer) { writers_.push_back(std::move(writer)); }

  // A stage that writes something else than `encoding`, if there is one.
  std::optional<Writer> other_than(MatrixEncoding encoding) const {
    for (const Writer& writer : writers_)
      if (writer.encoding != encoding) return writer;
    return std::nullopt;
  }

 private:
  std::vector<Writer> writers_;
};

}  // namespace trama
