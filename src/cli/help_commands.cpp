// fedsinkhorn help, and the hidden commands for packaging: man, completion.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/completion.hpp"
#include "cli/man_page.hpp"
#include "cli/speaker.hpp"
#include "cli/suggestion.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

std::string help_text(const CLI::App& app, const std::string& name) {
  // App::help would show the help of the command that is running.
  if (name.empty()) return app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return command->help(app.get_name());
  }
  throw InputError(name, "no such command", did_you_mean(name, command_names(app), known_commands(app)));
}

void print_once(const std::string& text) {
  if (speaks_for_all()) fmt::print("{}", text);
}

}  // namespace

void add_help_commands(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  CLI::App* help = app.add_subcommand("help", "Show the options of a command");
  help->add_option("command", *name, "The command");
  help->callback([&app, name] { print_once(help_text(app, *name)); });

  app.add_subcommand("man", "Print the manual page")->group("")->callback([&app] { print_once(man_page(app)); });

  const auto shell = std::make_shared<std::string>("bash");
  CLI::App* completion = app.add_subcommand("completion", "Print a script that completes command lines")->group("");
  completion->add_option("shell", *shell, "The shell")->type_name("{bash}")->capture_default_str();
  completion->callback([&app, shell] {
    if (*shell != "bash") throw InputError("completion", "there is none for '" + *shell + "'", "choose bash");
    print_once(bash_completion(app));
  });

  std::string names;
  for (const std::string& command : command_names(app)) names += (names.empty() ? "{" : ",") + command;
  help->get_option("command")->type_name(names + "}");
}

}  // namespace fedsinkhorn
