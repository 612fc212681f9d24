#include "privacy/gaussian_accounting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/special_numbers.hpp"

namespace fedsinkhorn {
namespace {

void require(bool holds, const char* what, double value) {
  if (!holds) throw std::invalid_argument(fmt::format("{} must not be {}", what, value));
}
void require_mu(double mu) { require(mu >= 0, "mu", mu); }
void require_delta(double delta) { require(delta > 0 && delta < 1, "delta", delta); }

double normal_density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }
/// Phi(-x)
double normal_tail(double x) { return boost::math::erfc(x / std::numbers::sqrt2) / 2; }

/// The integral of weight(t) exp(-a t - t^2/2) over t > 0, for a weight between 0 and 1 that does not vary faster than
/// exp(-8 t). The rest of the integrand is below exp(-40) from the end on.
template <class Weight>
double laplace_integral(double a, const Weight& weight) {
  const auto integrand = [&](double t) { return weight(t) * std::exp(-t * (a + t / 2)); };
  const double end = 80 / (a + std::hypot(a, std::sqrt(80.0)));
  constexpr int kPieces = 4;  // with 30 nodes each, all digits
  double sum = 0;
  for (int k = 0; k < kPieces; ++k) {
    sum += boost::math::quadrature::gauss<double, 30>::integrate(integrand, end * k / kPieces, end * (k + 1) / kPieces);
  }
  return sum;
}

/// delta at epsilon = mu (a + mu/2). With b = a + mu: Phi(-a) - e^epsilon Phi(-b), where e^epsilon = phi(a) / phi(b).
/// a >= -mu/2.
double delta_at(double mu, double a) {
  // Where both terms may be near each other: phi(a) times the integral of (1 - e^{-mu t}) e^{-a t - t^2/2}, which
  // has no difference of near numbers.
  constexpr double kSmall = 8;
  if (mu <= kSmall) {
    return normal_density(a) * laplace_integral(a, [mu](double t) { return -std::expm1(-mu * t); });
  }
  // Here the second term is at most 0.83 of the first as long as that is not 0. Phi(-b) / phi(b) is an integral, too.
  return normal_tail(a) - normal_density(a) * laplace_integral(a + mu, [](double) { return 1; });
}

/// log, with 0 as the least number.
double log_of(double x) { return std::log(std::max(x, std::numeric_limits<double>::denorm_min())); }

/// The ends of an interval around the root of f as near as float64 allows; f has different signs at low and high.
template <class Function>
std::pair<double, double> enclose_root(const Function& f, double low, double high) {
  const double at_low = f(low);
  const double at_high = f(high);
  if (at_low == 0) return {low, low};
  if (at_high == 0) return {high, high};
  std::uintmax_t evaluations = 200;
  return boost::math::tools::toms748_solve(f, low, high, at_low, at_high, boost::math::tools::eps_tolerance<double>(),
                                           evaluations);
}

std::vector<double> orders() {
  std::vector<double> all;
  for (int k = 11; k <= 109; ++k) all.push_back(k / 10.0);
  for (int p = 11; p <= 63; ++p) all.push_back(p);
  for (int p = 128; p <= 1024; p *= 2) all.push_back(p);
  return all;
}

}  // namespace

double composed_mu(std::span<const GaussianRelease> releases) {
  std::vector<double> own;  // mu of each
  for (const GaussianRelease& release : releases) {
    require(release.sensitivity >= 0, "sensitivity", release.sensitivity);
    require(release.sigma >= 0, "sigma", release.sigma);
    require(release.count >= 0 && std::isfinite(release.count), "count", release.count);
    if (release.sensitivity == 0 || release.count == 0) continue;
    if (std::isinf(release.sensitivity)) return kInfinity;
    own.push_back(std::sqrt(release.count) * (release.sensitivity / release.sigma));
  }
  const double largest = own.empty() ? 0 : *std::max_element(own.begin(), own.end());
  if (largest == 0 || std::isinf(largest)) return largest;
  double sum = 0;  // of squares, which could overflow
  for (const double mu : own) sum += (mu / largest) * (mu / largest);
  return largest * std::sqrt(sum);
}

double exact_delta(double mu, double epsilon) {
  require_mu(mu);
  require(epsilon >= 0, "epsilon", epsilon);
  if (mu == 0 || std::isinf(epsilon)) return 0;
  const double square = mu * mu;
  if (std::isinf(square)) return 1;
  // (2 epsilon - mu^2) / (2 mu), where the difference may be of near numbers.
  const double rest = std::fma(mu, mu, -square);
  const double a = ((2 * epsilon - square) - rest) / (2 * mu);
  return std::isinf(a) ? 0 : delta_at(mu, a);
}

double exact_epsilon(double mu, double delta) {
  require_mu(mu);
  require_delta(delta);
  if (mu == 0) return 0;
  const double least = -mu / 2;  // where epsilon is 0
  if (std::isinf(mu * mu)) return kInfinity;
  if (delta_at(mu, least) <= delta) return 0;
  const auto excess = [&](double a) { return log_of(delta_at(mu, a)) - std::log(delta); };
  // Phi(-a) > delta_at(mu, a), so that the root is below this.
  double high = std::max(least, std::numbers::sqrt2 * boost::math::erfc_inv(2 * delta));
  while (excess(high) > 0) high += 1e-3;  // rounding
  double low = high;
  for (double step = 1; low > least && excess(low) <= 0; step *= 2) low = std::max(least, high - step);
  const double a = enclose_root(excess, low, high).second;
  return std::max(0.0, mu * (a + mu / 2));
}

RenyiBound renyi_epsilon(double mu, double delta, Conversion conversion) {
  require_mu(mu);
  require_delta(delta);
  static const std::vector<double> all = orders();
  const auto bound = [&](double p) {
    const double divergence = p * mu * mu / 2;
    if (conversion == Conversion::papers) return divergence - std::log(delta) / (p - 1);
    return divergence + std::log1p(-1 / p) - (std::log(delta) + std::log(p)) / (p - 1);
  };
  RenyiBound best{kInfinity, all.front(), true};
  for (const double p : all) {
    if (const double epsilon = bound(p); epsilon < best.epsilon) best = {epsilon, p, false};
  }
  best.is_at_end = best.order == all.front() || best.order == all.back();
  best.epsilon = std::max(best.epsilon, 0.0);
  return best;
}

double calibrated_mu(double epsilon, double delta) {
  require(epsilon > 0, "epsilon", epsilon);
  require_delta(delta);
  if (std::isinf(epsilon)) return kInfinity;
  const auto excess = [&](double mu) { return log_of(exact_delta(mu, epsilon)) - std::log(delta); };
  double high = 1;
  while (excess(high) <= 0) high *= 2;
  double low = high / 2;
  while (excess(low) > 0) low /= 2;
  double mu = enclose_root(excess, low, high).first;
  for (double step = 0x1p-53; exact_epsilon(mu, delta) > epsilon; step *= 2) mu *= 1 - step;
  return mu;
}

double calibrated_sigma(double epsilon, double delta, double sensitivity, double releases) {
  require(sensitivity >= 0, "sensitivity", sensitivity);
  require(releases >= 1 && std::isfinite(releases), "releases", releases);
  if (sensitivity == 0) return 0;
  double sigma = std::sqrt(releases) * (sensitivity / calibrated_mu(epsilon, delta));
  if (std::isinf(sigma)) return sigma;
  sigma = std::max(sigma, std::numeric_limits<double>::min());  // 0 would be no noise at all
  const auto cost = [&] {
    return exact_epsilon(composed_mu(std::array{GaussianRelease{sensitivity, sigma, releases}}), delta);
  };
  for (double step = 0x1p-52; cost() > epsilon; step *= 2) sigma *= 1 + step;
  return sigma;
}

}  // namespace fedsinkhorn
