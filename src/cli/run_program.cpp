#include "cli/run_program.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/flag_names.hpp"
#include "cli/generate_command.hpp"
#include "cli/number_option.hpp"
#include "cli/refusal.hpp"
#include "cli/speaker.hpp"
#include "cli/stop_on_signal.hpp"
#include "cli/suggestion.hpp"
#include "comm/transports.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/version.hpp"

namespace fedsinkhorn {
namespace {

using namespace std::chrono_literals;

/// As soon as one process ends, mpirun kills the rest, so the others give the speaker time to print. Usually this
/// process is killed while it waits.
void let_another_speak(std::chrono::seconds wait) { std::this_thread::sleep_for(wait); }

int refuse(const std::string& message) {
  // If this process survives the wait, the speaker had nothing to say. It may be starting on a busy machine.
  if (!speaks_for_all()) let_another_speak(5s);
  fmt::print(stderr, "{}\n", refusal_line(message));
  return kBadInput;
}

// Used to give a better message than "unexpected argument" for an unknown subcommand.
bool is_command(const CLI::App& app, const std::string& word) {
  const auto commands = app.get_subcommands({});
  return std::any_of(commands.begin(), commands.end(),
                     [&](const CLI::App* command) { return command->get_name() == word; });
}

/// "fedsinkhorn solve", "fedsinkhorn privacy explain"
std::string called(const CLI::App& app) {
  std::string words = app.get_name();
  for (const CLI::App* command : app.get_subcommands()) words += " " + called(*command);
  return words;
}

std::string what_is_wrong(const CLI::App& app, const CLI::ParseError& error) {
  // A misspelt option first: it may have caused the other errors.
  if (const auto unknown = unknown_option(app)) return *unknown;
  const std::string reason = error.what();
  const std::string see = "; see '" + called(app) + " --help'";
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ValidationError)) return reason + see;
  if (const auto too_often = given_too_often(app)) return *too_often;
  if (const auto unknown = unknown_command(app)) return *unknown;
  if (const auto stray = stray_word(app)) return *stray + see;
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch)) {
    return reason.substr(0, reason.find(':')) + ": has no value" + see;
  }
  return reason + see;
}

int run_command(int argc, char** argv) {
  CLI::App app{"Entropic optimal transport, on one machine or across clients."};
  app.name("fedsinkhorn");
  app.set_version_flag("-v,--version", std::string(version()));
  app.require_subcommand(1);
  app.footer("'fedsinkhorn COMMAND --help' lists the options of a command.");
  int status = kConverged;
  add_solve_command(app, status);
  add_generate_command(app);
  add_generate_market_command(app);
  add_risk_command(app, status);
  add_report_command(app);
  add_demo_command(app, status);
  add_privacy_command(app);
  add_calibrate_profile_command(app);
  add_predict_command(app);
  add_plan_command(app);
  add_info_command(app);
  add_help_commands(app);
  refuse_options_as_values(app);

  if (argc > 1 && argv[1][0] != '-' && !is_command(app, argv[1])) {
    return refuse(std::string(argv[1]) + ": no such command; " +
                  did_you_mean(argv[1], command_names(app), known_commands(app)));
  }
  if (argc == 1) return refuse("no command was given; " + known_commands(app) + " (try 'fedsinkhorn --help')");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return speaks_for_all() ? app.exit(error) : kConverged;  // --help, --version
    return refuse(what_is_wrong(app, error));
  }
  return status;
}

}  // namespace

int run_program(int argc, char** argv) {
  try {
    return run_command(argc, argv);
  } catch (const InputError& error) {
    return refuse(with_flags(error.marked()));
  } catch (const ClientLost& error) {
    if (!speaks_for_all(error.lost())) let_another_speak(10s);  // the speaker may have results to write
    // A rank that mpirun told to end because another one ended has nothing to add.
    const bool is_told_to_end = started_by_mpi() && StopOnSignal::requested();
    if (speaks_for_all(error.lost()) && !is_told_to_end) {
      fmt::print(stderr, "{}\n", refusal_line(with_flags(error.what())));
    }
    return kClientLost;
  } catch (const Interrupted& stop) {
    if (!speaks_for_all()) let_another_speak(2s);
    if (speaks_for_all()) fmt::print(stderr, "{}\n", refusal_line(stop.what()));
    return kInterrupted;
  } catch (const ClientFailed&) {
    let_another_speak(2s);  // the client that failed prints the reason
    return kInternalError;
  } catch (const std::bad_alloc&) {
    // Print at once on any rank: the others only know that one failed.
    fmt::print(stderr, "{}\n",
               refusal_line("memory: an allocation was refused; use --kernel online or a smaller problem"));
    return kBadInput;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", refusal_line(std::string("internal error: ") + error.what()));
    return kInternalError;
  }
}

}  // namespace fedsinkhorn
