#include "risk/meeting.hpp"

#include <array>

#include "fedsinkhorn/error.hpp"
#include "registry/registry.hpp"
#include "risk/given.hpp"
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

}  // namespace fedsinkhorn
