#include "mechanism/mechanism.hpp"

#include <algorithm>

#include "comm/from_peer.hpp"

namespace fedsinkhorn {

Budget budget_of(const Options& options) {
  if (options.budget.size() != 2) return {.delta = options.delta};
  return {options.budget[0], options.budget[1]};
}

std::unique_ptr<RandomBits> random_bits_for(const Options& options, std::size_t client) {
  if (options.noise_seed == 0) return std::make_unique<SystemBits>();
  return std::make_unique<SeededBits>(options.noise_seed, client);
}

bool wants_to_stop(const Collectives& clients, const StopRequest& stop) {
  if (clients.size() == 1) return stop.is_made();
  const double mine = stop.is_made() ? 1 : 0;
  const std::vector<double> all = clients.of(Payload::control).allgather_numbers({&mine, 1});
  for (std::size_t k = 0; k < all.size(); ++k) (void)from_peer(clients, k).truth(all[k], "a yes or no");
  return std::ranges::any_of(all, [](double wish) { return wish != 0; });
}

}  // namespace fedsinkhorn
