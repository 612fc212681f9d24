#include "cli/run_with_clients.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/exit_status.hpp"
#include "cli/flag_names.hpp"
#include "cli/stop_on_signal.hpp"
#include "cli/truncated_input.hpp"
#include "comm/kept_reason.hpp"
#include "comm/transports.hpp"
#include "fedsinkhorn/error.hpp"
#include "registry/registry.hpp"
#include "solve/check_options.hpp"

namespace fedsinkhorn {
namespace {

Clients clients_of(const SolveArguments& arguments) {
  const bool under_mpi = started_by_mpi();
  const std::string transport = !arguments.transport.empty() ? arguments.transport : under_mpi ? "mpi" : "threads";
  const TransportEntry& entry = transports().find_available(transport, "--transport", "use threads");
  Clients clients;
  if (entry.join) {
    if (!(arguments.options.timeout > 0)) (void)take_options(arguments);  // throws the error
    clients.join(transport, arguments.options.timeout);
    return clients;
  }
  if (under_mpi && ranks_given_by_mpi() > 1) {
    throw InputError("--transport", fmt::format("{}, but mpirun started {} processes", transport, ranks_given_by_mpi()),
                     "leave it out, or start one process");
  }
  clients.count = clients.all = std::max<std::size_t>(1, take_options(arguments).clients);
  return clients;
}

/// Checked before anything is sent: all ranks come to the same conclusion.
Server take_server(const SolveArguments& arguments) {
  const Options options = take_options(arguments);
  if (options.server == Server::sums) check_server(options, ranks_given_by_mpi());
  return options.server;
}

/// This process is the server. What goes wrong at clients, they say.
int serve_others(Clients& clients) {
  clients.communicator_of_session.reset();
  const StopOnSignal clients_stop;  // they agree on that by way of this process, which stays until they leave
  try {
    serve(*clients.session);
  } catch (const InputError&) {
    return kBadInput;
  }
  clients.part();
  return kConverged;
}

}  // namespace

void obey_options(Options& options, const Clients& clients) {
  if (options.clients != 0 && options.clients != clients.all) {
    throw InputError("--clients", fmt::format("{} were asked for", options.clients),
                     fmt::format("mpirun started {}", clients.all));
  }
  const PolicyEntry& policy = policy_of(options);
  if (!clients.share_process() && !clients.sums) clients.communicator().obey(policy.make());
  if (!policy.keeps_apart) return;
  if (clients.all == 1 && !is_private(options)) {
    throw InputError("--policy", fmt::format("{} is for several clients, and there is one", options.policy),
                     "add --clients, start several with mpirun, or use open");
  }
  options.keep_local = true;
  for (std::size_t k = 0; k < clients.count && !clients.sums; ++k) {
    check_keys(options.keys, clients.first + k, clients.all);
  }
}

void require_others(bool in_parts, const char* flag, const Clients& clients) {
  if (!in_parts || clients.all > 1) return;
  throw InputError(flag, "is for several clients, and there is one", "add --clients, or start several with mpirun");
}

int run_with_clients(const SolveArguments& arguments, const std::function<int(Clients&)>& body) {
  const EndOnSignal end_on_signal;  // while ranks connect and inputs are opened
  report_truncated_inputs();
  Clients clients = clients_of(arguments);
  const auto refuse = [&](const InputError& error, bool knows_reason) {
    if (!clients.session) throw;
    clients.refuse_together(with_flags(error.marked()), knows_reason);
    return kBadInput;
  };
  try {
    if (clients.session && take_server(arguments) == Server::sums) {
      if (clients.first + 1 == clients.all) return serve_others(clients);
      clients.use_server(policy_of(arguments.options).make(), arguments.options.keys);
    }
    return body(clients);
  } catch (const ClientLost&) {
    if (clients.session) clients.session->state().abandon_server();
    throw;
  } catch (const ClientFailed&) {
    if (clients.session) clients.session->state().abandon_server();
    throw;
  } catch (const KeptReason& error) {
    return refuse(error, true);
  } catch (const InputError& error) {
    return refuse(error, false);
  }
}

}  // namespace fedsinkhorn
