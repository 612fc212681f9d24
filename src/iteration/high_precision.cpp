#include "iteration/high_precision.hpp"

#include <algorithm>
#include <array>
#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <limits>
#include <memory>

#include "core/half_step.hpp"
#include "core/stop_request.hpp"
#include "core/stopwatch.hpp"
#include "cost/metric.hpp"
#include "cost/points_input.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

using Number =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<50, boost::multiprecision::allocate_stack>,
                                  boost::multiprecision::et_off>;

/// Widens MPFR's exponent range, for this thread, to its limits during its lifetime. exp(-C / epsilon) then stays
/// positive for C / epsilon up to 3e18.
class WideExponents {
 public:
  WideExponents() : least_(mpfr_get_emin()), greatest_(mpfr_get_emax()) {
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
  }
  ~WideExponents() {
    mpfr_set_emin(least_);
    mpfr_set_emax(greatest_);
  }
  WideExponents(const WideExponents&) = delete;
  WideExponents& operator=(const WideExponents&) = delete;

 private:
  mpfr_exp_t least_, greatest_;
};

/// C_ij in 50 digits; infinite where the pair is forbidden.
class PreciseCost {
 public:
  explicit PreciseCost(const CheckedProblem& problem)
      : problem_(problem),
        points_(problem.costs->points()),
        source_(points_ == nullptr ? make_cost_source(problem.block(), cpu::simd("auto")) : nullptr) {}

  [[nodiscard]] bool forbidden(std::size_t i, std::size_t j) const {
    return points_ == nullptr && std::isinf(as_given(i, j));
  }

  [[nodiscard]] Number operator()(std::size_t i, std::size_t j) const {
    if (points_ == nullptr) return {as_given(i, j)};
    const PointClouds& clouds = points_->clouds();
    const std::size_t row = problem_.rows.active[i];
    const std::size_t column = problem_.columns.active[j];
    const bool scaled = is_of_directions(clouds.metric);
    const Number x_length = scaled ? length(clouds.x, row) : Number(1);
    const Number y_length = scaled ? length(clouds.y, column) : Number(1);
    Number distance = 0;
    for (std::size_t k = 0; k < columns_of(clouds.x); ++k) {
      const Number difference = entry(clouds.x, row, k) / x_length - entry(clouds.y, column, k) / y_length;
      distance += difference * difference;
    }
    return cost_at_square(clouds.metric, distance);
  }

 private:
  [[nodiscard]] double as_given(std::size_t i, std::size_t j) const {
    if (const double* row = source_->row_in_place(i)) return row[j];
    std::array<double, cpu::kPanel> panel{};
    source_->fill(i, 1, j / cpu::kPanel * cpu::kPanel, j % cpu::kPanel + 1, panel.data(), panel.size());
    return panel[j % cpu::kPanel];
  }
  static Number length(const AnyMatrix& points, std::size_t i) {
    Number squares = 0;
    for (std::size_t k = 0; k < columns_of(points); ++k) squares += Number(entry(points, i, k)) * entry(points, i, k);
    return sqrt(squares);
  }
  static double entry(const AnyMatrix& matrix, std::size_t i, std::size_t j) {
    return std::visit([&](const auto& view) { return static_cast<double>(view(i, j)); }, matrix);
  }

  const CheckedProblem& problem_;
  const PointsInput* points_;
  std::unique_ptr<CostSource> source_;  // where there are no points: costs as they were given
};

Number norm_of_difference(Norm norm, const std::vector<Number>& x, const std::vector<Number>& y) {
  Number total = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Number difference = abs(x[i] - y[i]);
    if (norm == Norm::l1) total += difference;
    if (norm == Norm::l2) total += difference * difference;
    if (norm == Norm::linf && !(difference <= total)) total = difference;
    if (isnan(total)) return total;
  }
  return norm == Norm::l2 ? Number(sqrt(total)) : total;
}

/// epsilon log(scaling) as value + rest.
Potential potential_of(const std::vector<Number>& scaling, double epsilon) {
  Potential potential{std::vector<double>(scaling.size()), std::vector<double>(scaling.size())};
  for (std::size_t i = 0; i < scaling.size(); ++i) {
    if (scaling[i] == 0) {
      potential.value[i] = -std::numeric_limits<double>::infinity();
      continue;
    }
    const Number exact = epsilon * log(scaling[i]);
    potential.value[i] = exact.convert_to<double>();
    potential.rest[i] = Number(exact - potential.value[i]).convert_to<double>();
  }
  return potential;
}

class PreciseSinkhorn {
 public:
  PreciseSinkhorn(const CheckedProblem& problem, const StopRequest& stop)
      : problem_(problem), stop_(stop), n_(problem.n()), m_(problem.m()), kernel_(n_ * m_), cost_(problem) {
    const Timer timer;
    for (std::size_t i = 0; i < n_; ++i) {
      stop_.throw_if_made();
      for (std::size_t j = 0; j < m_; ++j) {
        kernel_[i * m_ + j] = cost_.forbidden(i, j) ? Number(0) : Number(exp(-cost_(i, j) / problem.epsilon));
      }
    }
    build_seconds_ = timer.seconds();
  }

  PreciseOutcome solve(std::size_t target, Monitor& monitor) const {
    const Options& options = monitor.options();
    const ScalingRule& rule = problem_.rule;
    std::vector<Number> a(problem_.a.begin(), problem_.a.end());
    std::vector<Number> b(problem_.target(target), problem_.target(target) + m_);
    // The totals agree to rounding in float64; here they must agree to 50 digits.
    Number total_a = 0;
    Number total_b = 0;
    for (const auto& x : a) total_a += x;
    for (const auto& x : b) total_b += x;
    for (auto& x : b) x *= total_a / total_b;

    std::vector<Number> u(n_, Number(1));
    std::vector<Number> v(m_, Number(1));
    for (std::size_t j = 0; problem_.has_initial_g && j < m_; ++j) {
      const double g = problem_.initial_g(target)[j];
      v[j] = std::isfinite(g) ? Number(exp(Number(g) / problem_.epsilon)) : Number(0);
    }
    std::vector<Number> q = apply(v);
    PreciseOutcome result;
    Outcome& outcome = result.outcome;
    outcome.target = target;
    for (std::int64_t iteration = 1;; ++iteration) {
      const std::vector<Number> u_before = u;
      const std::vector<Number> v_before = v;
      const Stopwatch::Scope timed(monitor.iterating());
      const Number error_a = norm_of_difference(options.norm, product(u, q), a);
      for (std::size_t i = 0; i < n_; ++i) u[i] = rule.scaling(a[i], q[i]);
      const std::vector<Number> r = apply_transposed(u);
      const Number error_b = norm_of_difference(options.norm, product(v, r), b);
      for (std::size_t j = 0; j < m_; ++j) v[j] = rule.scaling(b[j], r[j]);
      q = apply(v);  // for the next iteration and for the error of this one

      if (monitor.interrupted()) {  // part of the product may be missing
        if (iteration == 1 && target == 0) throw Interrupted();
        u = u_before;
        v = v_before;
        outcome.status = Status::interrupted;
        break;
      }

      outcome.iterations = iteration;
      outcome.error.a = norm_of_difference(options.norm, product(u, q), a).convert_to<double>();
      outcome.error.b = norm_of_difference(options.norm, product(v, r), b).convert_to<double>();
      const bool check = monitor.is_check(iteration);
      if (check) {
        monitor.record(iteration, {error_a.convert_to<double>(), error_b.convert_to<double>()},
                       problem_.targets - target, {.epsilon = problem_.epsilon});
      }
      if (!std::isfinite(outcome.error.a) || !std::isfinite(outcome.error.b)) {
        outcome.status = Status::diverged;
        break;
      }
      if (check && monitor.small_enough(worse(outcome.error.a, outcome.error.b))) {
        outcome.status = Status::converged;
        for (std::size_t i = 0; i < n_; ++i) {
          const auto sum = Number(u[i] * q[i]).convert_to<double>();
          if (is_left_behind(sum, problem_.a[i], problem_.mass)) u[i] = rule.scaling(a[i], q[i]);
        }
        break;
      }
      if (iteration >= options.max_iterations) {
        outcome.status = Status::iteration_limit;
        break;
      }
    }
    outcome.f = potential_of(u, problem_.epsilon);
    outcome.g = potential_of(v, problem_.epsilon);
    // One logarithm per entry of the plan takes as long as building the kernel did.
    constexpr double patience = 1;
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    const bool is_cut_short = outcome.status == Status::interrupted && build_seconds_ > patience;
    result.cost = is_cut_short ? Costs{unknown, unknown, unknown, unknown} : costs(u, v, a, b);
    return result;
  }

 private:
  [[nodiscard]] std::vector<Number> apply(const std::vector<Number>& v) const {
    std::vector<Number> q(n_, Number(0));
    for (std::size_t i = 0; i < n_ && !stop_.is_made(); ++i) {
      for (std::size_t j = 0; j < m_; ++j) q[i] += kernel_[i * m_ + j] * v[j];
    }
    return q;
  }
  [[nodiscard]] std::vector<Number> apply_transposed(const std::vector<Number>& u) const {
    std::vector<Number> r(m_, Number(0));
    for (std::size_t i = 0; i < n_ && !stop_.is_made(); ++i) {
      for (std::size_t j = 0; j < m_; ++j) r[j] += kernel_[i * m_ + j] * u[i];
    }
    return r;
  }
  static std::vector<Number> product(const std::vector<Number>& x, const std::vector<Number>& y) {
    std::vector<Number> z(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) z[i] = x[i] * y[i];
    return z;
  }

  // In the units of the masses given.
  [[nodiscard]] Costs costs(const std::vector<Number>& u, const std::vector<Number>& v, const std::vector<Number>& a,
                            const std::vector<Number>& b) const {
    const Number scale = ldexp(Number(1), problem_.mass_exponent);
    const Number epsilon = problem_.epsilon;
    Number linear = 0;
    Number p_log_p = 0;
    Number log_density = 0;
    Number mass = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < m_; ++j) {
        const Number plan = u[i] * kernel_[i * m_ + j] * v[j] * scale;
        if (plan == 0) continue;
        linear += plan * cost_(i, j);
        p_log_p += plan * log(plan);
        log_density += plan * log(plan / (scale * a[i] * scale * b[j]));
        mass += plan;
      }
    }
    Number total_a = 0;
    Number total_b = 0;
    // The factor of the masses goes into f; the sum does not depend on where it goes.
    Number dual = -epsilon * mass;
    for (std::size_t i = 0; i < n_; ++i) {
      dual += scale * a[i] * epsilon * log(scale * u[i]);
      total_a += scale * a[i];
    }
    for (std::size_t j = 0; j < m_; ++j) {
      if (b[j] > 0) dual += scale * b[j] * epsilon * log(v[j]);
      total_b += scale * b[j];
    }
    const Number entropy = mass - p_log_p;
    const Number objective = linear - epsilon * entropy;
    const Number kl_objective = linear + epsilon * (log_density - mass + total_a * total_b);
    return {linear.convert_to<double>(), entropy.convert_to<double>(),          objective.convert_to<double>(),
            dual.convert_to<double>(),   Number(-p_log_p).convert_to<double>(), kl_objective.convert_to<double>()};
  }

  const CheckedProblem& problem_;
  const StopRequest& stop_;
  double build_seconds_ = 0;
  std::size_t n_;
  std::size_t m_;
  std::vector<Number> kernel_;
  PreciseCost cost_;
};

}  // namespace

std::vector<PreciseOutcome> precise_sinkhorn(const CheckedProblem& problem, Monitor& monitor) {
  const WideExponents wide;
  const StopRequest stop(monitor.options().interrupt);
  const PreciseSinkhorn solver(problem, stop);
  std::vector<PreciseOutcome> outcomes;
  for (std::size_t k = 0; k < problem.targets; ++k) outcomes.push_back(solver.solve(k, monitor));
  return outcomes;
}

double precise_bytes(std::size_t n, std::size_t m) {
  const auto rows = static_cast<double>(n);
  const auto columns = static_cast<double>(m);
  return sizeof(Number) * (rows * columns + 8 * (rows + columns));
}

}  // namespace fedsinkhorn
