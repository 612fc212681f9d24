#include "support/summary_schema.hpp"

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#ifndef FEDSINKHORN_SUMMARY_SCHEMA
#error "FEDSINKHORN_SUMMARY_SCHEMA must name the schema"
#endif

namespace fedsinkhorn::testing {
namespace {

using valijson::adapters::NlohmannJsonAdapter;

const valijson::Schema& schema() {
  static const auto parsed = [] {
    const auto text = nlohmann::json::parse(std::ifstream(FEDSINKHORN_SUMMARY_SCHEMA));
    auto result = std::make_unique<valijson::Schema>();
    valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(NlohmannJsonAdapter(text), *result);
    return result;
  }();
  return *parsed;
}

}  // namespace

std::string schema_violations(const nlohmann::json& summary) {
  valijson::ValidationResults results;
  if (valijson::Validator().validate(schema(), NlohmannJsonAdapter(summary), &results)) return "";
  std::string lines;
  for (const auto& error : results) {
    for (const std::string& step : error.context) lines += step;
    lines += ": " + error.description + "\n";
  }
  return lines;
}

}  // namespace fedsinkhorn::testing
