#include "torture/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <exception>
#include <limits>
#include <span>

#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "torture/reference.hpp"

namespace fedsinkhorn::torture {
namespace {

// Sums that leave the range of a double are not known there.
constexpr Real kLargest = 1e305L;
constexpr Real kSmallest = 1e-300L;

/// One target of a result: its plan formed anew from the potentials, and what follows from that.
class Target {
 public:
  Target(const Case& it, const std::vector<Real>& costs, const Result& result, std::size_t target)
      : it_(it), costs_(costs), masses_(exact_masses(it, costs, target)), plan_(it.n * it.m) {
    for (std::size_t i = 0; i < it.n; ++i) f_.push_back(potential(result.f, result.f_rest, i * it.targets + target));
    for (std::size_t j = 0; j < it.m; ++j) g_.push_back(potential(result.g, result.g_rest, j * it.targets + target));
    Real largest = 0;
    for (std::size_t i = 0; i < it.n; ++i) {
      for (std::size_t j = 0; j < it.m; ++j) {
        const Real cost = costs[i * it.m + j];
        if (!(masses_.a[i] > 0 && masses_.b[j] > 0) || std::isinf(cost)) continue;
        plan_[i * it.m + j] = std::exp(exponent(result, target, i, j));
        largest = std::max(largest, std::abs(f_[i]) + std::abs(g_[j]) + std::abs(cost));
      }
    }
    // Costs and exponents in float64 have an error of some 2^-52 of their terms; the plan has the same relative error.
    // Of costs that are given, and potentials with all their digits, nothing is lost.
    const bool is_exact = it.is_hard && !result.f_rest.empty();
    rounding_ = is_exact ? 1e-11L : 1e-13L + 5e-16L * largest / it.epsilon;
  }

  [[nodiscard]] const Masses& masses() const { return masses_; }
  [[nodiscard]] const std::vector<Real>& plan() const { return plan_; }
  [[nodiscard]] const std::vector<Real>& f() const { return f_; }
  [[nodiscard]] const std::vector<Real>& g() const { return g_; }
  [[nodiscard]] Real rounding() const { return rounding_; }

  /// Norms of P 1 - a and P' 1 - b.
  [[nodiscard]] Real error_a(Norm norm) const {
    return error(norm, masses_.a, it_.m, [m = it_.m](std::size_t i, std::size_t j) { return i * m + j; });
  }
  [[nodiscard]] Real error_b(Norm norm) const {
    return error(norm, masses_.b, it_.n, [m = it_.m](std::size_t j, std::size_t i) { return i * m + j; });
  }

  /// A sum over the plan, and the sum of the absolute values of what it is made of: its rounding is a share of that.
  struct Sum {
    Real value = 0;
    Real terms = 0;
    void add(Real term) {
      value += term;
      terms += std::abs(term);
    }
  };
  [[nodiscard]] Sum linear() const {
    Sum sum;
    for (std::size_t p = 0; p < plan_.size(); ++p) {
      if (!(plan_[p] > 0)) continue;
      sum.add(plan_[p] * costs_[p]);
      sum.terms += plan_[p] * vanishing_cost(it_);
    }
    return sum;
  }
  [[nodiscard]] Sum entropy() const {
    Sum sum;
    for (const Real p : plan_) {
      if (!(p > 0)) continue;
      sum.add(p);
      sum.add(-p * std::log(p));
    }
    return sum;
  }
  [[nodiscard]] Sum dual() const {
    Sum sum;
    for (std::size_t i = 0; i < it_.n; ++i) {
      if (masses_.a[i] > 0) sum.add(f_[i] * masses_.a[i]);
    }
    for (std::size_t j = 0; j < it_.m; ++j) {
      if (masses_.b[j] > 0) sum.add(g_[j] * masses_.b[j]);
    }
    for (const Real p : plan_) sum.add(-it_.epsilon * p);
    return sum;
  }

 private:
  /// at(line, k): where entry k of a row or column is.
  template <class At>
  [[nodiscard]] Real error(Norm norm, const std::vector<Real>& masses, std::size_t length, const At& at) const {
    std::vector<Real> difference(masses.size());
    for (std::size_t line = 0; line < masses.size(); ++line) {
      difference[line] = -masses[line];
      for (std::size_t k = 0; k < length; ++k) difference[line] += plan_[at(line, k)];
    }
    return norm_of(norm, difference);
  }
  static Real potential(const std::vector<double>& values, const std::vector<double>& rests, std::size_t at) {
    return static_cast<Real>(values.at(at)) + (at < rests.size() && std::isfinite(values[at]) ? rests[at] : 0);
  }

  /// A small difference of large numbers.
  [[nodiscard]] Real exponent(const Result& result, std::size_t target, std::size_t i, std::size_t j) const {
    if (!it_.is_hard) return (f_[i] + g_[j] - costs_[i * it_.m + j]) / it_.epsilon;
    using Quad = boost::multiprecision::cpp_bin_float_quad;
    Quad sum = -Quad(it_.cost[i * it_.m + j]);
    const auto add = [&sum](const std::vector<double>& values, const std::vector<double>& rests, std::size_t at) {
      sum += Quad(values[at]);
      if (at < rests.size()) sum += Quad(rests[at]);
    };
    add(result.f, result.f_rest, i * it_.targets + target);
    add(result.g, result.g_rest, j * it_.targets + target);
    return sum.convert_to<Real>() / it_.epsilon;
  }

  const Case& it_;
  const std::vector<Real>& costs_;
  Masses masses_;
  std::vector<Real> f_, g_;
  std::vector<Real> plan_;
  Real rounding_ = 0;
};

class Judge {
 public:
  Judge(const Case& it, const Result& result) : it_(it), result_(result), costs_(exact_costs(it)) {
    // A kernel of float32 has 24 bits, and so has what is multiplied with it.
    storage_ = it.options.precision == Precision::float32 ? 1e-6L
               : it.options.precision == Precision::mixed ? 3e-7L
                                                          : 0;
  }

  Verdict run(const std::vector<double>& plan) {
    if (result_.f.size() != it_.n * it_.targets || result_.g.size() != it_.m * it_.targets ||
        result_.per_target.size() != it_.targets) {
      complain("f, g or the list of targets has another size");
      return verdict_;
    }
    if (result_.status == Status::diverged) complain("diverged");
    if (result_.status == Status::interrupted || result_.status == Status::client_lost) complain("ended early");
    Target::Sum linear;
    for (std::size_t k = 0; k < it_.targets; ++k) {
      const Target target(it_, costs_, result_, k);
      check_potentials(target, k);
      if (!verdict_.complaints.empty()) return verdict_;
      check_errors(target, k);
      check_costs(target, k);
      if (!plan.empty()) check_plan(target, plan.data() + k * it_.n * it_.m, k);
      if (!it_.is_hard) check_against_reference(target, k);
      const Target::Sum own = target.linear();
      linear.value += own.value;
      linear.terms += own.terms * (1 + target.rounding());
    }
    expect_near("cost.linear of all targets", result_.cost.linear, linear.value, 1e-9L * linear.terms);
    check_status();
    check_iterations();
    return verdict_;
  }

 private:
  void complain(std::string text) { verdict_.complaints.push_back(std::move(text)); }

  void expect_near(const std::string& what, double reported, Real value, Real bound) {
    if (std::abs(value) > kLargest) return;  // not representable
    if (std::isnan(reported) || !(std::abs(static_cast<Real>(reported) - value) <= bound + kSmallest)) {
      complain(fmt::format("{} is {:.17g}, not {:.17g} (allowed: {:.2g})", what, reported, static_cast<double>(value),
                           static_cast<double>(bound)));
    }
  }

  void check_potentials(const Target& target, std::size_t k) {
    const auto check = [&](const std::vector<Real>& values, const std::vector<Real>& masses, const char* name) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const bool is_right =
            masses[i] > 0 ? std::isfinite(values[i]) : values[i] == -std::numeric_limits<Real>::infinity();
        if (!is_right) complain(fmt::format("{}[{}, {}] is {}", name, i, k, static_cast<double>(values[i])));
      }
    };
    check(target.f(), target.masses().a, "f");
    check(target.g(), target.masses().b, "g");
  }

  void check_errors(const Target& target, std::size_t k) {
    const TargetResult& reported = result_.per_target[k];
    const Real a = target.error_a(it_.options.norm);
    const Real b = target.error_b(it_.options.norm);
    const Real bound = (2 * target.rounding() + 4 * storage_) * target.masses().total;
    expect_near(fmt::format("error.a of target {}", k), reported.error.a, a, bound);
    expect_near(fmt::format("error.b of target {}", k), reported.error.b, b, bound);
    if (it_.targets == 1) {
      const Real rounding = 2 * target.rounding() * target.masses().total;
      expect_near("error_on_exact_costs.a", result_.exact_error.a, a, rounding);
      expect_near("error_on_exact_costs.b", result_.exact_error.b, b, rounding);
    }
    const Real tolerance = it_.options.tolerance * target.masses().total;
    if (reported.status == Status::converged && !(std::max(a, b) <= tolerance + bound)) {
      complain(fmt::format("target {} has converged with an error of {:g}", k, static_cast<double>(std::max(a, b))));
    }
  }

  void check_costs(const Target& target, std::size_t k) {
    const Costs& reported = result_.per_target[k].cost;
    const Target::Sum linear = target.linear();
    const Target::Sum entropy = target.entropy();
    const Target::Sum dual = target.dual();
    const Real share = 1e-12L + 2 * target.rounding();
    const Real eps = it_.epsilon;
    const std::string of = fmt::format(" of target {}", k);
    expect_near("cost.linear" + of, reported.linear, linear.value, share * linear.terms);
    expect_near("entropy" + of, reported.entropy, entropy.value, share * entropy.terms);
    expect_near("objective" + of, reported.objective, linear.value - eps * entropy.value,
                share * (linear.terms + eps * entropy.terms));
    expect_near("dual" + of, reported.dual, dual.value, share * (dual.terms + eps * entropy.terms));
  }

  void check_plan(const Target& target, const double* plan, std::size_t k) {
    for (std::size_t p = 0; p < target.plan().size(); ++p) {
      const Real expected = target.plan()[p];
      if (!(std::abs(plan[p] - expected) <=
            2 * target.rounding() * expected + 1e-290L * target.masses().total + kSmallest)) {
        complain(
            fmt::format("plan[{}] of target {} is {:.17g}, not {:.17g}", p, k, plan[p], static_cast<double>(expected)));
        return;
      }
    }
  }

  /// See reference.hpp for why the marginal errors bound this one.
  void check_against_reference(const Target& target, std::size_t k) {
    const ReferencePlan reference = reference_plan(it_, costs_, target.masses());
    const Real mass = target.masses().total;
    if (!(reference.error <= 1e-11L * mass)) {
      complain(fmt::format("the reference itself is off by {:g}", static_cast<double>(reference.error / mass)));
      return;
    }
    Real worst = 0;
    for (std::size_t p = 0; p < target.plan().size(); ++p) {
      worst = std::max(worst, std::abs(target.plan()[p] - reference.plan[p]));
    }
    const Real by_marginals = target.error_a(Norm::l1) + target.error_b(Norm::l1) + reference.error;
    if (!(worst <= by_marginals * (1 + 1e-6L) + 1e-15L * mass)) {
      complain(fmt::format("the plan of target {} is off by {:g} of the mass, its marginals by {:g}", k,
                           static_cast<double>(worst / mass), static_cast<double>(by_marginals / mass)));
    }
    const bool has_all_digits = storage_ == 0;
    const Real wanted =
        has_all_digits ? 1e-9L : 2 * it_.options.tolerance * static_cast<double>(std::max(it_.n, it_.m)) + 8 * storage_;
    if (result_.per_target[k].status == Status::converged && !(worst <= wanted * mass)) {
      complain(fmt::format("target {} has converged, but its plan is off by {:g} of the mass", k,
                           static_cast<double>(worst / mass)));
    }
  }

  void check_status() {
    const bool all_converged = std::ranges::all_of(
        result_.per_target, [](const TargetResult& target) { return target.status == Status::converged; });
    if (all_converged != (result_.status == Status::converged)) complain("the status is not that of the targets");
    if (result_.status != Status::iteration_limit) return;
    verdict_.outcome = Outcome::not_converged;
    if (result_.iterations < it_.options.max_iterations) {
      complain(fmt::format("ended at iteration {} of {}", result_.iterations, it_.options.max_iterations));
    }
    if (it_.is_hard || storage_ > 0 || it_.options.local_steps > 1 || it_.options.topology == "async" ||
        !it_.initial_g.empty())
      return;
    // Plain Sinkhorn is what it is: where it converges with more digits, it must here.
    const std::int64_t fewer = it_.options.max_iterations * 4 / 5 - it_.options.check_every;
    for (std::size_t k = 0; k < it_.targets; ++k) {
      const Masses masses = exact_masses(it_, costs_, k);
      if (plain_sinkhorn_error(it_, costs_, masses, fewer) > 0.5L * it_.options.tolerance * masses.total) return;
    }
    if (result_.method == "sinkhorn") {
      complain(fmt::format("plain Sinkhorn converges within {} iterations", fewer));
    } else {
      verdict_.outcome = Outcome::slower_than_plain;
    }
  }

  void check_iterations() {
    verdict_.iterations = result_.iterations;
    if (it_.most_iterations > 0 && result_.iterations > it_.most_iterations) {
      complain(fmt::format("took {} iterations", result_.iterations));
    }
  }

  const Case& it_;
  const Result& result_;
  std::vector<Real> costs_;
  Real storage_ = 0;
  Verdict verdict_;
};

std::vector<double> all_plans(const Case& it, const Result& result) {
  const Problem problem = it.problem();
  const Plan plan(problem, result, 1);
  std::vector<double> plans(it.targets * it.n * it.m);
  for (std::size_t k = 0; k < it.targets; ++k) {
    plan.rows(0, it.n, k, std::span(plans).subspan(k * it.n * it.m, it.n * it.m));
  }
  return plans;
}

/// A start may not cost many iterations, whatever it is. Few cost any.
void compare_with_cold_start(const Case& it, const Result& warm, Verdict& verdict) {
  Case cold = it;
  cold.initial_g.clear();
  const std::int64_t iterations = solve(cold.problem(), cold.options).iterations;
  verdict.start = 10 * warm.iterations <= 11 * iterations + 20 ? Start::fine : Start::slower;
  if (it.most_iterations == 0 || warm.iterations <= 4 * iterations + 40) return;
  verdict.complaints.push_back(fmt::format("the start costs {} iterations instead of {}", warm.iterations, iterations));
}

}  // namespace

Verdict judge(const Case& it, const Result& result, const std::vector<double>& plan) {
  return Judge(it, result).run(plan);
}

Verdict solve_and_judge(const Case& it) {
  try {
    const Result result = solve(it.problem(), it.options);
    if (it.is_infeasible) return {Outcome::refused, {"was solved though no plan exists"}, 0, Start::none};
    Verdict verdict = judge(it, result, all_plans(it, result));
    if (it.is_hard && !it.initial_g.empty()) compare_with_cold_start(it, result, verdict);
    return verdict;
  } catch (const InputError& error) {
    const std::string text = error.what();
    if (it.is_infeasible && text.find("no plan exists") != std::string::npos)
      return {Outcome::refused, {}, 0, Start::none};
    return {Outcome::refused, {"was refused: " + text}, 0, Start::none};
  } catch (const std::exception& error) {
    return {Outcome::refused, {std::string("failed: ") + error.what()}, 0, Start::none};
  }
}

}  // namespace fedsinkhorn::torture
