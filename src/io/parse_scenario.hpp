// A scenario from the text of a file, before it is known how many clients there will be.
#pragma once

#include <string>

#include "fedsinkhorn/scenario.hpp"

namespace fedsinkhorn {

/// Throws InputError naming `name` if it is none, or makes no sense.
[[nodiscard]] Scenario parse_scenario(const std::string& text, const std::string& name);

}  // namespace fedsinkhorn
