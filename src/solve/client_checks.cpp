#include "solve/client_checks.hpp"

#include <numeric>
#include <utility>

namespace fedsinkhorn {
namespace {

std::uint64_t of_all_phases(const std::array<std::uint64_t, kPhases>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

}  // namespace

Options with_client_checks(const Options& options, const CountingCommunicator& traffic, OwnProgress own) {
  if (!options.on_client_check) return options;
  Options checking = options;
  checking.on_check = [&traffic, own = std::move(own), first = options.on_check,
                       then = options.on_client_check](const Progress& progress) {
    if (first) first(progress);
    ClientProgress client = own(progress);
    client.communication_seconds = traffic.seconds();
    client.bytes_sent = of_all_phases(traffic.traffic().bytes_sent);
    client.bytes_received = of_all_phases(traffic.traffic().bytes_received);
    then(client);
  };
  return checking;
}

}  // namespace fedsinkhorn
