// docs/summary.schema.json and docs/risk-summary.schema.json: every summary must follow that of its command.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fedsinkhorn::testing {

/// What a summary has that the schema does not allow, a line each; empty if it follows the schema.
[[nodiscard]] std::string schema_violations(const nlohmann::json& summary);

}  // namespace fedsinkhorn::testing
