// The entry points: which clients there are, and on which transport.
#include "fedsinkhorn/solve.hpp"

#include <optional>
#include <stdexcept>
#include <vector>

#include "comm/sum_server.hpp"
#include "comm/transports.hpp"
#include "fedsinkhorn/error.hpp"
#include "registry/registry.hpp"
#include "solve/client_solve.hpp"
#include "solve/in_process.hpp"
#include "solve/joined.hpp"
#include "solve/link.hpp"
#include "solve/session.hpp"

namespace fedsinkhorn {
namespace {

/// problem_of(client): the problem as that client has it.
template <class ProblemOf>
Result solve_in_process(std::size_t clients, const Options& options, const ProblemOf& problem_of) {
  std::vector<std::optional<Result>> results(clients);
  run_in_process(clients, options, [&](Communicator& communicator) {
    results[communicator.rank()] = solve_as_client(problem_of(communicator.rank()), options, communicator);
  });
  if (!results[0]) throw ClientLost("client 0 was lost, and nobody was left to miss it", {0});
  return joined(results);
}

}  // namespace

Result solve(const Problem& problem, const Options& options) {
  return solve_in_process(clients_in_process(options), options, [&](std::size_t) -> const Problem& { return problem; });
}

Result solve(std::span<const Problem> clients, const Options& options) {
  if (clients.empty()) throw InputError("solve", "no client has a problem");
  return solve_in_process(clients.size(), options, [&](std::size_t k) -> const Problem& { return clients[k]; });
}

// ---------------------------------------------------------------------------------------------------------------------

Session::Session(const std::string& transport, double timeout, const std::atomic<bool>* interrupt) {
  const Seconds limit(checked_timeout(timeout));
  const TransportEntry& entry = transports().find(transport, "`transport`");
  if (!entry.join) {
    throw InputError("`transport`", "'" + transport + "' runs all clients in one process", "solve without a session");
  }
  state_ = std::make_unique<State>(State{transport, entry.join(limit, StopRequest(interrupt))});
}
Session::~Session() = default;
std::size_t Session::rank() const { return state_->communicator->rank(); }
std::size_t Session::size() const { return state_->communicator->size(); }

Result solve(const Problem& problem, const Options& options, Session& session) {
  Result result;
  run_in_session(options, session, [&](const Options& own, Communicator& communicator) {
    result = solve_as_client(problem, own, communicator, GivenBy::each_client);
  });
  return result;
}

void decline(const std::string& line, const Options& options, Session& session) {
  Options known;  // other options may be as wrong as the problem
  if (options.policy != known.policy) known.policy = "sums";
  known.server = options.server;
  run_in_session(known, session, [&](const Options& own, Communicator& communicator) {
    if (has_server(own)) throw std::runtime_error(line);  // others learn that, and no reason
    Link(communicator, own).decline(line, own);
  });
  throw InputError(line);
}

void serve(Session& session) {
  Communicator& communicator = *session.state().communicator;
  communicator.keep_to_server();
  serve_sums(communicator);
}

}  // namespace fedsinkhorn
