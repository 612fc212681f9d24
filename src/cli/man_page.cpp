#include "cli/man_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/exit_status.hpp"
#include "cli/option_words.hpp"
#include "fedsinkhorn/version.hpp"

namespace fedsinkhorn {
namespace {

using NamedText = std::pair<std::string_view, std::string_view>;

constexpr std::array<NamedText, 7> kFiles = {{
    {"f.npy, g.npy", "potentials in units of the cost: P_ij = exp((f_i + g_j - C_ij) / epsilon)"},
    {"f-0.npy, f-1.npy, ...", "with --keep-local: each client's rows of f"},
    {"plan.npy", "with --plan: the plan"},
    {"trace.csv", "the marginal errors of every check"},
    {"delays.csv", "topology async: how old slices were when they were used"},
    {"summary.json", "how it ended and what ran; written last"},
    {"scenario.json", "input of --scenario, the network to simulate"},
}};

constexpr std::array<NamedText, 4> kExamples = {{
    {"fedsinkhorn generate --rows 500 --columns 500 --output data", "A synthetic problem to try things on."},
    {"fedsinkhorn solve --points data/X.npy data/Y.npy --epsilon 0.01 --output out", "One client."},
    {"fedsinkhorn solve --points data/X.npy data/Y.npy --epsilon 0.01 --clients 3 --topology row-reduce --output out",
     "Three clients in one process."},
    {"fedsinkhorn solve --points data/X.npy data/Y.npy --epsilon 0.01 --clients 3 --transport simulated --seed 7",
     "The same on a simulated network."},
}};

/// Escapes text for roff.
std::string roff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool starts_line = result.empty() || result.back() == '\n';
    if (starts_line && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

/// A term and its description.
std::string entry(const std::string& term, const std::string& text) { return fmt::format(".TP\n{}\n{}\n", term, text); }

std::string option_value_text(const CLI::Option& option) {
  const std::vector<std::string> choices = choices_of_option(option);
  if (choices.empty()) return italic(option.get_type_name());
  std::string text;
  for (const std::string& choice : choices) text += (text.empty() ? "" : " | ") + bold(choice);
  return text;
}

std::string option_entry(const CLI::Option& option) {
  std::string term;
  for (const std::string& word : words_of_option(option)) term += (term.empty() ? "" : ", ") + bold(word);
  if (takes_value(option)) term += " " + option_value_text(option);
  if (option.get_expected_max() == 2) term += " [" + option_value_text(option) + "]";
  std::string text = roff(option.get_description()) + ".";
  if (option.get_required()) text += " Required.";
  if (!option.get_default_str().empty()) text += " Default: " + roff(option.get_default_str()) + ".";
  return entry(term, text);
}

std::string positionals(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options([](const CLI::Option* o) { return o->get_positional(); })) {
    text += " [" + option_value_text(*option) + "]";
  }
  return text;
}

std::string options_by_group(const CLI::App& app) {
  std::string text;
  for (const std::string& group : app.get_groups()) {
    std::string entries;
    for (const CLI::Option* option : named_options(app)) {
      if (option == app.get_help_ptr() && app.get_parent() != nullptr) continue;  // every command has it
      if (option->get_group() == group) entries += option_entry(*option);
    }
    if (!entries.empty() && group != "Options") text += ".PP\n" + italic(group) + "\n";
    text += entries;
  }
  return text;
}

/// The footer up to the exit statuses, which have their own section.
std::string notes(const CLI::App& command) {
  const std::string footer = command.get_footer();
  const std::string text = footer.substr(0, footer.find(exit_status_text()));
  const std::string trimmed = text.substr(0, text.find_last_not_of(" \n") + 1);
  return trimmed.empty() ? "" : ".PP\n" + roff(trimmed) + "\n";
}

/// before: the words in front of it, "fedsinkhorn".
std::string command_section(const std::string& before, const CLI::App& command) {
  const std::string words = before + " " + command.get_name();
  std::string text =
      fmt::format(".SS {}{}\n{}.\n", roff(words), positionals(command), roff(command.get_description())) +
      options_by_group(command) + notes(command);
  for (const CLI::App* inner : shown_commands(command)) text += command_section(words, *inner);
  return text;
}

}  // namespace

std::string man_page(const CLI::App& app) {
  const std::string& name = app.get_name();
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
  std::string description = app.get_description();
  const std::string whatis = description.substr(0, description.find_last_not_of('.') + 1);

  std::string page = fmt::format(".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n", title, name, version());
  page += fmt::format(".SH NAME\n{} \\- {}\n", roff(name), roff(whatis));
  page += fmt::format(".SH SYNOPSIS\n{}\n{}\n", bold(name), italic("COMMAND") + " [" + italic("OPTIONS") + "]");
  page += fmt::format(".SH DESCRIPTION\n{}\n", roff(description));
  page += options_by_group(app);
  page += ".SH COMMANDS\n";
  for (const CLI::App* command : shown_commands(app)) page += command_section(name, *command);
  page += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kExitStatuses) page += entry(bold(std::to_string(code)), roff(meaning) + ".");
  page += ".SH FILES\nArrays are NumPy files, float64 or float32.\n";
  for (const auto& [files, meaning] : kFiles) page += entry(italic(files), roff(meaning) + ".");
  page += ".SH EXAMPLES\n";
  for (const auto& [command, text] : kExamples) {
    page += fmt::format("{}\n.PP\n.nf\n{}\n.fi\n", roff(text), roff(command));
    if (command != kExamples.back().first) page += ".PP\n";
  }
  return page;
}

}  // namespace fedsinkhorn
