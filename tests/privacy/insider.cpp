#include "privacy/insider.hpp"

#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "comm/transports.hpp"
#include "method/acceleration.hpp"
#include "registry/registry.hpp"
#include "solve/client_solve.hpp"

namespace fedsinkhorn::testing {
namespace {

/// Of the solve that is going on.
Seen* diary = nullptr;

/// What has been noted down for the next entry.
struct Notebook {
  std::array<std::vector<double>, 2> columns;  ///< gathered last
  std::vector<double> scale;                   ///< of the last step
  std::vector<double> scaled_direction;        ///< of the product to come
};

/// Passes everything on, and keeps what clients have added up.
class WatchedKernel final : public KernelAccess {
 public:
  WatchedKernel(KernelAccess& inner, Notebook& notebook) : inner_(inner), notebook_(notebook) {}

  void rows(std::span<const double> y, std::span<double> products) override { inner_.rows(y, products); }
  void columns(std::span<const double> x, std::span<double> products) override { inner_.columns(x, products); }
  [[nodiscard]] std::int64_t products_left() const override { return inner_.products_left(); }
  void weighted(std::span<const double> w, std::span<const double> y, std::span<double> products) override {
    inner_.weighted(w, y, products);
  }
  void own_weighted(std::span<const double> w, std::span<const double> y, std::span<double> products) override {
    notebook_.scaled_direction.assign(y.begin(), y.end());
    inner_.own_weighted(w, y, products);
  }
  [[nodiscard]] bool sums_are_secure() const override { return inner_.sums_are_secure(); }
  [[nodiscard]] bool may_add_up_matrices() const override { return inner_.may_add_up_matrices(); }
  void add_up(std::span<double> values) override { inner_.add_up(values); }
  void add_up_shares(std::span<double> values) override {
    inner_.add_up_shares(values);
    keep(values);
  }
  [[nodiscard]] std::vector<SparseEntry> add_up_sparse(std::vector<SparseEntry> own, std::uint64_t positions) override {
    return inner_.add_up_sparse(std::move(own), positions);
  }
  [[nodiscard]] std::vector<double> gather(std::vector<double> own, std::size_t total) override {
    return inner_.gather(std::move(own), total);
  }
  [[nodiscard]] double greatest(double value) override { return inner_.greatest(value); }
  [[nodiscard]] std::vector<double> all_columns(std::span<const double> own) override {
    std::vector<double> all = inner_.all_columns(own);
    notebook_.columns[0] = std::exchange(notebook_.columns[1], all);
    return all;
  }
  [[nodiscard]] std::size_t first_column() const override { return inner_.first_column(); }
  [[nodiscard]] std::size_t clients() const override { return inner_.clients(); }
  [[nodiscard]] bool holds_whole_rows() const override { return inner_.holds_whole_rows(); }
  [[nodiscard]] std::size_t held_rows() const override { return inner_.held_rows(); }
  [[nodiscard]] std::size_t all_rows() const override { return inner_.all_rows(); }
  [[nodiscard]] std::size_t fewest_rows_of_others() const override { return inner_.fewest_rows_of_others(); }
  [[nodiscard]] std::vector<double> held(std::span<const double> own) override { return inner_.held(own); }
  void copy_rows(std::size_t first, std::size_t count, double* to) override { inner_.copy_rows(first, count, to); }

 private:
  // Systems first gather diag(v) root_c^-1, with which B is a multiple of K by columns, and root_c. What is added up
  // next is the matrix or the diagonal; after that, products.
  void keep(std::span<const double> values) {
    std::vector<double> sums(values.begin(), values.end());
    std::vector<double>& scale = notebook_.scale;
    if (!notebook_.scaled_direction.empty()) {
      std::vector<double> direction = std::exchange(notebook_.scaled_direction, {});
      for (std::size_t j = 0; j < direction.size(); ++j) direction[j] /= scale[j];
      diary->steps.back().directions.push_back(std::move(direction));
      diary->steps.back().products.push_back(std::move(sums));
      return;
    }
    scale = notebook_.columns[0];
    SeenStep step;
    step.root_c = notebook_.columns[1];
    for (std::size_t j = 0; j < scale.size(); ++j) step.v.push_back(scale[j] * step.root_c[j]);
    (sums.size() == scale.size() ? step.diagonal : step.matrix) = std::move(sums);
    diary->steps.push_back(std::move(step));
  }

  KernelAccess& inner_;
  Notebook& notebook_;
};

/// A method, watched; without one it is plain Sinkhorn.
class WatchedMethod final : public Acceleration {
 public:
  explicit WatchedMethod(std::unique_ptr<Acceleration> inner) : inner_(std::move(inner)) {}

  void describe(const RoundOfTarget& round, Note& note) override {
    is_insider_ = !round.b.empty();
    if (is_insider_) {
      diary->v.emplace_back(round.x.begin(), round.x.end());
      diary->r.emplace_back(round.r.begin(), round.r.end());
    }
    if (inner_) inner_->describe(round, note);
  }
  [[nodiscard]] Mixture decide(const Note& note) override { return inner_ ? inner_->decide(note) : Mixture{}; }
  [[nodiscard]] bool wants_plan() const override { return inner_ && inner_->wants_plan(); }
  void propose(KernelAccess& kernel, std::span<double> x) override {
    if (!is_insider_) return inner_->propose(kernel, x);
    WatchedKernel watched(kernel, notebook_);
    inner_->propose(watched, x);
  }
  void restart() override {
    if (is_insider_) *diary = {};
    if (inner_) inner_->restart();
  }
  [[nodiscard]] bool is_proposal() const override { return inner_ && inner_->is_proposal(); }
  [[nodiscard]] double gain() const override { return inner_ ? inner_->gain() : kInfinity; }
  [[nodiscard]] double error() const override { return inner_ ? inner_->error() : 0; }
  [[nodiscard]] std::size_t history() const override { return inner_ ? inner_->history() : 0; }
  [[nodiscard]] std::int64_t rejected() const override { return inner_ ? inner_->rejected() : 0; }
  [[nodiscard]] std::int64_t newton_steps() const override { return inner_ ? inner_->newton_steps() : 0; }
  [[nodiscard]] std::int64_t products() const override { return inner_ ? inner_->products() : 0; }

 private:
  std::unique_ptr<Acceleration> inner_;
  bool is_insider_ = false;  // it has columns
  Notebook notebook_;
};

using Maker = std::unique_ptr<Acceleration> (*)(const MethodSettings&);

template <Maker kMake>
std::unique_ptr<Acceleration> make_watched(const MethodSettings& settings) {
  return std::make_unique<WatchedMethod>(kMake(settings));
}
std::unique_ptr<Acceleration> make_nothing(const MethodSettings& /*settings*/) { return nullptr; }

Maker watched(Maker make) {
  if (make == make_anderson) return make_watched<make_anderson>;
  if (make == make_newton) return make_watched<make_newton>;
  return make_watched<make_nothing>;
}

/// The same method under another name.
std::string watched_method(const std::string& name) {
  static const std::array<std::pair<std::string_view, std::string_view>, 4> names = {{{"sinkhorn", "sinkhorn-watched"},
                                                                                      {"anderson", "anderson-watched"},
                                                                                      {"newton", "newton-watched"},
                                                                                      {"auto", "auto-watched"}}};
  static const bool are_registered = [] {
    for (const auto& [original, of_watched] : names) {
      MethodEntry entry = methods().find(std::string(original), "`method`");
      entry.name = of_watched;
      entry.make = watched(entry.make);
      if (entry.make_if_slow != nullptr) entry.make_if_slow = watched(entry.make_if_slow);
      methods().add(entry);
    }
    return true;
  }();
  (void)are_registered;
  return name + "-watched";
}

}  // namespace

std::vector<double> plan_rows(const OwnedProblem& owned, std::span<const double> psi, std::span<const double> v,
                              Range rows) {
  std::vector<double> plan;
  std::vector<double> row(owned.m);
  for (std::size_t i = rows.first; i < rows.last; ++i) {
    double largest = -kInfinity;
    for (std::size_t j = 0; j < owned.m; ++j) {
      row[j] = (psi[j] - owned.cost[i * owned.m + j]) / owned.epsilon + std::log(v[j]);
      largest = std::max(largest, row[j]);
    }
    double sum = 0;
    for (double& x : row) sum += x = std::exp(x - largest);
    for (const double x : row) plan.push_back(owned.a[i] * x / sum);
  }
  return plan;
}

InsiderSolve solve_with_an_insider(const OwnedProblem& owned, const std::vector<std::size_t>& rows,
                                   const std::string& method, Options options) {
  Deal deal{rows, std::vector<std::size_t>(rows.size())};
  deal.columns[kInsider] = owned.m;
  const std::vector<Problem> problems = held_apart(owned, deal);
  options.policy = "sums";
  options.method = watched_method(method);
  options.threads = 1;
  options.backend = "cpu";
  InsiderSolve solved;
  diary = &solved.seen;
  run_on_threads(problems.size(), Seconds(options.timeout), [&](Communicator& communicator) {
    Result result = solve_as_client(problems[communicator.rank()], options, communicator);
    if (communicator.rank() == kInsider) solved.result = std::move(result);
  });
  diary = nullptr;
  Seen& seen = solved.seen;
  if (seen.v.empty()) return solved;
  // g was made of the image of the last point.
  for (std::size_t j = 0; j < owned.m; ++j) {
    solved.psi.push_back(solved.result.g[j] - owned.epsilon * std::log(owned.b[j] / seen.r.back()[j]));
  }
  const Range own{0, rows[kInsider]};
  for (const std::vector<double>& v : seen.v) seen.own_plans.push_back(plan_rows(owned, solved.psi, v, own));
  for (SeenStep& step : seen.steps) step.own_plan = plan_rows(owned, solved.psi, step.v, own);
  return solved;
}

}  // namespace fedsinkhorn::testing
