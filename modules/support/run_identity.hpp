// What a run is called in manifests and in the summary; filled by the command before stages are made.
#pragma once
#include <string>

namespace trama {

struct RunIdentity {
  std::string graph;  // SHA-256 of the canonical graph, in hexadecimal; empty when nobody has said
};

}  // namespace trama
