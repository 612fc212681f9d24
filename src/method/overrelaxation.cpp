// Overrelaxed Sinkhorn: u^(1-omega) (a / K v)^omega and likewise for v, with omega between 1 and 2.
//
// If plain Sinkhorn multiplies the error by lambda per round, the best omega is 2 / (1 + sqrt(1 - lambda)), which
// multiplies it by omega - 1 (Young's theory of successive overrelaxation). lambda is not known beforehand: a factor mu
// per round at omega means lambda = (mu + omega - 1)^2 / (mu omega^2).
//
// Far from the solution that can overshoot. A half-step that multiplies the scalings by z^omega, z = a / (row sums),
// adds  sum_i a_i phi(z_i),  phi(z) = omega log z - z^(omega-1) + 1/z,  to the dual value, and phi(z) >= 0 up to some z
// (Thibault, Chizat, Dossal, Papadakis): omega is kept small enough for that z to exceed the largest of the last round.
// z may have grown since, so the dual value is checked too, and a round that lowers it is undone.
#include <algorithm>
#include <cmath>

#include "core/special_numbers.hpp"
#include "method/acceleration.hpp"
#include "method/safeguard.hpp"

namespace fedsinkhorn {
namespace {

/// Rounds over which a rate is measured.
constexpr std::int64_t kRoundsEach = 10;
/// If the measured rate is this close to omega - 1, omega is reduced.
constexpr double kClose = 0.02;
constexpr double kLess = 0.98;
constexpr double kMostOmega = 1.99;

/// The largest omega for which no half-step whose ratios stay below z lowers the dual value.
double safe_omega(double z) {
  const auto is_safe = [z](double omega) { return omega * std::log(z) - std::pow(z, omega - 1) + 1 / z >= 0; };
  if (!std::isfinite(z)) return 1;
  if (z <= 1 || is_safe(kMostOmega)) return kMostOmega;
  double low = 1;
  double high = kMostOmega;
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    (is_safe(middle) ? low : high) = middle;
  }
  return low;
}

class Overrelaxation final : public Acceleration {
 public:
  explicit Overrelaxation(double mass) : slack_(kDualRounding * mass) {}

  [[nodiscard]] double relaxation() const override { return omega_; }
  void describe(const RoundOfTarget& round, Note& note) override;
  [[nodiscard]] Mixture decide(const Note& note) override;
  void restart() override;
  [[nodiscard]] bool is_proposal() const override { return omega_ > 1; }
  [[nodiscard]] double gain() const override { return gain_; }
  [[nodiscard]] std::int64_t rejected() const override { return rejected_; }

 private:
  // Positions of the sums in a note.
  enum Sum : std::size_t { kDual, kGain, kError, kSums };

  double omega_ = 1;
  double wanted_ = 1;  // according to the rate
  double dual_ = -kInfinity;
  double slack_;
  double gain_ = kInfinity;
  double error_then_ = kInfinity;  // at the first round with this omega
  std::int64_t rounds_ = 0;        // since then
  std::int64_t accepted_ = 0;
  std::int64_t rejected_ = 0;
};

void Overrelaxation::describe(const RoundOfTarget& round, Note& note) {
  note.sums.assign(kSums, {});
  double greatest = 1;  // largest factor of a plain half-step
  for (std::size_t i = 0; i < round.a.size(); ++i) {
    const double ratio = round.u[i] / round.u_before[i];  // z^omega
    note.sums[kDual].add(round.a[i] * std::log(round.u[i] / round.a[i]));
    greatest = worse(greatest, std::pow(ratio, 1 / omega_));
  }
  for (std::size_t j = 0; j < round.b.size(); ++j) {
    const double b = round.b[j];
    if (!(b > 0)) continue;
    const double columns = round.x[j] * round.r[j];
    note.sums[kDual].add(b * std::log(round.v[j] / b) - round.v[j] * round.r[j]);
    note.sums[kGain].add(b * std::log(b / columns) + columns - b);
    note.sums[kError].add(std::abs(columns - b));
    greatest = worse(greatest, b / columns);
  }
  note.maxima.assign(1, greatest);
}

Mixture Overrelaxation::decide(const Note& note) {
  const double dual = note.sums[kDual].total();
  if (is_proposal() && (!std::isfinite(dual) || dual < dual_ - slack_)) {
    ++rejected_;
    omega_ = wanted_ = 1;
    rounds_ = 0;
    return {false, 0, {}};
  }
  if (dual < dual_ - slack_) slack_ = 2 * (dual_ - dual);  // only noise makes a plain round lower it
  ++accepted_;
  dual_ = dual;
  gain_ = note.sums[kGain].total();
  const double error = note.sums[kError].total();
  if (rounds_ == 0) error_then_ = error;
  if (rounds_ == kRoundsEach) {
    const double mu = std::pow(error / error_then_, 1.0 / static_cast<double>(kRoundsEach));
    const double fastest = omega_ - 1;  // the rate this omega can reach
    if (mu > 0 && mu < 1 && mu > (1 + kClose) * fastest) {
      const double lambda = std::min((mu + fastest) * (mu + fastest) / (mu * omega_ * omega_), 1.0);
      // The first rounds are slower than the rest, so the suggested omega is approached in steps.
      wanted_ = std::min(2 / (1 + std::sqrt(1 - lambda)), (2 + omega_) / 2);
    } else {
      wanted_ = 1 + kLess * fastest;  // omega may be too large: then errors oscillate and the rate is meaningless
    }
    rounds_ = 0;
    error_then_ = error;
  }
  ++rounds_;
  const bool may_try = rejected_ <= kRejectionsForFree + accepted_;
  omega_ = may_try ? std::clamp(safe_omega(note.maxima[0]), 1.0, std::min(wanted_, kMostOmega)) : 1.0;
  return {true, 1, {}};
}

void Overrelaxation::restart() {
  omega_ = 1;
  dual_ = -kInfinity;
  rounds_ = 0;
}

}  // namespace

std::unique_ptr<Acceleration> make_overrelaxation(const MethodSettings& settings) {
  return std::make_unique<Overrelaxation>(settings.mass);
}

}  // namespace fedsinkhorn
