// The paper's variant: both marginals are fixed. For a multiplier lambda, the plan that maximises
//   sum P_ij (l_j - lambda c_ij) - epsilon sum P log P  over P 1 = a, P' 1 = b
// is the entropic transport plan for the costs c at epsilon / lambda: losses l_j only shift the potential g. So the
// expected loss is sum_j b_j l_j whatever lambda is, and lambda decides how much the plan costs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "comm/agreement.hpp"
#include "comm/secure_sums.hpp"
#include "core/special_numbers.hpp"
#include "core/stopwatch.hpp"
#include "fedsinkhorn/error.hpp"
#include "problem/sums_account.hpp"
#include "risk/client_risk.hpp"
#include "risk/given.hpp"
#include "risk/meeting.hpp"
#include "risk/outlook.hpp"
#include "solve/client_solve.hpp"

namespace fedsinkhorn {
namespace {

/// Of the cost, relative to the radius: each step is a solve.
constexpr double kTolerance = 1e-8;
/// epsilon / lambda goes no further below the cost of independent days and scenarios: that is the least cost then.
constexpr double kLeastShare = 1e-6;
/// lambda in units of epsilon / cost: at this one, it is 0 for every purpose.
constexpr double kFreeShare = 1e-9;

std::vector<double> checked_marginal(std::span<const double> b, const RiskProblem& problem) {
  const std::string& name = problem.names.stress_marginal;
  if (b.size() != scenarios_given(problem)) {
    throw InputError(name, fmt::format("has {} numbers", b.size()),
                     fmt::format("give {}, one for each scenario", scenarios_given(problem)));
  }
  double total = 0;
  for (std::size_t j = 0; j < b.size(); ++j) {
    if (!(b[j] >= 0) || !std::isfinite(b[j])) {
      throw InputError(name, fmt::format("number {} is {}", j + 1, b[j]), "give 0 or more");
    }
    total += b[j];
  }
  if (!(total > 0) || !std::isfinite(total))
    throw InputError(name, "has no mass", "give masses of which some are above 0");
  std::vector<double> scaled(b.begin(), b.end());
  for (double& mass : scaled) mass /= total;
  return scaled;
}

/// Adds what clients did in one more solve to what they did before.
void add_reports(const std::vector<ClientReport>& more, std::vector<ClientReport>& all) {
  const auto add_bytes = [](const TrafficBytes& bytes, TrafficBytes& sum) {
    sum.setup += bytes.setup;
    sum.rounds += bytes.rounds;
    sum.rebuilds += bytes.rebuilds;
    sum.results += bytes.results;
  };
  for (const ClientReport& report : more) {
    const auto known = std::ranges::find(all, report.client, &ClientReport::client);
    if (known == all.end()) {
      all.push_back(report);
      continue;
    }
    known->compute_seconds += report.compute_seconds;
    known->communication_seconds += report.communication_seconds;
    known->kernel_bytes = std::max(known->kernel_bytes, report.kernel_bytes);
    known->peak_memory_bytes = std::max(known->peak_memory_bytes, report.peak_memory_bytes);
    add_bytes(report.sent, known->sent);
    add_bytes(report.received, known->received);
    for (const SentMessages& sent : report.left) {
      const auto is_same = [&](const SentMessages& one) {
        return one.phase == sent.phase && one.kind == sent.kind && one.is_masked == sent.is_masked;
      };
      const auto same = std::ranges::find_if(known->left, is_same);
      if (same == known->left.end()) {
        known->left.push_back(sent);
      } else {
        same->bytes += sent.bytes;
        same->messages += sent.messages;
      }
    }
  }
}

/// Solves of the same coupling at different multipliers, each starting from the one before.
class Couplings {
 public:
  Couplings(const RiskProblem& problem, const WhitePoints& white, std::span<const double> b, Options options,
            Communicator& communicator)
      : epsilon_(problem.epsilon), options_(std::move(options)), communicator_(communicator) {
    if (has_points(problem)) {
      problem_.cost = PointClouds{white.x(problem), white.y(problem), metric_of(problem.cost)};
    } else {
      problem_.cost = CostMatrix{problem.costs};
    }
    problem_.a = problem.a;
    problem_.b = {b.data(), b.size(), 1};
    problem_.parts.rows = problem.is_part;
    if (problem.is_part) {  // a client without days cannot tell whether the others have masses
      if (problem.a.empty()) masses_.assign(rows_given(problem), 1.0);
      if (problem.a.empty()) problem_.a = masses_;
      problem_.parts.a = true;
    }
    problem_.names.cost = problem.names.costs;
    problem_.names.x = problem.names.returns;
    problem_.names.y = problem.names.scenarios;
    problem_.names.a = problem.names.a;
    problem_.names.b = problem.names.stress_marginal;
    options_.normalize = true;
  }

  const Result& at(double lambda) {
    problem_.epsilon = epsilon_ / lambda;
    if (last_ && last_->status == Status::converged) {
      g_ = last_->g;
      problem_.initial_g = {g_.data(), g_.size(), 1};
    }
    keep_to_most_sums();
    last_ = solve_as_client(problem_, options_, communicator_);
    lambda_ = lambda;
    add_reports(last_->clients, reports_);
    sums_.seen += last_->sums.seen;
    sums_.matrices += last_->sums.matrices;
    if (last_->status == Status::interrupted) throw Interrupted();
    if (last_->status == Status::sums_limit) throw SumsSpent();
    ++solves_;
    progress_.passes = solves_;
    progress_.lambda = lambda;
    progress_.transport_cost = last_->cost.linear;
    if (on_solve_) on_solve_(progress_);
    return *last_;
  }
  /// All solves together. seen: before them. limit: 0: none.
  void keep_to(const SumsReport& sums) { sums_ = sums; }
  void report_to(std::function<void(const RiskProgress&)> on_solve, double radius) {
    on_solve_ = std::move(on_solve);
    progress_.radius = radius;
  }
  [[nodiscard]] const Result& last() const { return *last_; }
  [[nodiscard]] std::int64_t solves() const { return solves_; }
  /// Of all solves.
  [[nodiscard]] const std::vector<ClientReport>& reports() const { return reports_; }
  [[nodiscard]] const SumsReport& sums() const { return sums_; }
  [[nodiscard]] double last_lambda() const { return lambda_; }
  /// The last one with potentials in units of the loss: P = exp((f + g - lambda c) / epsilon).
  [[nodiscard]] Result in_units_of_loss() const {
    Result result = *last_;
    for (std::vector<double>* potential : {&result.f, &result.g, &result.f_rest, &result.g_rest}) {
      for (double& x : *potential) x *= lambda_;
    }
    return result;
  }

 private:
  // The next solve may show what those before have left.
  void keep_to_most_sums() {
    if (sums_.limit == 0) return;
    SumsShape shape;
    shape.columns = problem_.b.rows;
    const std::uint64_t needed = sums_.seen + numbers_at_least(shape);
    if (sums_.limit >= needed) {
      options_.most_sums = sums_.limit - sums_.seen;
    } else if (last_) {
      throw SumsSpent();
    } else {
      throw too_few_sums(sums_.limit, needed);
    }
  }

  double epsilon_;
  Options options_;
  Communicator& communicator_;
  Problem problem_;
  std::vector<double> masses_;
  std::vector<double> g_;
  std::optional<Result> last_;
  double lambda_ = 0;
  std::int64_t solves_ = 0;
  std::vector<ClientReport> reports_;
  SumsReport sums_;
  std::function<void(const RiskProgress&)> on_solve_;
  RiskProgress progress_;
};

/// sum_ij a_i b_j c_ij over the moves that are allowed: the size of costs.
double mean_cost(const Days& days, std::span<const double> b, const Collectives& clients) {
  std::vector<ExactSum> sum(1);
  if (days.costs) {
    DayCosts reader(*days.costs);
    for (std::size_t i = 0; i < days.own(); ++i) {
      const double* costs = reader.at(i, 1)[0];
      double mean = 0;
      for (std::size_t j = 0; j < b.size(); ++j) {
        if (std::isfinite(costs[j])) mean += b[j] * costs[j];
      }
      sum[0].add(days.a[i] * mean);
    }
  }
  add_up_of_all(clients, sum);
  return sum[0].total();
}

struct Found {
  double lambda = 0;
  bool is_binding = true;
};

/// The multiplier at which the coupling costs the radius. Throws InputError if none costs that little.
Found search(Couplings& couplings, const RiskProblem& problem, double scale) {
  const double radius = problem.radius;
  if (!(scale > 0)) {  // every plan costs nothing
    (void)couplings.at(1);
    return {0, false};
  }
  const auto surplus = [&](double log_lambda) {
    const double gap = std::log(couplings.at(std::exp(log_lambda)).cost.linear / radius);
    return std::abs(gap) <= kTolerance ? 0.0 : gap;
  };
  // lambda so small that days and scenarios are independent.
  double low = std::log(problem.epsilon / scale * kFreeShare);
  double at_low = surplus(low);
  if (at_low <= 0) return {0, false};
  double high = std::log(problem.epsilon / scale);
  const double largest = high - std::log(kLeastShare);
  double at_high = surplus(high);
  while (at_high > 0 && high < largest) {
    low = high;
    at_low = at_high;
    high = std::min(largest, high + std::log(8.0));
    at_high = surplus(high);
  }
  if (at_high > 0) {
    throw InputError("`radius`",
                     fmt::format("{} is less than {}, what it costs to move the days to the stress marginal", radius,
                                 couplings.last().cost.linear),
                     "give more, or another marginal");
  }
  if (at_high < 0) {
    std::uintmax_t most = 60;
    const auto is_close = [](double a, double b) { return std::abs(a - b) <= 1e-13 * std::max(1.0, std::abs(a)); };
    const auto [below, above] = boost::math::tools::toms748_solve(surplus, low, high, at_low, at_high, is_close, most);
    high = above;
    if (below != above) (void)couplings.at(std::exp(high));
  }
  return {std::exp(high), true};
}

/// The loss of a distribution over the scenarios: expected, or the CVaR and the value at risk.
void describe_loss(std::span<const double> b, const std::vector<double>& losses, double level, WorstCase& worst) {
  worst.loss = 0;
  worst.value_at_risk = kUnknown;
  if (level == 0) {
    for (std::size_t j = 0; j < b.size(); ++j) worst.loss += b[j] * losses[j];
    return;
  }
  std::vector<std::size_t> order(b.size());
  for (std::size_t j = 0; j < order.size(); ++j) order[j] = j;
  std::ranges::sort(order, std::greater<>(), [&](std::size_t j) { return losses[j]; });
  double left = 1 - level;
  for (const std::size_t j : order) {
    const double mass = std::min(left, b[j]);
    if (mass > 0) worst.value_at_risk = losses[j];
    worst.loss += mass * losses[j] / (1 - level);
    left -= mass;
  }
}

void describe(double radius, const Found& found, const Result& coupling, RiskResult& result) {
  WorstCase& worst = result.worst;
  worst.radius = radius;
  worst.lambda = found.lambda;
  worst.is_binding = found.is_binding;
  worst.transport_cost = coupling.cost.linear;
  worst.dual = worst.entropic_dual = worst.entropic_primal = worst.loss;
  worst.status = result.status = coupling.status;
  result.simd = coupling.simd;
  result.threads = coupling.threads;
  result.coupling = coupling;
}

}  // namespace

RiskResult stressed_plan_as_client(const RiskProblem& problem, const StressMarginal& stress, const RiskOptions& options,
                                   Communicator& communicator) {
  const Timer wall;
  RiskResult result;
  RiskMeeting meeting(problem, options, communicator);
  const Collectives& clients = meeting.clients;
  TiltedPlan plan;
  agree(clients, [&] {
    if (problem.may_stay)
      throw InputError("`may_stay`", "the stress marginal leaves no mass that stays", "leave one out");
    if (stress.lambda && !(*stress.lambda > 0 && std::isfinite(*stress.lambda))) {
      throw InputError("`lambda`", fmt::format("{} is no multiplier", *stress.lambda), "give a number above 0");
    }
    plan.columns = checked_marginal(stress.b, problem);
  });
  require_common(problem.names.stress_marginal, plan.columns, clients);
  const std::array<double, 1> lambda = {stress.lambda.value_or(0)};
  require_common("`lambda`", lambda, clients);
  describe_before(meeting.days, clients, problem.cvar_level, result);
  describe_loss(plan.columns, meeting.days.scenario_losses, problem.cvar_level, result.worst);
  result.least_radius = meeting.days.least_radius;
  result.largest_radius = mean_cost(meeting.days, plan.columns, clients);
  describe_losses(meeting.days, clients, plan, result);
  gather_outlook(meeting.days, clients, meeting.link.traffic(), 0, {}, result);
  result.scenario_weights = plan.columns;
  result.scenario_losses = meeting.days.scenario_losses;

  Couplings couplings(problem, meeting.days.white, plan.columns, options.options, communicator);
  if (communicator.rank() == 0) couplings.report_to(options.on_pass, problem.radius);
  report_sums(problem, meeting, result);
  couplings.keep_to(result.sums);
  Found found{stress.lambda.value_or(0), true};
  bool are_sums_spent = false;
  try {
    if (stress.lambda) {
      (void)couplings.at(*stress.lambda);
    } else {
      found = search(couplings, problem, result.largest_radius);
    }
  } catch (const SumsSpent&) {
    are_sums_spent = true;
    found = {couplings.last_lambda(), true};
  }
  describe(stress.lambda ? kUnknown : problem.radius, found, couplings.in_units_of_loss(), result);
  if (are_sums_spent) result.worst.status = result.status = Status::sums_limit;
  result.sums = couplings.sums();
  add_reports(couplings.reports(), result.clients);
  result.passes = couplings.solves();
  result.dimension = has_points(problem) ? columns_of(problem.scenarios) : 0;
  result.policy = options.options.policy;
  result.seconds = wall.seconds();
  return result;
}

}  // namespace fedsinkhorn
