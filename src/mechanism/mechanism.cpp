#include "mechanism/mechanism.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

void require_room_for(const Ledger& ledger, std::span<const LedgerLine> first) {
  if (ledger.affords(first)) return;
  std::vector<GaussianRelease> releases;
  for (const LedgerLine& line : first) releases.push_back({line.sensitivity, line.sigma});
  throw InputError("`budget`",
                   fmt::format("the first iteration alone costs epsilon {:.4g} with that noise",
                               exact_epsilon(composed_mu(releases), ledger.delta())),
                   "give more noise, or a larger budget");
}

double checked_sigma(const Options& options, double sigma, double largest) {
  constexpr double kLeast = 1e-15;
  constexpr double kMost = 1e15;
  constexpr double kMostRatio = 1e25;  // 128 bits hold it on a grid 2^31 times finer than sigma, for 4096 clients
  if (sigma >= kLeast && sigma <= kMost && largest / sigma <= kMostRatio) return sigma;
  throw InputError(options.noise > 0 ? "`noise`" : "`budget`",
                   fmt::format("a standard deviation of {:g} cannot be added to numbers up to {:g}", sigma, largest),
                   sigma > kMost ? fmt::format("ask for at most {:g}", kMost)
                                 : fmt::format("ask for at least {:g}", std::max(kLeast, largest / kMostRatio)));
}

void judge(const Options& options, double epsilon, PrivacyReport& report) {
  constexpr double kMostDelta = 0.01;
  if (options.noise_seed != 0) {
    report.why_not = "its noise comes from a seed, and anybody can repeat it";
  } else if (std::isinf(report.epsilon_exact)) {
    report.why_not = "there is no bound on epsilon";
  } else if (epsilon > options.private_up_to * (1 + 1e-9)) {
    report.why_not = fmt::format("epsilon {:.4g} is above {:g}, up to which a run is called private", epsilon,
                                 options.private_up_to);
  }
  if (report.why_not.empty() && report.delta > kMostDelta) {
    report.why_not =
        fmt::format("with probability delta, {:g}, there is no bound: give one far below 1 / records", report.delta);
  }
  report.is_private = report.why_not.empty();
}

bool wants_to_stop(const Collectives& clients, const StopRequest& stop) {
  if (clients.size() == 1) return stop.is_made();
  const double mine = stop.is_made() ? 1 : 0;
  const std::vector<double> all = clients.of(Payload::control).allgather_numbers({&mine, 1});
  for (std::size_t k = 0; k < all.size(); ++k) (void)from_peer(clients, k).truth(all[k], "a yes or no");
  return std::ranges::any_of(all, [](double wish) { return wish != 0; });
}

}  // namespace fedsinkhorn
