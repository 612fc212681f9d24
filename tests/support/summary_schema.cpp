#include "support/summary_schema.hpp"

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#ifndef FEDSINKHORN_SCHEMAS
#error "FEDSINKHORN_SCHEMAS must name the folder of the schemas"
#endif

namespace fedsinkhorn::testing {
namespace {

using valijson::adapters::NlohmannJsonAdapter;

std::unique_ptr<const valijson::Schema> parsed(const std::string& name) {
  const auto text = nlohmann::json::parse(std::ifstream(FEDSINKHORN_SCHEMAS "/" + name));
  auto result = std::make_unique<valijson::Schema>();
  valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(NlohmannJsonAdapter(text), *result);
  return result;
}

/// That of the command which has written the summary.
const valijson::Schema& schema_for(const nlohmann::json& summary) {
  static const auto of_solve = parsed("summary.schema.json");
  static const auto of_risk = parsed("risk-summary.schema.json");
  return summary.contains("formulation") ? *of_risk : *of_solve;
}

}  // namespace

std::string schema_violations(const nlohmann::json& summary) {
  valijson::ValidationResults results;
  if (valijson::Validator().validate(schema_for(summary), NlohmannJsonAdapter(summary), &results)) return "";
  std::string lines;
  for (const auto& error : results) {
    for (const std::string& step : error.context) lines += step;
    lines += ": " + error.description + "\n";
  }
  return lines;
}

}  // namespace fedsinkhorn::testing
