#include "io/json_part.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>
#include <vector>

namespace fedsinkhorn {
namespace {

/// By default the parser silently keeps the last of several members with the same name.
class RefusesRepeatedKeys {
 public:
  explicit RefusesRepeatedKeys(const std::string& path) : path_(path) {}

  bool operator()(int /*depth*/, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    if (event == nlohmann::json::parse_event_t::object_start) open_.emplace_back();
    if (event == nlohmann::json::parse_event_t::object_end) open_.pop_back();
    if (event == nlohmann::json::parse_event_t::key && !open_.back().insert(parsed.get<std::string>()).second) {
      throw InputError(path_, fmt::format("the key {} is there twice in one object", parsed.dump()), "leave one");
    }
    return true;
  }

 private:
  const std::string& path_;
  std::vector<std::set<std::string>> open_;  // keys of the objects being parsed
};

}  // namespace

std::string text_of_json_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw InputError(path.string(), "is a folder", "give a JSON file");
  // A pipe may never end.
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    throw InputError(path.string(), "is not a regular file", "give a JSON file on a disk");
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(path.string(), "cannot be opened: " + std::generic_category().message(errno));
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) throw InputError(path.string(), "cannot be read: " + std::generic_category().message(errno));
  return text;
}

nlohmann::json parsed_json(const std::string& text, const std::string& path) {
  try {
    return nlohmann::json::parse(text, RefusesRepeatedKeys(path));
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
    const auto before = std::string_view(text).substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t column = at - (before.find('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1) + 1;
    throw InputError(path, fmt::format("is not JSON from line {}, column {} on", line, column));
  } catch (const nlohmann::json::exception&) {
    throw InputError(path, "has a number that is too large");
  }
}

}  // namespace fedsinkhorn
