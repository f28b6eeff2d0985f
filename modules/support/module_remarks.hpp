// What is allowed about a filter module as it is used, and yet hardly meant: said before it judges anything, in the
// same words wherever it judges.
#pragma once
#include <string>
#include <vector>

#include "engine/diagnostic.hpp"

namespace trama {

struct ModuleUse {
  std::string object;                 // as the user wrote it
  bool in_kernel = false;             // else a stage runs it
  bool meanings_said = true;          // by the module's declaration, or by the stage's parameters
  std::vector<std::string> unfilled;  // maps that it judges by, when nothing is in any of them
  Place place;                        // of the object
};

// Maps without contents are warned of. That verdicts get their standard meanings is noted.
Diagnostics remarks_on(const ModuleUse& use);

}  // namespace trama
