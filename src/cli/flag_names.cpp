#include "cli/flag_names.hpp"

#include "options/option_table.hpp"

namespace fedsinkhorn {
namespace {

/// Empty if there is no such field.
std::string flag_of(const std::string& field) {
  // Fields of other structs.
  for (const char* other : {"metric", "scenario", "key", "fingerprints", "radius", "lambda"}) {
    if (field == other) return "--" + field;
  }
  if (field == "cost") return "--cost";
  if (field == "is_part") return "{client}";
  if (field == "may_stay") return "--stay";
  if (field == "are_gains") return "--gains";
  if (field == "cvar_level") return "--loss";
  const OptionEntry* option = find_option(field);
  return option == nullptr ? "" : option->main_flag();
}

}  // namespace

std::string with_flags(const std::string& line) {
  std::string result = line;
  for (std::size_t begin = result.find('`'); begin != std::string::npos; begin = result.find('`', begin)) {
    const std::size_t end = result.find('`', begin + 1);
    if (end == std::string::npos) break;
    const std::string flag = flag_of(result.substr(begin + 1, end - begin - 1));
    if (!flag.empty()) result.replace(begin, end + 1 - begin, flag);
    begin += flag.empty() ? 1 : flag.size();
  }
  return result;
}

}  // namespace fedsinkhorn
