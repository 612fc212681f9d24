// Profiles as text.
#pragma once

#include <string>

#include "fedsinkhorn/cost_model.hpp"

namespace fedsinkhorn {

/// Throws InputError naming `name` and the key.
[[nodiscard]] Profile parse_profile(const std::string& text, const std::string& name);
[[nodiscard]] std::string profile_text(const Profile& profile);

}  // namespace fedsinkhorn
