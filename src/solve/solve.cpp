// The entry points: which clients there are, and on which transport.
#include "fedsinkhorn/solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "comm/sum_server.hpp"
#include "comm/transports.hpp"
#include "core/memory.hpp"
#include "fedsinkhorn/error.hpp"
#include "registry/registry.hpp"
#include "solve/check_options.hpp"
#include "solve/client_solve.hpp"
#include "solve/link.hpp"
#include "solve/memory_needs.hpp"
#include "solve/private_solve.hpp"
#include "solve/session.hpp"

namespace fedsinkhorn {
namespace {

Seconds checked_timeout(double seconds) {
  if (!(seconds > 0)) {
    throw InputError("`timeout`", fmt::format("{} is no time to wait", seconds), "give seconds above 0");
  }
  return Seconds(std::min(seconds, 1e9));
}

/// Checks, before any client exists, that memory suffices for the clients of one process themselves.
void require_room_for(std::size_t clients) {
  if (clients == 1) return;
  const std::uint64_t needed = whole_bytes(static_cast<double>(clients) * bytes_to_meet(clients));
  const std::uint64_t available = available_memory();
  if (needed <= available) return;
  throw InputError("memory",
                   fmt::format("{} clients of one process need {} by themselves but {} is available", clients,
                               human_bytes(needed), human_bytes(available)),
                   "use fewer `clients`");
}

/// What the clients of one process know together, without messages: it is all in one memory.
Result joined(std::vector<std::optional<Result>>& results) {
  Result result = std::move(*results[0]);
  const bool has_own_rows = result.clients.size() < results.size();  // else client 0 has gathered them
  for (std::size_t k = 1; k < results.size(); ++k) {
    if (!results[k] && has_own_rows) throw ClientLost(fmt::format("client {} was lost, and its rows with it", k), {k});
    if (!results[k]) continue;
    const Result& own = *results[k];
    if (!has_own_rows) {
      if (k < result.clients.size()) result.clients[k].left = own.clients.front().left;
      continue;
    }
    result.f.insert(result.f.end(), own.f.begin(), own.f.end());
    result.f_rest.insert(result.f_rest.end(), own.f_rest.begin(), own.f_rest.end());
    result.clients.insert(result.clients.end(), own.clients.begin(), own.clients.end());
    result.kernel_bytes += own.kernel_bytes;
    result.exchanges = std::max(result.exchanges, own.exchanges);
  }
  add_up_errors(results, result);
  return result;
}

/// problem_of(client): the problem as that client has it.
template <class ProblemOf>
Result solve_in_process(std::size_t clients, const Options& options, const ProblemOf& problem_of) {
  const Seconds timeout = checked_timeout(options.timeout);
  const TransportEntry& transport = transports().find(options.transport, "`transport`");
  if (!transport.run) {
    throw InputError("`transport`", "'" + options.transport + "' is not for clients of one process",
                     "use threads or simulated, or start the program with mpirun");
  }
  require_room_for(clients);
  std::vector<std::optional<Result>> results(clients);
  const auto body = [&](Communicator& communicator) {
    if (communicator.rank() == clients) {
      communicator.keep_to_server();
      return serve_sums(communicator);
    }
    std::optional<ServerLease> lease;
    if (has_server(options)) lease.emplace(communicator);
    try {
      results[communicator.rank()] = solve_as_client(problem_of(communicator.rank()), options, communicator);
    } catch (...) {
      if (lease) lease->abandon();  // the transport tells all of them
      throw;
    }
  };
  const std::size_t processes = clients + (has_server(options) ? 1 : 0);
  if (has_server(options)) check_server(options, processes);
  if (transport.simulates) check_scenario(options.scenario, processes);
  transport.run(processes, {timeout, options.scenario}, body);
  if (!results[0]) throw ClientLost("client 0 was lost, and nobody was left to miss it", {0});
  return joined(results);
}

}  // namespace

Result solve(const Problem& problem, const Options& options) {
  constexpr std::size_t most = 4096;
  if (options.clients > most) {
    throw InputError("`clients`", fmt::format("{} are too many for one process", options.clients),
                     fmt::format("at most {}", most));
  }
  return solve_in_process(std::max<std::size_t>(1, options.clients), options,
                          [&](std::size_t) -> const Problem& { return problem; });
}

Result solve(std::span<const Problem> clients, const Options& options) {
  if (clients.empty()) throw InputError("solve", "no client has a problem");
  return solve_in_process(clients.size(), options, [&](std::size_t k) -> const Problem& { return clients[k]; });
}

// ---------------------------------------------------------------------------------------------------------------------

Session::Session(const std::string& transport, double timeout) {
  const Seconds limit = checked_timeout(timeout);
  const TransportEntry& entry = transports().find(transport, "`transport`");
  if (!entry.join) {
    throw InputError("`transport`", "'" + transport + "' runs all clients in one process", "solve without a session");
  }
  state_ = std::make_unique<State>(State{transport, entry.join(limit)});
}
Session::~Session() = default;
std::size_t Session::rank() const { return state_->communicator->rank(); }
std::size_t Session::size() const { return state_->communicator->size(); }

Result solve(const Problem& problem, const Options& options, Session& session) {
  Communicator& communicator = *session.state().communicator;
  Options own = options;
  if (has_server(options)) {
    check_server(options, communicator.size());
    if (communicator.rank() + 1 == communicator.size()) {
      throw InputError("`server`", "this process is the server, which has no problem to solve", "call serve()");
    }
    session.state().hire_server();
  }
  own.transport = session.state().transport;
  try {
    return solve_as_client(problem, own, communicator);
  } catch (const InputError&) {
    throw;  // thrown on all clients
  } catch (const Interrupted&) {
    throw;  // likewise
  } catch (const ClientLost&) {
    session.state().abandon_server();
    throw;  // the others know
  } catch (const ClientFailed&) {
    session.state().abandon_server();
    throw;
  } catch (const std::exception& error) {
    const bool tells = policy_of(own).make()->tells_reasons();
    session.state().abandon_server();
    communicator.give_up(false, tells ? error.what() : line_without_reason(communicator.rank()).c_str());
    throw;
  }
}

void serve(Session& session) {
  Communicator& communicator = *session.state().communicator;
  communicator.keep_to_server();
  serve_sums(communicator);
}

}  // namespace fedsinkhorn
