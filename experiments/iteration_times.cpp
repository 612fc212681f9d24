#include "iteration_times.hpp"

#include <vector>

#include "fedsinkhorn/solve.hpp"

namespace fedsinkhorn::experiments {
namespace {

/// Iterations that build kernels: the first, or the first two where rows and columns have a block each.
constexpr std::int64_t kBuilding = 2;

Json per_iteration(const Json& seconds, double iterations) {
  Json values = Json::array();
  for (const Json& value : seconds) values.push_back(value.get<double>() / iterations);
  return values;
}

TimedRun run_in_this_process(const PointsProblem& problem, Options& options) {
  // A client writes its own element only.
  std::vector<ClientProgress> start(options.clients);
  std::vector<ClientProgress> end(options.clients);
  options.on_client_check = [&](const ClientProgress& now) {
    if (now.iteration <= kBuilding) start[now.client] = now;
    end[now.client] = now;
  };
  TimedRun timed{record_of(solve(problem.view(), options), options, problem.epsilon()), Json::array(), Json::array()};
  for (std::size_t k = 0; k < options.clients; ++k) {
    if (end[k].iteration <= kBuilding) continue;  // asynchronous: the others reached the limit first
    const auto iterations = static_cast<double>(end[k].iteration - start[k].iteration);
    timed.compute.push_back((end[k].compute_seconds - start[k].compute_seconds) / iterations);
    timed.communication.push_back((end[k].communication_seconds - start[k].communication_seconds) / iterations);
  }
  return timed;
}

}  // namespace

TimedRun timed_run(const PointsProblem& problem, Options options, const std::string& transport) {
  if (transport != "mpi" || options.clients == 1) return run_in_this_process(problem, options);
  report::RunRecord run = record_of_solve(problem, options, transport);
  const double iterations = report::number(run.summary, "iterations");
  Json compute = per_iteration(of_clients(run, "compute_seconds"), iterations);
  Json communication = per_iteration(of_clients(run, "communication_seconds"), iterations);
  return {std::move(run), std::move(compute), std::move(communication)};
}

std::string how_clients_are_timed(const std::string& transport) {
  if (transport == "mpi") {
    return "Computing and communication: seconds of a client over the whole solve, which builds kernels and evaluates "
           "the result as well, divided by the number of iterations. Communication includes waiting for others.";
  }
  return "Computing and communication: seconds of a client per iteration, from the third on; those before build "
         "kernels. Communication includes waiting for others.";
}

}  // namespace fedsinkhorn::experiments
