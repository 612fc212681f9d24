// JSON files that runs have left, and that somebody else may have damaged: what is missing or of another type is named.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include "report/page.hpp"

namespace fedsinkhorn::report {

/// What is wrong with a record; names the file or key.
class RecordError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Members of an object. They throw a RecordError if the key is missing or has another type.
[[nodiscard]] const Json& member(const Json& object, std::string_view key);
/// NaN for null.
[[nodiscard]] double number(const Json& object, std::string_view key);
/// Not negative.
[[nodiscard]] std::uint64_t count(const Json& object, std::string_view key);
[[nodiscard]] std::string text(const Json& object, std::string_view key);
[[nodiscard]] const Json& array(const Json& object, std::string_view key);
[[nodiscard]] bool has(const Json& object, std::string_view key);

/// The bytes of a file. Throws RecordError naming the file if it cannot be read or is too large to be ours.
[[nodiscard]] std::string file_content(const std::filesystem::path& path);
/// Throws RecordError naming the file, and the byte at which it is no longer JSON.
[[nodiscard]] Json parsed_file(const std::filesystem::path& path);

}  // namespace fedsinkhorn::report
