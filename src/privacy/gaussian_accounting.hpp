// What Gaussian noise guarantees: (epsilon, delta) of releases, and the noise that a budget asks for.
//
// Releases of unsampled Gaussians are, all together, as one: they tell two neighbouring data sets apart exactly as well
// as N(0, 1) and N(mu, 1) can be told apart. So mu says everything, and
//   delta(epsilon) = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)
// is not a bound (Balle and Wang 2018; Dong, Roth and Su 2022). Rényi's divergences give bounds above it, which others
// state.
//
// Functions throw std::invalid_argument if an argument is NaN or out of the range named. Thread-safe.
#pragma once

#include <span>

namespace fedsinkhorn {

/// What one Gaussian release shows: a vector that moves by at most `sensitivity` (L2) between neighbouring data sets,
/// plus noise of standard deviation `sigma` in every coordinate, `count` times. None is negative.
struct GaussianRelease {
  double sensitivity;
  double sigma;
  double count = 1;
};

/// mu of all releases together: sqrt(sum of count sensitivity^2 / sigma^2). A release that cannot move counts for
/// nothing; one without noise, or without a bound on how it moves, makes mu infinite.
[[nodiscard]] double composed_mu(std::span<const GaussianRelease> releases);

/// mu >= 0, epsilon >= 0. Right to 1e-12 of itself.
[[nodiscard]] double exact_delta(double mu, double epsilon);

/// The least epsilon with that delta, in (0, 1), rounded up. 0 where delta is reached without any; infinite for mu =
/// infinity, and where epsilon is beyond float64.
[[nodiscard]] double exact_epsilon(double mu, double delta);

/// How (order, epsilon) of Rényi becomes (epsilon, delta).
enum class Conversion {
  tight,  ///< epsilon + log((p - 1) / p) - (log delta + log p) / (p - 1): Canonne, Kamath and Steinke 2020
  papers  ///< epsilon + log(1 / delta) / (p - 1): Mironov 2017, and the paper
};

struct RenyiBound {
  double epsilon;
  double order;    ///< that gives it
  bool is_at_end;  ///< of the grid: an order outside of it may give less
};

/// The least over the orders 1.1, 1.2, ..., 10.9, 11, 12, ..., 63, 128, 256, 512 and 1024. Never below exact_epsilon.
[[nodiscard]] RenyiBound renyi_epsilon(double mu, double delta, Conversion conversion);

/// The largest mu with exact_epsilon(mu, delta) <= epsilon, rounded down. epsilon > 0.
[[nodiscard]] double calibrated_mu(double epsilon, double delta);

/// The least sigma for that many equal releases, at least 1, rounded up: accounted for again, they cost epsilon or
/// less. Infinite where float64 cannot hold it.
[[nodiscard]] double calibrated_sigma(double epsilon, double delta, double sensitivity, double releases);

}  // namespace fedsinkhorn
