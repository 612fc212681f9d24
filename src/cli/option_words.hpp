// The names and values of an option, read from its definition.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace fedsinkhorn {

/// "-h", "--help": short names, the main name, then its aliases.
[[nodiscard]] inline std::vector<std::string> words_of_option(const CLI::Option& option) {
  std::vector<std::string> words;
  for (const std::string& name : option.get_snames()) words.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) words.push_back("--" + name);
  return words;
}

[[nodiscard]] inline bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

/// The choices of an option of type "{a,b,c}"; none for other types.
[[nodiscard]] inline std::vector<std::string> choices_of_option(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (!type.starts_with('{') || !type.ends_with('}')) return {};
  return CLI::detail::split(type.substr(1, type.size() - 2), ',');
}

/// All of them, whether they were given or not.
[[nodiscard]] inline std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
  return app.get_subcommands({});
}

/// Old names have no description: they work but are not shown. (CLI11 hides options without a group, but then also
/// omits their names from errors.)
[[nodiscard]] inline bool is_old_name(const CLI::Option* option) { return option->get_description().empty(); }

/// --help without old names.
class HelpFormatter : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_group(std::string group, bool is_positional,
                                       std::vector<const CLI::Option*> options) const override {
    std::erase_if(options, is_old_name);
    return CLI::Formatter::make_group(std::move(group), is_positional, std::move(options));
  }
};

[[nodiscard]] inline std::vector<const CLI::Option*> named_options(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) {
    return option->nonpositional() && !option->get_group().empty() && !is_old_name(option);
  });
}

}  // namespace fedsinkhorn
