// The page that `trama status` prints and `trama top` keeps drawing.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "control/engine_state.hpp"
#include "modules/support/window_log.hpp"

namespace trama {

// Rates are those between the two looks. The newest windows, `most_windows` of them, come last; the newest on top.
std::string status_page(const EngineStatus& before, const EngineStatus& now, const std::vector<FinishedWindow>& windows,
                        size_t most_windows);

// A page for a screen of so many rows and columns: lines that are too long are cut, and what doesn't fit is left out.
std::string fit_page(const std::string& page, size_t rows, size_t columns);

}  // namespace trama
