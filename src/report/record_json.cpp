#include "report/record_json.hpp"

#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <sstream>

namespace fedsinkhorn::report {
namespace {

namespace fs = std::filesystem;

/// Files larger than this are not what a run has written.
constexpr std::uintmax_t kMostBytes = std::uintmax_t{512} << 20U;

}  // namespace

bool has(const Json& object, std::string_view key) { return object.is_object() && object.contains(key); }

const Json& member(const Json& object, std::string_view key) {
  if (!has(object, key)) throw RecordError(fmt::format("'{}' is missing", key));
  return object.at(std::string(key));
}

double number(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) throw RecordError(fmt::format("'{}' is not a number", key));
  return value.get<double>();
}

std::uint64_t count(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  if (!value.is_number_unsigned()) throw RecordError(fmt::format("'{}' is not a count", key));
  return value.get<std::uint64_t>();
}

std::string text(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  if (!value.is_string()) throw RecordError(fmt::format("'{}' is not a text", key));
  return value.get<std::string>();
}

const Json& array(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  if (!value.is_array()) throw RecordError(fmt::format("'{}' is not a list", key));
  return value;
}

std::string file_content(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_regular_file(path, failure)) throw RecordError(path.filename().string() + ": not found");
  if (fs::file_size(path, failure) > kMostBytes) throw RecordError(path.filename().string() + ": too large");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  if (!file) throw RecordError(path.filename().string() + ": cannot be read");
  return std::move(all).str();
}

Json parsed_file(const fs::path& path) {
  try {
    return Json::parse(file_content(path));
  } catch (const Json::parse_error& error) {
    throw RecordError(fmt::format("{}: not JSON, or truncated, at byte {}", path.filename().string(), error.byte));
  }
}

}  // namespace fedsinkhorn::report
