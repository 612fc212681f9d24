// fedsinkhorn help, man, completion.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/completion.hpp"
#include "cli/man_page.hpp"
#include "cli/option_words.hpp"
#include "cli/speaker.hpp"
#include "cli/suggestion.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

/// before: what is written in front of the command. names: that of a command, those of commands of it.
std::string help_text(const CLI::App& app, const std::string& before, std::span<const std::string> names) {
  const std::string words = before + app.get_name();
  // App::help would show the help of the command that is running.
  if (names.empty()) return app.get_formatter()->make_help(&app, words, CLI::AppFormatMode::Normal);
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == names.front()) return help_text(*command, words + " ", names.subspan(1));
  }
  throw InputError(names.front(), "no such command",
                   shown_commands(app).empty() ? fmt::format("see '{} --help'", words)
                                               : did_you_mean(names.front(), command_names(app), known_commands(app)));
}

void print_once(const std::string& text) {
  if (speaks_for_all()) fmt::print("{}", text);
}

}  // namespace

void add_help_commands(CLI::App& app) {
  const auto names = std::make_shared<std::vector<std::string>>();
  CLI::App* help = app.add_subcommand("help", "Show the options of a command");
  help->add_option("command", *names, "The command");
  help->callback([&app, names] { print_once(help_text(app, "", *names)); });

  app.add_subcommand("man", "Print the manual page")->callback([&app] { print_once(man_page(app)); });

  const auto shell = std::make_shared<std::string>("bash");
  CLI::App* completion = app.add_subcommand("completion", "Print a script that completes command lines");
  completion->add_option("shell", *shell, "The shell")->type_name("{bash}")->capture_default_str();
  completion->callback([&app, shell] {
    if (*shell != "bash") throw InputError("completion", "there is none for '" + *shell + "'", "choose bash");
    print_once(bash_completion(app));
  });

  std::string known;
  for (const std::string& command : command_names(app)) known += (known.empty() ? "{" : ",") + command;
  help->get_option("command")->type_name(known + "}");
}

}  // namespace fedsinkhorn
