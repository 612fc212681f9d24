// Mechanism marginal: the columns' plan mass, with noise.
//
//   s_i   = log sum_j exp((g_j - C_ij) / epsilon)                              every client, its own rows
//   rho_j = sum_i a_i exp((g_j - C_ij) / epsilon - s_i) + noise                released: a sum over all clients' rows
//   g_j  += omega epsilon log(b_j / max(rho_j, floor_j))                       every client, the same
//
// Given g, which depends on earlier releases alone, a record contributes its row of the plan: numbers of 0 or more that
// add up to its mass, at most A. So another record in its place moves rho by at most sqrt(2) A, whatever the costs are.
// Noise is added in shares, inside the secure sum: nobody ever sees a sum with less.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "comm/secure_sums.hpp"
#include "core/exact_sum.hpp"
#include "core/special_numbers.hpp"
#include "cost/cost_source.hpp"
#include "fedsinkhorn/error.hpp"
#include "mechanism/marginal_plan.hpp"
#include "mechanism/mechanism.hpp"
#include "privacy/grid_noise.hpp"
#include "problem/private_problem.hpp"

namespace fedsinkhorn {
namespace {

/// Whether every client has all masses, or they are uniform.
bool has_public_masses(const CheckedProblem& problem) { return !problem.input.parts.a; }

MarginalShape shape_of(const CheckedProblem& problem) {
  MarginalShape shape{.targets = problem.targets, .clients = problem.clients, .b = problem.b};
  if (problem.input.a.empty()) {
    shape.largest_mass = 1 / static_cast<double>(problem.rows.given);
  } else if (has_public_masses(problem)) {
    shape.largest_mass = std::ranges::max(problem.input.a);
  }
  return shape;
}

class Marginal {
 public:
  explicit Marginal(const MechanismContext& context)
      : context_(context),
        problem_(context.problem),
        epsilon_(problem_.epsilon),
        n_(problem_.n()),
        m_(problem_.columns.size()),
        plan_(plan_marginal(context.options, shape_of(problem_))),
        noise_(plan_.share),
        honest_(std::sqrt(static_cast<double>(problem_.clients - context.options.colluding))),
        ledger_(budget_of(context.options)),
        g_(problem_.targets * m_),
        s_(problem_.targets * n_) {
    for (std::size_t j = 0; j < g_.size(); ++j) {
      // Another target has mass there.
      if (problem_.b[j] == 0) g_[j] = -std::numeric_limits<double>::infinity();
    }
  }

  Released run() {
    const LedgerLine of_mass{"every client, in the sum over all", "plan mass of the columns",
                             plan_.sensitivity + noise_.rounding(g_.size()), noise_.sigma() * honest_, 1};
    require_room_for(ledger_, with_cost(of_mass));
    for (std::int64_t t = 0; t < plan_.releases; ++t) {
      if (!ledger_.affords(with_cost(of_mass))) break;
      if (!step(t, of_mass)) break;
      if (error_ <= context_.options.tolerance && context_.options.tolerance > 0) {
        status_ = Status::converged;
        break;
      }
    }
    if (iterations_ == 0 && status_ == Status::interrupted) throw Interrupted();
    update_rows();
    if (plan_.cost_sensitivity > 0 && status_ != Status::interrupted) release_cost();
    return result();
  }

 private:
  /// Releases t, and moves g. Returns false if a client wants to stop.
  bool step(std::int64_t t, const LedgerLine& line) {
    update_rows();
    const std::vector<double> clean = own_plan_mass();
    ledger_.enter(line);
    std::vector<double> rho(clean.size());
    if (!release(noise_, clean, rho)) {
      status_ = Status::interrupted;
      return false;
    }
    if (context_.tap != nullptr) context_.tap->at_release(clean, rho);
    measure(rho);
    if (t == 0) require_right_mass();
    const double omega = step_length(t, plan_.releases);
    for (std::size_t j = 0; j < g_.size(); ++j) {
      const double b = problem_.b[j];
      if (b == 0) continue;
      // Noise may make rho negative. Above the floor it says something.
      const double floor = std::min(line.sigma, b) / 2;
      // Where pairs are forbidden, a column may be out of reach. Rounding is bounded for potentials like these.
      const double most = kMostPrivateRatio * epsilon_;
      g_[j] = std::clamp(g_[j] + omega * epsilon_ * std::log(b / std::max(rho[j], floor)), -most, most);
    }
    iterations_ = t + 1;
    context_.on_release(iterations_, plan_.releases, error_);
    return true;
  }

  /// s, from g: log-sums of the own rows.
  void update_rows() {
    for (std::size_t k = 0; k < problem_.targets; ++k) {
      context_.topology.own_row_logs({g_.data() + k * m_, m_}, {s_.data() + k * n_, n_});
    }
  }

  /// The own rows' summands of rho, without noise.
  [[nodiscard]] std::vector<double> own_plan_mass() const {
    std::vector<double> mass(g_.size());
    std::vector<double> phi(n_);
    std::vector<double> log_a(n_);
    std::vector<double> logs(m_);
    for (std::size_t k = 0; k < problem_.targets; ++k) {
      for (std::size_t i = 0; i < n_; ++i) {
        const double s = s_[k * n_ + i];
        phi[i] = std::isfinite(s) ? -epsilon_ * s : 0;
        // A row without mass, or without a pair that is allowed, has nothing to give.
        log_a[i] = std::isfinite(s) ? std::log(problem_.a[i]) : -std::numeric_limits<double>::infinity();
      }
      context_.topology.own_column_logs(phi, log_a, logs);
      for (std::size_t j = 0; j < m_; ++j) {
        const double share = std::exp(g_[k * m_ + j] / epsilon_ + logs[j]);
        // Cut off rather than dropped: a record must not move it further than its own share.
        mass[k * m_ + j] = std::isnan(share) ? 0 : std::min(share, 1.0);
      }
    }
    return mass;
  }

  /// Adds noise here, then adds up over all clients. Returns false if a client wants to stop.
  [[nodiscard]] bool release(const GridNoise& noise, std::span<const double> own, std::span<double> released) {
    std::vector<Word> words(own.size() + 1);
    for (std::size_t j = 0; j < own.size(); ++j) {
      words[j] = static_cast<Word>(noise.blur(own[j], context_.random));
    }
    words.back() = words_of_flags({context_.stop.is_made()})[0];
    if (problem_.clients > 1) context_.topology.clients().sums()->add_up(Payload::release, words, 0);
    for (std::size_t j = 0; j < own.size(); ++j) released[j] = noise.number(static_cast<SignedWord>(words[j]));
    return words.back() == 0;
  }

  /// The error of what was released: of the worst target.
  void measure(std::span<const double> rho) {
    error_ = 0;
    for (std::size_t k = 0; k < problem_.targets; ++k) {
      const ErrorPart part = error_part(context_.options.norm, rho.data() + k * m_, problem_.b.data() + k * m_, m_);
      error_ = worse(error_, error_of(context_.options.norm, part));
    }
    ExactSum total;
    for (std::size_t j = 0; j < m_; ++j) total.add(rho[j]);
    total_ = total.total();
  }

  /// No client knows the others' masses. What was released tells whether they add up to 1, as b does.
  void require_right_mass() const {
    constexpr double kDeviations = 8;
    constexpr double kTolerance = 1e-3;
    const double doubt = kDeviations * noise_.sigma() * std::sqrt(static_cast<double>(m_ * problem_.clients));
    if (std::abs(total_ - 1) <= doubt + kTolerance) return;
    throw InputError(problem_.input.names.a,
                     fmt::format("has about a total mass of {:.4g}, as the first release shows (it has cost epsilon "
                                 "{:.3g})",
                                 total_, exact_epsilon(ledger_.mu(), ledger_.delta())),
                     "with policy private, masses must add up to 1");
  }

  [[nodiscard]] LedgerLine line_of_cost(const GridNoise& noise) const {
    return {"every client, in the sum over all", "transport cost",
            plan_.cost_sensitivity + noise.rounding(problem_.targets), noise.sigma() * honest_, 1};
  }
  /// A release of plan mass, and that of the cost for which there must be room at the end.
  [[nodiscard]] std::vector<LedgerLine> with_cost(const LedgerLine& of_mass) const {
    std::vector<LedgerLine> lines = {of_mass};
    if (plan_.cost_sensitivity > 0) lines.push_back(line_of_cost(GridNoise(plan_.cost_sigma / honest_)));
    return lines;
  }
  void release_cost() {
    const GridNoise noise(plan_.cost_sigma / honest_);
    const LedgerLine line = line_of_cost(noise);
    const std::vector<double> own = own_costs();
    ledger_.enter(line);
    std::vector<double> released(own.size());
    (void)release(noise, own, released);
    if (context_.tap != nullptr) context_.tap->at_release(own, released);
    cost_ = 0;
    for (const double cost : released) cost_ += cost;
  }

  /// By target, sum_ij P_ij C_ij over the own rows, with costs cut off at 0 and at the bound.
  [[nodiscard]] std::vector<double> own_costs() const {
    const double most = context_.options.cost_bound;
    const std::unique_ptr<CostSource> source = make_cost_source(problem_.block(), cpu::simd(context_.options.simd));
    RowReader row(*source);
    std::vector<ExactSum> sums(problem_.targets);
    for (std::size_t i = 0; i < n_; ++i) {
      const double* costs = row(i);
      for (std::size_t k = 0; k < problem_.targets; ++k) {
        const double s = s_[k * n_ + i];
        for (std::size_t j = 0; std::isfinite(s) && j < m_; ++j) {
          const double share = std::exp((g_[k * m_ + j] - costs[j]) / epsilon_ - s);
          if (share > 0) sums[k].add(problem_.a[i] * share * std::clamp(costs[j], 0.0, most));
        }
      }
    }
    std::vector<double> costs(sums.size());
    std::ranges::transform(sums, costs.begin(), [](const ExactSum& sum) { return sum.total(); });
    return costs;
  }

  [[nodiscard]] std::vector<double> own_f(std::size_t target) const {
    std::vector<double> f(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      const double s = s_[target * n_ + i];
      f[i] = std::isfinite(s) ? epsilon_ * (std::log(problem_.a[i]) - s) : -std::numeric_limits<double>::infinity();
    }
    return f;
  }

  [[nodiscard]] Released result() {
    Released released;
    released.status = status_;
    released.iterations = iterations_;
    for (std::size_t k = 0; k < problem_.targets; ++k) {
      const std::vector<double> f = own_f(k);
      released.f.insert(released.f.end(), f.begin(), f.end());
    }
    released.g = g_;
    released.columns = {0, m_};
    released.error_b = error_;
    ledger_.report(released.report);
    describe(released.report);
    return released;
  }

  void describe(PrivacyReport& report) const {
    const std::size_t clients = problem_.clients;
    const std::size_t colluding = context_.options.colluding;
    report.mechanism = "marginal";
    report.adjacency = "one record replaced by another";
    const bool are_public = has_public_masses(problem_) && context_.options.record_mass == 0;
    report.unit = are_public
                      ? fmt::format("a row: its costs or point; masses are public, and up to {:g}", plan_.record_mass)
                      : fmt::format("a row: its costs or point, and its mass, up to {:g}", plan_.record_mass);
    report.colluding = colluding;
    report.collusion = clients == 1 ? "one client holds all records and adds all noise"
                       : colluding == 0
                           ? "no clients are assumed to pool what they know"
                           : fmt::format("up to {} of {} clients may pool what they know", colluding, clients);
    report.protects = "each record of every client, against those who see g, the trace, the summary and all messages";
    report.does_not_protect =
        "the number of rows of each client, b and the points of the columns, which are public; what a client writes "
        "for "
        "itself (f, the plan); several records of one person, which cost accordingly more";
    report.released_cost = cost_;
    report.released_total = total_;
    if (clients == 1) return judge(context_.options, report.epsilon_exact, report);
    const auto view = [&](const std::string& who, std::size_t without) {
      const double left = std::sqrt(static_cast<double>(clients - without)) / honest_;
      report.views.push_back({who, report.sigma * left, exact_epsilon(ledger_.mu(left), ledger_.delta())});
    };
    view("outsiders (the server, readers of g)", 0);
    view("one client, which knows its own noise", 1);
    judge(context_.options, std::max(report.epsilon_exact, report.views.back().epsilon_exact), report);
    if (clients > 2) view(fmt::format("{} clients that pool theirs", clients - 1), clients - 1);
  }

  const MechanismContext& context_;
  const CheckedProblem& problem_;
  const double epsilon_;
  const std::size_t n_;  // own rows
  const std::size_t m_;  // all columns
  const MarginalPlan plan_;
  const GridNoise noise_;
  const double honest_;  // square root of the number of clients that do not collude
  Ledger ledger_;
  std::vector<double> g_;  // targets x columns, the same at every client
  std::vector<double> s_;  // targets x own rows
  Status status_ = Status::budget_spent;
  std::int64_t iterations_ = 0;
  double error_ = kUnknown;
  double total_ = kUnknown;
  double cost_ = kUnknown;
};

}  // namespace

void check_marginal(const Options& options, std::size_t clients) {
  if (options.releases == 0 && options.budget.empty()) {
    throw InputError("`releases`", "auto shares out a budget, and there is none", "give a number, or add `budget`");
  }
  if (options.releases == 0 && options.noise > 0) {
    throw InputError("`releases`", "auto shares out a budget, but the noise is given", "give a number");
  }
  if (options.colluding >= clients && options.colluding > 0) {
    throw InputError("`colluding`",
                     fmt::format("of {} clients, {} cannot collude against another", clients, options.colluding),
                     fmt::format("give at most {}", clients - 1));
  }
  if (options.clip > 0 || options.clip_kind != ClipKind::rows || options.rows_moved != "all" || options.centre ||
      options.release_every != 1) {
    throw InputError("`mechanism`", "marginal needs no clip, and none of the options about it",
                     "leave them out, or use `mechanism` scalings");
  }
}

Released run_marginal(const MechanismContext& context) { return Marginal(context).run(); }

}  // namespace fedsinkhorn
