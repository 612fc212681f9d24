#include "cli/completion.hpp"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "cli/option_words.hpp"

namespace fedsinkhorn {
namespace {

// Completion depends on the command and on the option before the cursor. bash splits --topology=star at the "=".
constexpr std::string_view kBegin = R"(# Completion for bash, written by '{0} completion bash'.
_{0}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command= words= k
  if [[ $word == = ]]; then
    word=
  elif [[ $before == = ]]; then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((k = 1; k < COMP_CWORD; ++k)); do
    if [[ ${{COMP_WORDS[k]}} != -* ]]; then
      command+=${{command:+ }}${{COMP_WORDS[k]}}
      [[ " {1} " == *" $command "* ]] || break # others take no command after them
    fi
  done
  COMPREPLY=()
  case "$command $before" in
)";

constexpr std::string_view kEnd = R"(  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o default -F _{0} {0}
)";

std::string joined(const std::vector<std::string>& words, const std::string& separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

std::string in_quotes(const std::string& text) { return "'" + text + "'"; }

/// Completes the value of an option.
std::string values(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto paths = [](const char* kind) {
    return fmt::format("compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen {} -- \"$word\"); return",
                       kind);
  };
  if (type == "FILE") return paths("-f");
  if (type == "DIR") return paths("-d");
  const std::vector<std::string> choices = choices_of_option(option);
  return choices.empty() ? "return" : "words=" + in_quotes(joined(choices, " "));
}

/// Main names only: an alias would keep the shell from completing.
std::string option_names(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::Option* option : named_options(app)) {
    if (!option->get_lnames().empty()) words.push_back("--" + option->get_lnames().front());
  }
  return joined(words, " ");
}

/// name: with that of the command it belongs to, "privacy explain".
std::string cases_of(const CLI::App& command, const std::string& name) {
  std::string text;
  std::vector<std::string> inner_names;
  for (const CLI::App* inner : shown_commands(command)) {
    inner_names.push_back(inner->get_name());
    text += cases_of(*inner, name + " " + inner->get_name());
  }
  for (const CLI::Option* option : named_options(command)) {
    if (!takes_value(*option)) continue;
    std::vector<std::string> patterns;
    for (const std::string& word : words_of_option(*option)) {
      patterns.push_back(fmt::format("'{} {}'", name, word));
    }
    text += fmt::format("    {}) {} ;;\n", joined(patterns, " | "), values(*option));
  }
  inner_names.push_back(option_names(command));
  std::string words = joined(inner_names, " ");
  for (const CLI::Option* option : command.get_options([](const CLI::Option* o) { return o->get_positional(); })) {
    words = fmt::format("{} {}", joined(choices_of_option(*option), " "), words);
  }
  return text + fmt::format("    '{} '*) words={} ;;\n", name, in_quotes(words));
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
  std::vector<std::string> commands;
  std::vector<std::string> with_commands;
  std::string cases;
  for (const CLI::App* command : shown_commands(app)) {
    commands.push_back(command->get_name());
    if (!shown_commands(*command).empty()) with_commands.push_back(command->get_name());
    cases += cases_of(*command, command->get_name());
  }
  cases += fmt::format("    ' '*) words={} ;;\n", in_quotes(joined(commands, " ") + " " + option_names(app)));
  return fmt::format(kBegin, app.get_name(), joined(with_commands, " ")) + cases + fmt::format(kEnd, app.get_name());
}

}  // namespace fedsinkhorn
