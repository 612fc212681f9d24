#include "mechanism/mechanism.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "comm/from_peer.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

Budget budget_of(const Options& options) {
  if (options.budget.size() != 2) return {.delta = options.delta};
  return {options.budget[0], options.budget[1]};
}

std::unique_ptr<RandomBits> random_bits_for(const Options& options, std::size_t client) {
  if (options.noise_seed == 0) return std::make_unique<SystemBits>();
  return std::make_unique<SeededBits>(options.noise_seed, client);
}

void require_room_for(const Ledger& ledger, const LedgerLine& first) {
  if (ledger.affords({&first, 1})) return;
  const GaussianRelease release{first.sensitivity, first.sigma};
  throw InputError("`budget`",
                   fmt::format("a single release costs epsilon {:.4g} with that noise",
                               exact_epsilon(composed_mu({&release, 1}), ledger.delta())),
                   "give more noise, or a larger budget");
}

bool wants_to_stop(const Collectives& clients, const StopRequest& stop) {
  if (clients.size() == 1) return stop.is_made();
  const double mine = stop.is_made() ? 1 : 0;
  const std::vector<double> all = clients.of(Payload::control).allgather_numbers({&mine, 1});
  for (std::size_t k = 0; k < all.size(); ++k) (void)from_peer(clients, k).truth(all[k], "a yes or no");
  return std::ranges::any_of(all, [](double wish) { return wish != 0; });
}

}  // namespace fedsinkhorn
