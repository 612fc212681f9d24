#include "solve/threads_of_client.hpp"

#include <algorithm>

#include "core/processors.hpp"

namespace fedsinkhorn {
namespace {

/// A server in this process does not compute.
std::size_t computing_on_machine(const Communicator& communicator, const Options& options) {
  const std::size_t all = communicator.clients_on_machine();
  return options.server == Server::sums && communicator.shares_process() && all > 1 ? all - 1 : all;
}

}  // namespace

int threads_to_use(const Options& options, std::size_t clients_on_machine, bool share_process) {
  if (options.threads > 0) return options.threads;
  const auto clients = static_cast<int>(clients_on_machine);
  const int share =
      share_process ? processors_allowed() / clients : std::min(processors_allowed(), processors_online() / clients);
  return std::max(1, share);
}

int threads_of_client(const Options& options, const Communicator& communicator) {
  return threads_to_use(options, computing_on_machine(communicator, options), communicator.shares_process());
}

}  // namespace fedsinkhorn
