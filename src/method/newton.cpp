// Newton's method on the semi-dual F(x) = <log u, a> + <log v, b>, u = a / K v, in x = log v, damped so that a step is
// never worse than a plain one.
//
// With the plan's columns c, D = diag(c) and M = D^-1 P' diag(1/a) P, a plain step is log(b / c), to first order
// D^-1 (b - c), and a Newton step (1 - M)^-1 D^-1 (b - c). Damped steps lie between the two:
//   d = (1 - M / mu)^-1 D^-1 (b - c),   mu = 1 + damping,
// the Newton step without damping and the plain one with infinite damping. In the quadratic model of F every one of
// them gains at least as much as the plain step.
//
// F(x + d) is compared with D(x) = F(x) + KL(b || c), what a plain step is sure to reach (see anderson.cpp). If it is
// less, the round is rejected and the damping raised. Where both are equal to rounding, the error must decrease.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "method/acceleration.hpp"
#include "method/newton_system.hpp"
#include "method/safeguard.hpp"

namespace fedsinkhorn {
namespace {

/// Once noise was seen, gains up to this many times the slack may be noise alone.
constexpr double kNoiseAlone = 4;
/// The same for errors, which do not cancel as terms of the dual value do. A gain is about half the square of an error:
/// errors can be told from noise long after gains cannot.
constexpr double kNoiseOfErrors = 64;
constexpr double kLeastDamping = 1e-5;
constexpr double kMoreDamping = 8;
/// Longest step of log v: beyond, the quadratic model has nothing to say.
constexpr double kReach = 10;
/// A step of which less than this share is within reach wants more damping.
constexpr double kFarTooLong = 0.5;
/// Steps with more damping are no better than plain ones.
constexpr double kMostDamping = 10;
/// Damping below this is rounding error; none at all may leave the matrix singular.
constexpr double kNoDamping = 1e-13;
constexpr double kTiny = 1e-15;
/// A column with less than this share of its mass counts as having that share: no step can double it in one go.
constexpr double kLeastShare = 1e-9;
/// The first-order residual (b - c) / c sums up to zero over every component of the plan, but is much too large where c
/// is far below b; log(b / c) is then better.
constexpr double kFar = 1;

class Newton final : public Acceleration {
 public:
  explicit Newton(const MethodSettings& settings)
      : reach_(std::min(settings.reach, kReach)),
        slack_(kDualRounding * settings.mass),
        threads_(settings.threads),
        keeps_system_(!settings.is_one_of_many) {}

  void describe(const RoundOfTarget& round, Note& note) override;
  [[nodiscard]] Mixture decide(const Note& note) override;
  [[nodiscard]] bool wants_plan() const override { return wants_step_; }
  void propose(KernelAccess& kernel, std::span<double> x) override;
  void restart() override;
  [[nodiscard]] bool is_proposal() const override { return is_proposal_; }
  // What is left to gain: nothing that can be told from noise.
  [[nodiscard]] double gain() const override { return is_all_noise_ ? 0 : gain_; }
  [[nodiscard]] double error() const override { return is_all_noise_ ? 0 : error_; }
  [[nodiscard]] std::int64_t rejected() const override { return rejected_; }
  [[nodiscard]] std::int64_t newton_steps() const override { return steps_; }
  [[nodiscard]] std::int64_t products() const override { return products_ + (system_ ? system_->products() : 0); }

 private:
  // Positions of the sums in a note.
  enum Sum : std::size_t { kDual, kDualAfter, kError, kPredicted, kSums };

  /// This client's slices of a point, and what is known about it.
  struct Point {
    std::vector<double> x, c, u;
  };

  void accept(double dual, double dual_after, double error, double predicted);
  void reject();
  void scale_plan();

  const double reach_;
  double slack_;  // shortfall of F attributed to rounding or noise
  bool has_met_noise_ = false, is_all_noise_ = false;
  const int threads_;
  std::unique_ptr<NewtonSystem> system_;  // chosen when its size is known
  const bool keeps_system_;               // for a step that is tried again with more damping
  std::int64_t products_ = 0;             // of systems that were dropped
  std::vector<double> a_, b_;
  Point candidate_, standing_;
  ScaledPlan plan_;                         // of the standing point
  std::vector<double> h_, y_, root_;        // D^1/2 times the residual, the solution, D^1/2
  std::vector<double> beyond_first_order_;  // log(b / c) - (b - c) / c
  bool is_assembled_ = false;               // the system of the standing point
  bool wants_step_ = false, is_proposal_ = false;
  double predicted_ = 0;  // own share of the gain that the quadratic model promises

  double damping_ = 0;
  double share_ = 1;            // of the step found that is tried
  double opening_damping_ = 0;  // of the first step that counted since the last restart
  bool is_first_ = true;
  bool was_rejected_ = false;  // the round before
  double largest_residual_ = 0;
  double dual_ = 0;                                          // F of the standing point
  double floor_ = -std::numeric_limits<double>::infinity();  // after its second half-step
  double error_ = 0;
  double gain_ = std::numeric_limits<double>::infinity();
  std::int64_t accepted_ = 0, rejected_ = 0, steps_ = 0;
};

void Newton::describe(const RoundOfTarget& round, Note& note) {
  a_.assign(round.a.begin(), round.a.end());
  b_.assign(round.b.begin(), round.b.end());
  candidate_.x.assign(round.x.begin(), round.x.end());
  candidate_.u.assign(round.u.begin(), round.u.end());
  candidate_.c.resize(b_.size());
  note.sums.assign(kSums, {});
  note.known_sums = kSums - 1;  // all but sum a log(u / a)
  double largest = 0;
  for (std::size_t i = 0; i < a_.size(); ++i) note.sums[kDual].add(a_[i] * std::log(round.u[i] / a_[i]));
  note.sums[kDualAfter] = note.sums[kDual];
  for (std::size_t j = 0; j < b_.size(); ++j) {
    candidate_.c[j] = round.x[j] * round.r[j];
    if (!(b_[j] > 0)) continue;
    note.sums[kDual].add(b_[j] * std::log(round.x[j] / b_[j]));
    note.sums[kDualAfter].add(b_[j] * std::log(round.v[j] / b_[j]));
    note.sums[kError].add(std::abs(b_[j] - candidate_.c[j]));
    largest = worse(largest, std::abs(std::log(round.v[j] / round.x[j])));
  }
  note.sums[kPredicted].add(predicted_);
  note.maxima.assign({largest});
}

Mixture Newton::decide(const Note& note) {
  const double dual = note.sums[kDual].total();
  const double dual_after = note.sums[kDualAfter].total();
  const double error = note.sums[kError].total();
  const bool is_better = dual > floor_ + slack_ || (dual >= floor_ - slack_ && error < error_);
  if (is_proposal_ && !(std::isfinite(dual_after) && is_better)) {
    reject();
    return {.keep_newest = false};
  }
  largest_residual_ = note.maxima[0];
  accept(dual, dual_after, error, note.sums[kPredicted].total());
  return {};
}

void Newton::accept(double dual, double dual_after, double error, double predicted) {
  if (is_proposal_) {
    if (std::exchange(is_first_, false)) opening_damping_ = damping_;
    // How well the quadratic model told the gain. Where rounding hides it, the error shows that it was right.
    const double ratio = predicted > 4 * slack_ ? (dual - dual_) / predicted : 1;
    const bool was_rejected = std::exchange(was_rejected_, false);
    if (share_ < kFarTooLong) {
      damping_ = std::max(4 * damping_, kLeastDamping);
    } else if (ratio > 0.7) {
      damping_ /= was_rejected ? 4 : 16;
    } else if (ratio > 0.3 && !was_rejected) {
      damping_ /= 4;
    }
    if (damping_ < kNoDamping) damping_ = 0;
  }
  // Only noise can make the plain image fall short; differences as small as that say nothing.
  if (!is_proposal_ && dual < floor_ - slack_) {
    slack_ = 2 * (floor_ - dual);
    has_met_noise_ = true;
  }
  ++accepted_;
  std::swap(standing_, candidate_);
  dual_ = dual;
  floor_ = dual_after;
  gain_ = dual_after - dual;
  error_ = error;
  is_assembled_ = false;
  is_all_noise_ = has_met_noise_ && gain_ <= kNoiseAlone * slack_ && error_ <= kNoiseOfErrors * slack_;
  wants_step_ = rejected_ <= kRejectionsForFree + accepted_ && !is_all_noise_;
  is_proposal_ = false;
}

void Newton::reject() {
  ++rejected_;
  was_rejected_ = true;
  damping_ = std::max(kMoreDamping * damping_, kLeastDamping);
  if (damping_ > kMostDamping) {
    damping_ = kMostDamping;
    wants_step_ = false;
    // What earlier products have shown, far from here, may be what spoils the steps.
    if (system_) system_->forget();
  }
  if (rejected_ > kRejectionsForFree + accepted_) wants_step_ = false;
  is_proposal_ = false;
}

// B, and h = D^1/2 times the residual.
void Newton::scale_plan() {
  const std::size_t n = a_.size();
  const std::size_t m = b_.size();
  plan_.row_scale.resize(n);
  plan_.root_a.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    plan_.root_a[i] = std::sqrt(a_[i]);
    plan_.row_scale[i] = standing_.u[i] / plan_.root_a[i];
  }
  plan_.column_scale.assign(m, 0.0);
  plan_.root_c.assign(m, 0.0);
  h_.assign(m, 0.0);
  root_.assign(m, 1.0);
  beyond_first_order_.assign(m, 0.0);
  y_.resize(m);
  const bool is_far = largest_residual_ > kFar;
  for (std::size_t j = 0; j < m; ++j) {
    if (!(b_[j] > 0)) continue;
    const double c = std::max(standing_.c[j], kLeastShare * b_[j]);
    root_[j] = std::sqrt(c);
    plan_.root_c[j] = root_[j];
    plan_.column_scale[j] = standing_.x[j] / root_[j];
    if (is_far) {
      h_[j] = root_[j] * std::log(b_[j] / c);
    } else {
      h_[j] = (b_[j] - standing_.c[j]) / root_[j];
      beyond_first_order_[j] = std::log(b_[j] / c) - (b_[j] - standing_.c[j]) / c;
    }
  }
}

void Newton::propose(KernelAccess& kernel, std::span<double> x) {
  if (!is_assembled_) {
    scale_plan();
    std::vector<double> sums(2);
    for (std::size_t j = 0; j < h_.size(); ++j) {
      sums[0] += plan_.root_c[j] * h_[j];
      sums[1] += plan_.root_c[j] * plan_.root_c[j];
    }
    kernel.add_up(sums);
    for (std::size_t j = 0; j < h_.size(); ++j) h_[j] -= sums[0] / sums[1] * plan_.root_c[j];
    if (!system_) system_ = make_newton_system(kernel, plan_, threads_);
    system_->assemble(kernel, plan_);
    is_assembled_ = true;
  }
  while (!system_->solve(kernel, std::max(damping_, kTiny), h_, y_)) {
    damping_ = std::max(10 * damping_, 10 * kTiny);
    if (damping_ > kMostDamping) return;  // not a number: the next round is plain
  }

  // d = mu D^-1/2 y, and what makes it the plain step for infinite damping. The model's gain without that,
  // <d, b - c> - d'(D - P'P/a)d / 2, has (1 - B'B) y = h - damping y.
  const double mu = 1 + damping_;
  double longest = 0;
  for (std::size_t j = 0; j < y_.size(); ++j) {
    longest = std::max(longest, std::abs(mu * y_[j] / root_[j] + beyond_first_order_[j]));
  }
  longest = kernel.greatest(longest);
  share_ = longest > reach_ ? reach_ / longest : 1;
  predicted_ = 0;
  for (std::size_t j = 0; j < y_.size(); ++j) {
    if (!(b_[j] > 0)) continue;
    const double d = share_ * mu * y_[j] / root_[j];
    x[j] = standing_.x[j] * std::exp(d + share_ * beyond_first_order_[j]);
    predicted_ += d * (b_[j] - standing_.c[j]) - share_ * mu * share_ * mu * y_[j] * (h_[j] - damping_ * y_[j]) / 2;
  }
  is_proposal_ = true;
  ++steps_;
  if (keeps_system_) return;
  products_ += system_->products();
  system_.reset();
  is_assembled_ = false;
}

// The standing point is lost, and with it the system.
void Newton::restart() {
  wants_step_ = is_proposal_ = is_assembled_ = false;
  if (system_) system_->forget();
  is_first_ = true;
  damping_ = opening_damping_;
  floor_ = -std::numeric_limits<double>::infinity();
  gain_ = std::numeric_limits<double>::infinity();
}

}  // namespace

std::unique_ptr<Acceleration> make_newton(const MethodSettings& settings) { return std::make_unique<Newton>(settings); }

}  // namespace fedsinkhorn
