// The names an option accepts: enumerators and registered names.
#pragma once

#include <string>
#include <vector>

#include "options/option_table.hpp"

namespace fedsinkhorn {

/// Empty for an option that takes no names.
[[nodiscard]] std::vector<std::string> names_of_option(const OptionEntry& option);

}  // namespace fedsinkhorn
