// Parses a scenario file before the number of clients is known.
#pragma once

#include <string>

#include "fedsinkhorn/scenario.hpp"

namespace fedsinkhorn {

/// Throws InputError naming `name` if the text is not a valid scenario.
[[nodiscard]] Scenario parse_scenario(const std::string& text, const std::string& name);

}  // namespace fedsinkhorn
