// The privacy of a private run: as JSON, and for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// "privacy" of summary.json.
[[nodiscard]] nlohmann::ordered_json privacy_json(const PrivacyReport& report);

/// Lines of a table: a name and a text each.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> privacy_lines(const PrivacyReport& report);

/// What the run guarantees, in one sentence; "NOT private" first if it guarantees nothing.
[[nodiscard]] std::string privacy_claim(const PrivacyReport& report);

}  // namespace fedsinkhorn
