#include "risk/meeting.hpp"

#include <array>

#include "comm/secure_sums.hpp"
#include "fedsinkhorn/error.hpp"
#include "problem/sums_account.hpp"
#include "registry/registry.hpp"
#include "solve/check_options.hpp"
#include "solve/threads_of_client.hpp"

namespace fedsinkhorn {
namespace {

/// Sums are exchanged as by row-reduce, whatever topology a coupling is solved by.
Options options_of_sums(const RiskOptions& given) {
  if (given.options.policy == "private") {
    throw InputError("`policy`", "private is not for risk: its sums have no noise", "use open or sums");
  }
  Options options;
  options.clients = given.options.clients;
  options.threads = given.options.threads;
  options.simd = given.options.simd;
  options.transport = given.options.transport;
  options.scenario = given.options.scenario;
  options.policy = given.options.policy;
  options.share_matrices = given.options.share_matrices;
  options.most_sums = given.options.most_sums;
  options.server = given.options.server;
  options.keys = given.options.keys;
  options.timeout = given.options.timeout;
  options.tolerance = given.options.tolerance;
  options.max_iterations = given.options.max_iterations;
  options.interrupt = given.options.interrupt;
  return options;
}

}  // namespace

RiskMeeting::RiskMeeting(const RiskProblem& problem, const RiskOptions& given, Communicator& communicator)
    : options(options_of_sums(given)),
      threads(threads_of_client(options, communicator)),
      link(communicator, options),
      clients(connect(problem)),
      most_sums(agreed_limit(problem)),
      stop(options.interrupt),
      computing{cpu::simd(options.simd), threads, stop},
      days(check_days(problem, given.radii, clients, computing)) {}

Collectives RiskMeeting::connect(const RiskProblem& problem) {
  Problem agreed;
  agreed.epsilon = problem.epsilon;
  link.agree_on_options(agreed, options, threads);
  options.topology = resolved_topology(options, link.clients());
  return link.connect(topologies().find(options.topology, "`topology`"), options);
}

std::uint64_t RiskMeeting::numbers_of_moments(const RiskProblem& problem) {
  if (problem.cost != RiskCost::mahalanobis || !problem.covariance.empty()) return 0;
  const std::uint64_t dimension = columns_of(problem.scenarios);
  return dimension * (dimension + 3) / 2;
}

// A bound: the start needs the value at risk and the moments.
std::uint64_t RiskMeeting::agreed_limit(const RiskProblem& problem) const {
  agree(clients, [&] {
    if (clients.sums() == nullptr || options.share_matrices || !adds_up_a_matrix(problem)) return;
    throw InputError(problem.names.covariance,
                     "is to be added up over clients, a matrix of more numbers than there are scenarios",
                     "give one that all clients know, or add `share_matrices`");
  });
  const std::uint64_t at_the_start = 512 + numbers_of_moments(problem);
  return agree_on_most_sums(clients, options.most_sums,
                            at_the_start + numbers_at_the_end_of_risk(scenarios_given(problem)));
}

std::size_t numbers_of_a_day(const RiskProblem& problem) {
  const std::size_t of_costs = has_points(problem) ? columns_of(problem.scenarios) : columns_of(problem.costs);
  return of_costs + (problem.a.empty() ? 0 : 1) + (problem.return_losses.empty() ? 0 : 1);
}

void report_sums(const RiskProblem& problem, const RiskMeeting& meeting, RiskResult& result) {
  const SecureSums* sums = meeting.clients.sums();
  if (sums == nullptr) return;
  result.sums = {sums->shown(), meeting.most_sums, RiskMeeting::adds_up_a_matrix(problem) ? 1U : 0U, 0};
  SumsShape shape;
  shape.numbers_of_a_row = numbers_of_a_day(problem);
  for (const Range& slice : meeting.days.slices) shape.rows.push_back(slice.size());
  result.sums.unknown = least_unknown(shape, shape.rows.size());
  for (ClientReport& report : result.clients) report.unknown = numbers_unknown(shape, report.client);
}

}  // namespace fedsinkhorn
