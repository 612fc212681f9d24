#include "cli/suggestion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/option_words.hpp"
#include "options/option_table.hpp"

namespace fedsinkhorn {
namespace {

/// No option is longer. Longer words are not typing errors, and computing the distance takes quadratic time.
constexpr std::size_t kLongestName = 40;

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

/// Removes "=3" from "--tolerence=3".
std::string name_of_option(const std::string& word) { return word.substr(0, word.find('=')); }

std::string without_dashes(std::string_view word) {
  return std::string(word.substr(std::min(word.find_first_not_of('-'), word.size())));
}

bool has_option(const CLI::App& app, const std::string& name) { return app.get_option_no_throw(name) != nullptr; }

/// The main name of the nearest option, even if another of its names is nearer.
std::optional<std::string> nearest_option(const CLI::App& app, const std::string& name) {
  std::vector<std::string> names;
  std::vector<std::string> main_names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& known : option->get_lnames()) {
      names.push_back(known);
      main_names.push_back("--" + option->get_lnames().front());
    }
  }
  const std::optional<std::string> near = nearest(without_dashes(name), names);
  if (!near) return std::nullopt;
  return main_names[static_cast<std::size_t>(std::find(names.begin(), names.end(), *near) - names.begin())];
}

/// " solve", " privacy explain"; empty for the program itself.
std::string words_of_command(const CLI::App* command) {
  if (command == nullptr || command->get_parent() == nullptr) return "";
  return words_of_command(command->get_parent()) + " " + command->get_name();
}

/// The commands that were given, outer ones first.
std::vector<const CLI::App*> given_commands(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* command : app.get_subcommands()) {
    commands.push_back(command);
    for (const CLI::App* inner : given_commands(*command)) commands.push_back(inner);
  }
  return commands;
}

std::string about_option(const CLI::App& app, const CLI::App* command, const std::string& word) {
  const std::string name = name_of_option(word);
  const std::string help = fmt::format("see 'fedsinkhorn{} --help'", words_of_command(command));
  if (command == nullptr) {
    for (const CLI::App* other : app.get_subcommands({})) {
      if (has_option(*other, name)) {
        return fmt::format("{}: stands before the command; write it after 'fedsinkhorn {}'", name, other->get_name());
      }
    }
  }
  for (const OptionEntry& option : option_table()) {
    if (!name.empty() && name == option.former_flag) {
      return fmt::format("{}: no longer an option; it is {} now; {}", name, option.main_flag(), help);
    }
  }
  const std::optional<std::string> near = nearest_option(command == nullptr ? app : *command, name);
  if (near) return fmt::format("{}: no such option; did you mean {}? {}", name, *near, help);
  return fmt::format("{}: no such option; {}", name, help);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kLongestName) return std::nullopt;
  std::optional<std::string> best;
  std::size_t least = 1 + word.size() / 4;  // tolerated errors
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least + (best ? 0 : 1) && distance < std::max(word.size(), candidate.size())) {
      least = distance;
      best = candidate;
    }
  }
  if (best || word.size() < 3) return best;
  const auto part = std::find_if(candidates.begin(), candidates.end(), [&](const std::string& candidate) {
    return candidate.find(word) != std::string::npos;
  });
  if (part != candidates.end()) best = *part;
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         const std::string& otherwise) {
  const std::optional<std::string> near = nearest(word, candidates);
  return near ? "did you mean " + *near + "?" : otherwise;
}

std::optional<std::string> given_too_often(const CLI::App& app) {
  for (const CLI::App* command : given_commands(app)) {
    for (const CLI::Option* option : command->get_options()) {
      const auto most = static_cast<std::size_t>(option->get_items_expected_max());
      if (!takes_value(*option) || option->count() <= most) continue;
      return fmt::format("{}: {} values were given; give {}", option->get_name(), option->count(),
                         most == 1 ? "one" : fmt::format("at most {}", most));
    }
  }
  return std::nullopt;
}

std::optional<std::string> unknown_option(const CLI::App& app) {
  const auto first = [](const CLI::App& of) {
    const std::vector<std::string> words = of.remaining();
    const auto found = std::find_if(words.begin(), words.end(), is_option);
    return found == words.end() ? std::string() : *found;
  };
  if (const std::string word = first(app); !word.empty()) return about_option(app, nullptr, word);
  for (const CLI::App* command : given_commands(app)) {
    if (const std::string word = first(*command); !word.empty()) return about_option(app, command, word);
  }
  return std::nullopt;
}

std::optional<std::string> unknown_command(const CLI::App& app) {
  for (const CLI::App* command : given_commands(app)) {
    if (command->get_require_subcommand_min() == 0 || !command->get_subcommands().empty()) continue;
    const std::vector<std::string> words = command->remaining();
    const std::string known = known_commands(*command);
    if (words.empty()) return fmt::format("{}: needs a command after it; {}", command->get_name(), known);
    return fmt::format("{}: no such command of {}; {}", words.front(), command->get_name(),
                       did_you_mean(words.front(), command_names(*command), known));
  }
  return std::nullopt;
}

std::optional<std::string> stray_word(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(true);
  if (words.empty()) return std::nullopt;
  return words.front() + ": unexpected word";
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : shown_commands(app)) names.push_back(command->get_name());
  return names;
}

std::string known_commands(const CLI::App& app) { return "there are: " + CLI::detail::join(command_names(app), ", "); }

}  // namespace fedsinkhorn
