// The entry points: which clients there are, and on which transport.
#include "fedsinkhorn/risk.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "risk/client_risk.hpp"
#include "solve/in_process.hpp"
#include "solve/joined.hpp"

namespace fedsinkhorn {
namespace {

using AsClient = std::function<RiskResult(std::size_t client, const RiskOptions&, Communicator&)>;

/// What the clients of one process know together.
RiskResult joined_risk(std::vector<std::optional<RiskResult>>& results) {
  RiskResult result = std::move(*results[0]);
  const bool has_own_days = result.clients.size() < results.size();  // else client 0 has gathered them
  std::vector<std::optional<Result>> couplings;
  couplings.emplace_back(std::move(result.coupling));
  for (std::size_t k = 1; k < results.size(); ++k) {
    if (!results[k]) throw ClientLost(fmt::format("client {} was lost, and its days with it", k), {k});
    RiskResult& own = *results[k];
    couplings.emplace_back(std::move(own.coupling));
    if (has_own_days) {
      result.moves.insert(result.moves.end(), own.moves.begin(), own.moves.end());
      result.clients.insert(result.clients.end(), own.clients.begin(), own.clients.end());
    } else {
      result.clients[k].left = own.clients.front().left;
    }
  }
  result.coupling.reset();
  if (couplings[0]) result.coupling = joined(couplings);
  return result;
}

RiskResult in_process(std::size_t clients, const RiskOptions& options, const AsClient& as_client) {
  std::vector<std::optional<RiskResult>> results(clients);
  run_in_process(clients, options.options, [&](Communicator& communicator) {
    results[communicator.rank()] = as_client(communicator.rank(), options, communicator);
  });
  if (!results[0]) throw ClientLost("client 0 was lost, and nobody was left to miss it", {0});
  return joined_risk(results);
}

RiskResult in_session(const RiskOptions& options, Session& session, const AsClient& as_client) {
  RiskResult result;
  run_in_session(options.options, session, [&](const Options& own, Communicator& communicator) {
    RiskOptions mine = options;
    mine.options = own;
    result = as_client(communicator.rank(), mine, communicator);
  });
  return result;
}

AsClient worst_case_of(std::function<const RiskProblem&(std::size_t)> problem_of) {
  return [problem_of = std::move(problem_of)](std::size_t client, const RiskOptions& options, Communicator& all) {
    return worst_case_as_client(problem_of(client), options, all);
  };
}

AsClient stressed_plan_of(std::function<const RiskProblem&(std::size_t)> problem_of, const StressMarginal& stress) {
  return
      [problem_of = std::move(problem_of), &stress](std::size_t client, const RiskOptions& options, Communicator& all) {
        return stressed_plan_as_client(problem_of(client), stress, options, all);
      };
}

std::size_t clients_of(std::span<const RiskProblem> clients) {
  if (clients.empty()) throw InputError("risk", "no client has a problem");
  return clients.size();
}

}  // namespace

RiskResult worst_case(const RiskProblem& problem, const RiskOptions& options) {
  return in_process(clients_in_process(options.options), options,
                    worst_case_of([&](std::size_t) -> const RiskProblem& { return problem; }));
}

RiskResult worst_case(std::span<const RiskProblem> clients, const RiskOptions& options) {
  return in_process(clients_of(clients), options,
                    worst_case_of([&](std::size_t k) -> const RiskProblem& { return clients[k]; }));
}

RiskResult worst_case(const RiskProblem& problem, const RiskOptions& options, Session& session) {
  return in_session(options, session, worst_case_of([&](std::size_t) -> const RiskProblem& { return problem; }));
}

RiskResult stressed_plan(const RiskProblem& problem, const StressMarginal& stress, const RiskOptions& options) {
  return in_process(clients_in_process(options.options), options,
                    stressed_plan_of([&](std::size_t) -> const RiskProblem& { return problem; }, stress));
}

RiskResult stressed_plan(std::span<const RiskProblem> clients, const StressMarginal& stress,
                         const RiskOptions& options) {
  return in_process(clients_of(clients), options,
                    stressed_plan_of([&](std::size_t k) -> const RiskProblem& { return clients[k]; }, stress));
}

RiskResult stressed_plan(const RiskProblem& problem, const StressMarginal& stress, const RiskOptions& options,
                         Session& session) {
  return in_session(options, session,
                    stressed_plan_of([&](std::size_t) -> const RiskProblem& { return problem; }, stress));
}

}  // namespace fedsinkhorn
