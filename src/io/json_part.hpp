// Reading a JSON file whose every value is expected: a wrong one is refused by its name.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

/// A part of the file and its name. All members are optional unless stated otherwise.
class JsonPart {
 public:
  JsonPart(const std::string& path, const nlohmann::json& json, std::string where)
      : path_(path), json_(json), where_(std::move(where)) {}

  /// A misspelt key must not silently give the default.
  void expect_keys(std::initializer_list<std::string_view> known) const {
    if (!json_.is_object()) refuse_type("an object in braces");
    for (const auto& item : json_.items()) {
      if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
      throw InputError(path_, fmt::format("{} is unknown", member_name(nlohmann::json(item.key()).dump())),
                       fmt::format("known are {}", fmt::join(known, ", ")));
    }
  }

  /// Calls use(part) if there is such a member.
  template <class Use>
  void with(const char* key, const Use& use) const {
    if (const auto found = json_.find(key); found != json_.end()) use(JsonPart(path_, *found, member_name(key)));
  }
  template <class Use>
  void for_each_of(const char* key, const Use& use) const {
    with(key, [&](const JsonPart& list) {
      if (!list.json_.is_array()) list.refuse_type("a list in brackets");
      for (std::size_t i = 0; i < list.json_.size(); ++i) {
        use(JsonPart(path_, list.json_[i], fmt::format("{}[{}]", list.where_, i)));
      }
    });
  }
  [[nodiscard]] JsonPart needed(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) throw InputError(path_, fmt::format("{} is missing", member_name(key)));
    return {path_, *found, member_name(key)};
  }

  [[nodiscard]] double number() const {
    if (!json_.is_number()) refuse_type("a number");
    return json_.get<double>();
  }
  [[nodiscard]] std::uint64_t whole_number() const {
    if (!json_.is_number_unsigned()) refuse_type("a whole number from 0 on");
    return json_.get<std::uint64_t>();
  }
  [[nodiscard]] bool truth() const {
    if (!json_.is_boolean()) refuse_type("true or false");
    return json_.get<bool>();
  }
  [[nodiscard]] std::string text() const {
    if (!json_.is_string()) refuse_type("a string");
    return json_.get<std::string>();
  }

  [[noreturn]] void refuse_type(const std::string& expected) const {
    const std::string is = json_.is_object() ? "an object" : json_.is_array() ? "a list" : json_.dump();
    throw InputError(path_, fmt::format("{} is {}", where_.empty() ? "the whole" : where_, is),
                     fmt::format("it must be {}", expected));
  }

 private:
  [[nodiscard]] std::string member_name(const std::string& key) const {
    return where_.empty() ? key : fmt::format("{}.{}", where_, key);
  }

  const std::string& path_;
  const nlohmann::json& json_;
  std::string where_;
};

/// Throws InputError naming the path.
[[nodiscard]] std::string text_of_json_file(const std::filesystem::path& path);
/// Throws InputError naming `path` if the text is not JSON, or an object of it has a key twice.
[[nodiscard]] nlohmann::json parsed_json(const std::string& text, const std::string& path);

}  // namespace fedsinkhorn
