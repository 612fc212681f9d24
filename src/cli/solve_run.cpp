// The way of a solve from files to files.
#include "cli/solve_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_status.hpp"
#include "cli/refusal.hpp"
#include "cli/speaker.hpp"
#include "cli/stop_on_signal.hpp"
#include "cli/summary_table.hpp"
#include "comm/collectives.hpp"
#include "comm/transports.hpp"
#include "core/stopwatch.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "io/progress.hpp"
#include "registry.hpp"
#include "solve/mpi_session.hpp"

namespace fedsinkhorn {
namespace {

/// The clients of this process, and how to solve with the rest.
struct Clients {
  std::size_t first = 0;
  std::size_t count = 1;
  std::size_t all = 1;
  std::unique_ptr<MpiSession> session;  // if the others are ranks

  [[nodiscard]] bool share_process() const { return session == nullptr; }
  /// Runs it on all ranks and sees to it that it ends alike on all.
  void agree_on(const std::function<void()>& body) const {
    if (share_process()) return body();
    agree(Collectives(*session->state().communicator, Route::through_root), body);
  }
  /// Nothing is to be said to the others any more.
  void part() { session.reset(); }
  /// All ranks have come to the same refusal. One says it, and the others wait until it has: as soon as a rank ends,
  /// mpirun kills the rest.
  void refuse_together(const InputError& error) const {
    if (session->rank() == 0) fmt::print(stderr, "{}\n", refusal_line(error.what()));
    std::fflush(stderr);
    Collectives(*session->state().communicator, Route::through_root).barrier();
  }
};

Clients clients_of(const SolveArguments& arguments) {
  const bool under_mpi = started_by_mpi();
  const std::string transport = !arguments.transport.empty() ? arguments.transport : under_mpi ? "mpi" : "threads";
  find_available(transports(), transport, "--transport", "use threads");
  Clients clients;
  if (transport == "mpi") {
    if (!(arguments.options.timeout > 0)) (void)take_options(arguments);  // says so
    clients.session = std::make_unique<MpiSession>(arguments.options.timeout);
    clients.first = clients.session->rank();
    clients.all = clients.session->size();
    return clients;
  }
  if (under_mpi && ranks_given_by_mpi() > 1) {
    throw InputError("--transport", fmt::format("{}, but mpirun started {} processes", transport, ranks_given_by_mpi()),
                     "leave it out, or start one process");
  }
  clients.count = clients.all = std::max<std::size_t>(1, take_options(arguments).clients);
  return clients;
}

/// Each client's inputs; the same for all where no file is a client's own.
std::vector<std::unique_ptr<Inputs>> open_all(const SolveArguments& arguments, const Options& options,
                                              const Clients& clients) {
  std::vector<std::unique_ptr<Inputs>> inputs;
  const std::size_t sets = arguments.files.in_parts() ? clients.count : 1;
  for (std::size_t k = 0; k < sets; ++k) {
    const std::size_t client = clients.first + k;
    const bool with_cost = options.topology != "star" || clients.share_process() || client == 0;
    inputs.push_back(open_inputs(arguments.files, client, with_cost));
  }
  return inputs;
}

Result solve_with(const std::vector<std::unique_ptr<Inputs>>& inputs, const Options& options, const Clients& clients) {
  if (clients.session) return solve(inputs.front()->problem, options, *clients.session);
  if (inputs.size() == 1) return solve(inputs.front()->problem, options);
  std::vector<Problem> problems;
  problems.reserve(inputs.size());
  for (const auto& of_client : inputs) problems.push_back(of_client->problem);
  return solve(problems, options);
}

/// Results so far, if there are any, by the first client that still answers; what is to be kept local, by each.
void write_what_is_left(const SolveArguments& arguments, const Options& options, const Problem& problem,
                        const ClientLost& lost) {
  if (!lost.so_far() || arguments.output.folder.empty()) return;
  const Result& result = *lost.so_far();
  OutputPlan output = arguments.output;
  output.plan = false;
  output.keep_local &= result.transport == "mpi";  // in one process all is in one place anyway
  const bool speaks = speaks_for_all(lost.lost());
  if (!speaks && !output.keep_local) return;
  try {
    OutputFolder folder(output.folder, {});
    if (output.keep_local) write_local_rows(folder, result);
    if (speaks) write_shared_results(folder, output, options, problem, result);
    folder.keep();
  } catch (const std::exception& error) {
    // What the run ends with is the loss.
    fmt::print(stderr, "{}\n", refusal_line(error.what()));
  }
}

int solve_files(const SolveArguments& arguments, Clients& clients) {
  Options options;
  std::vector<std::unique_ptr<Inputs>> inputs;
  std::optional<OutputFolder> folder;
  clients.agree_on([&] {
    check_output(arguments);
    options = take_options(arguments);
    if (options.clients != 0 && options.clients != clients.all) {
      throw InputError("--clients", fmt::format("{} were asked for", options.clients),
                       fmt::format("mpirun started {}", clients.all));
    }
    inputs = open_all(arguments, options, clients);
    const std::vector<std::string> names =
        file_names(arguments.output, clients.first, clients.all, clients.share_process());
    if (arguments.output.folder.empty() || names.empty()) return;
    for (std::size_t k = 0; k < clients.count; ++k) {
      check_no_input_is_overwritten(arguments.output, names, arguments.files.paths(clients.first + k));
    }
    folder.emplace(arguments.output.folder, names);
  });

  ProgressLine progress(stderr);
  const Timer timer;
  if (!arguments.quiet) {
    options.on_check = [&](Progress now) {
      if (options.transport == "simulated") now.seconds = timer.seconds();  // who looks at it waits in real time
      progress.update(now);
    };
  }
  options.interrupt = &StopOnSignal::requested();
  const StopOnSignal stop_on_signal;  // while results are written, too
  const Result result = [&] {
    try {
      return solve_with(inputs, options, clients);
    } catch (const ClientLost& lost) {
      progress.clear();
      write_what_is_left(arguments, options, inputs.front()->problem, lost);
      throw;
    }
  }();
  progress.clear();
  if (folder && arguments.output.keep_local) {
    clients.agree_on([&] { write_local_rows(*folder, result); });
    folder->keep();
  }
  clients.part();  // what follows takes its time, and nobody has to wait for it
  // One rank says how it went: as soon as a rank ends with another status than 0, mpirun kills the rest, and client 0
  // may still be writing.
  if (result.this_client != 0) return kConverged;
  const Problem& problem = inputs.front()->problem;
  if (folder) {
    write_shared_results(*folder, arguments.output, options, problem, result);
    folder->keep();
  }
  if (!arguments.quiet) fmt::print("{}", summary_table(result, options, problem.epsilon, arguments.output.folder));
  return exit_status(result.status);
}

}  // namespace

int run_solve(const SolveArguments& arguments) {
  Clients clients = clients_of(arguments);
  try {
    return solve_files(arguments, clients);
  } catch (const InputError& error) {
    if (!clients.session) throw;
    clients.refuse_together(error);
    return kBadInput;
  }
}

}  // namespace fedsinkhorn
