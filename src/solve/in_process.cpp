#include "solve/in_process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "comm/policy.hpp"
#include "comm/sum_server.hpp"
#include "comm/transports.hpp"
#include "core/memory.hpp"
#include "fedsinkhorn/error.hpp"
#include "registry/registry.hpp"
#include "solve/check_options.hpp"
#include "solve/link.hpp"
#include "solve/memory_needs.hpp"
#include "solve/session.hpp"

namespace fedsinkhorn {
namespace {

/// Checks, before any client exists, that memory suffices for the clients of one process themselves.
void require_room_for_clients(std::size_t clients) {
  if (clients == 1) return;
  const std::uint64_t needed = whole_bytes(static_cast<double>(clients) * bytes_to_meet(clients));
  const std::uint64_t available = available_memory();
  if (needed <= available) return;
  throw InputError("memory",
                   fmt::format("{} clients of one process need {} by themselves but {} is available", clients,
                               human_bytes(needed), human_bytes(available)),
                   "use fewer `clients`");
}

}  // namespace

double checked_timeout(double seconds) {
  if (!(seconds > 0)) {
    throw InputError("`timeout`", fmt::format("{} is no time to wait", seconds), "give seconds above 0");
  }
  return std::min(seconds, 1e9);
}

std::size_t clients_in_process(const Options& options) {
  constexpr std::size_t most = 4096;
  if (options.clients > most) {
    throw InputError("`clients`", fmt::format("{} are too many for one process", options.clients),
                     fmt::format("at most {}", most));
  }
  return std::max<std::size_t>(1, options.clients);
}

void run_in_process(std::size_t clients, const Options& options, const std::function<void(Communicator&)>& work) {
  const Seconds timeout(checked_timeout(options.timeout));
  const TransportEntry& transport = transports().find(options.transport, "`transport`");
  if (!transport.run) {
    throw InputError("`transport`", "'" + options.transport + "' is not for clients of one process",
                     "use threads or simulated, or start the program with mpirun");
  }
  require_room_for_clients(clients);
  const auto body = [&](Communicator& communicator) {
    if (communicator.rank() == clients) {
      communicator.keep_to_server();
      return serve_sums(communicator);
    }
    std::optional<ServerLease> lease;
    if (has_server(options)) lease.emplace(communicator);
    try {
      work(communicator);
    } catch (...) {
      if (lease) lease->abandon();  // the transport tells all of them
      throw;
    }
  };
  const std::size_t processes = clients + (has_server(options) ? 1 : 0);
  if (has_server(options)) check_server(options, processes);
  if (transport.simulates) check_scenario(options.scenario, processes);
  transport.run(processes, {timeout, options.scenario}, body);
}

void run_in_session(const Options& options, Session& session,
                    const std::function<void(const Options&, Communicator&)>& body) {
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
    body(own, communicator);
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

}  // namespace fedsinkhorn
