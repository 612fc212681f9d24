// Anderson acceleration on x = log v, safeguarded by the semi-dual value.
//
// A round maps x to G(x); the residual is R(x) = G(x) - x. From the differences of the last m rounds
//   dx_i = x_{i+1} - x_i,   dR_i,   dG_i = dx_i + dR_i
// the next point is  x = G(x_k) - sum_j gamma_j dG_j  with gamma such that the linear model of the residual, R(x_k) -
// sum_j gamma_j dR_j, is orthogonal to all dx_i (Anderson's type I). The type that minimises the residual gets stuck if
// R hardly changes on the way to the solution, as between clusters that are barely connected. Products are weighted by
// sqrt(b) and exclude the constant that can be moved between v and u.
//
// F(x) = <log u, a> + <log v, b>, with u = a / K v, is the dual value of the best f for that g. After the second
// half-step the dual value is D(x) = F(x) + <R(x), b> = F(x) + KL(b || columns). The image of x has F(G(x)) >= D(x) for
// every x; other points are accepted if they satisfy this too.
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "core/anderson_rules.hpp"
#include "method/acceleration.hpp"

namespace fedsinkhorn {
namespace {

ExactSum sum(std::span<const double> x) {
  ExactSum total;
  for (const double value : x) total.add(value);
  return total;
}

/// k x k numbers, row by row.
class Square {
 public:
  explicit Square(std::size_t k) : k_(k), values_(k * k) {}
  [[nodiscard]] double* operator[](std::size_t row) { return values_.data() + row * k_; }
  [[nodiscard]] const double* operator[](std::size_t row) const { return values_.data() + row * k_; }

 private:
  std::size_t k_;
  std::vector<double> values_;
};

/// gamma that minimises |matrix gamma - y|^2 + a little |gamma|^2. Rows and columns of the matrix are scaled first,
/// since the differences shrink as the iteration converges. Empty if the numbers do not allow it. The innermost loops
/// run along rows, where entries do not depend on each other.
std::vector<double> regularized_solution(const Square& matrix, const std::vector<double>& y) {
  const std::size_t k = y.size();
  std::vector<double> scale(k);
  for (std::size_t i = 0; i < k; ++i) scale[i] = std::sqrt(std::abs(matrix[i][i]));
  const double least = *std::max_element(scale.begin(), scale.end()) * std::numeric_limits<double>::epsilon();
  for (double& s : scale) s = std::max(s, least);

  Square normal(k);             // S' S + regularization, S = scaled matrix
  std::vector<double> x(k);     // S' y
  std::vector<double> line(k);  // a row of S, then a column of the factor
  for (std::size_t row = 0; row < k; ++row) {
    for (std::size_t j = 0; j < k; ++j) line[j] = matrix[row][j] / (scale[row] * scale[j]);
    for (std::size_t i = 0; i < k; ++i) {
      x[i] += line[i] * y[row] / scale[row];
      double* sums = normal[i];
      for (std::size_t j = 0; j <= i; ++j) sums[j] += line[i] * line[j];
    }
  }
  double trace = 0;
  for (std::size_t i = 0; i < k; ++i) trace += normal[i][i];
  for (std::size_t i = 0; i < k; ++i) normal[i][i] += anderson::kRegularization * trace / static_cast<double>(k);

  // Cholesky factorisation in place, column by column, and both substitutions.
  for (std::size_t l = 0; l < k; ++l) {
    if (!(normal[l][l] > 0)) return {};
    normal[l][l] = std::sqrt(normal[l][l]);
    for (std::size_t i = l + 1; i < k; ++i) line[i] = normal[i][l] /= normal[l][l];
    for (std::size_t i = l + 1; i < k; ++i) {
      double* rest = normal[i];
      for (std::size_t j = l + 1; j <= i; ++j) rest[j] -= line[i] * line[j];
    }
  }
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t l = 0; l < i; ++l) x[i] -= normal[i][l] * x[l];
    x[i] /= normal[i][i];
  }
  for (std::size_t i = k; i-- > 0;) {
    for (std::size_t l = i + 1; l < k; ++l) x[i] -= normal[l][i] * x[l];
    x[i] /= normal[i][i];
  }
  for (std::size_t i = 0; i < k; ++i) x[i] /= scale[i];
  if (!std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); })) return {};
  return x;
}

class Anderson final : public Acceleration {
 public:
  explicit Anderson(const MethodSettings& settings)
      : memory_(settings.history),
        most_memory_(std::max(settings.history, settings.most_history)),
        ops_(settings.ops),
        control_(settings.reach, settings.mass) {}

  void describe(const RoundOfTarget& round, Note& note) override;
  [[nodiscard]] Mixture decide(const Note& note) override;
  void restart() override;
  [[nodiscard]] bool is_proposal() const override { return !gamma_.empty(); }
  [[nodiscard]] double gain() const override { return control_.gain; }
  [[nodiscard]] std::size_t history() const override { return gamma_.size(); }
  [[nodiscard]] std::int64_t rejected() const override { return control_.rejected; }

 private:
  // Positions of the sums in a note. Those from kDx on exist only if there is an earlier round to form differences
  // with.
  enum Sum : std::size_t { kDual, kDualAfter, kResidual2, kWeights, kResidual, kDx, kDxR, kDxDr, kPairs };
  enum Maximum : std::size_t { kLargestResidual, kLargestStep };

  /// This client's slices of a point.
  struct Point {
    std::vector<double> log_x, residual, log_image;
  };
  /// Slices of the difference of two points, and what all clients know about it.
  struct Difference {
    std::vector<double> weighted_dx, dr;
    double sum_dx = 0;  // all sums are weighted
    double sum_dr = 0;
    double dx_r = 0;     // with the residual of the newest point
    double longest = 0;  // largest entry of dG
  };

  void begin(std::span<const double> b);
  void describe_point(const RoundOfTarget& round, Note& note);
  void describe_difference(Note& note);
  [[nodiscard]] static anderson::Seen seen_in(const Note& note);
  [[nodiscard]] Mixture shorten();
  void push(const Note& note);
  void remember_more(double residual2);
  void drop_differences(std::size_t keep);
  void extrapolate();

  std::size_t memory_;  // differences kept
  const std::size_t most_memory_;
  std::size_t looked_ = 0;                                             // rounds that counted since the last look
  double residual2_before_ = std::numeric_limits<double>::infinity();  // smallest before the last look
  double residual2_since_ = std::numeric_limits<double>::infinity();   // and since
  const cpu::SumOps& ops_;

  std::vector<double> weights_, log_b_;
  ExactSum own_weights_;  // sum over this client's slice
  Point candidate_;       // the point of the round being judged
  Point latest_;          // the last accepted point
  bool has_latest_ = false;
  std::vector<double> dx_, dr_;  // difference of the two
  std::vector<cpu::DotPair> pairs_;
  std::deque<Difference> differences_;
  std::deque<std::deque<double>> products_;  // <dx_i, dR_j>
  double sum_weights_ = 0;
  double sum_residual_ = 0;  // of the newest point, weighted

  std::vector<double> gamma_;  // of the point to try; empty: the plain image
  anderson::StepControl control_;
};

void Anderson::begin(std::span<const double> b) {
  const std::size_t m = b.size();
  weights_.resize(m);
  log_b_.assign(m, 0.0);
  own_weights_ = {};
  for (std::size_t j = 0; j < m; ++j) {
    weights_[j] = std::sqrt(b[j]);
    if (!(b[j] > 0)) continue;
    log_b_[j] = std::log(b[j]);
    own_weights_.add(weights_[j]);
  }
  // They stay 0 where there is no mass.
  for (Point* point : {&candidate_, &latest_}) {
    for (auto* values : {&point->log_x, &point->residual, &point->log_image}) values->assign(m, 0.0);
  }
}

void Anderson::describe(const RoundOfTarget& round, Note& note) {
  if (weights_.size() != round.b.size()) begin(round.b);
  describe_point(round, note);
  if (has_latest_) describe_difference(note);
  note.known_sums = note.sums.size() - 1;  // all but sum a log(u / a)
}

void Anderson::describe_point(const RoundOfTarget& round, Note& note) {
  const std::size_t m = round.b.size();
  ExactSum rows;  // <log(u / a), a>
  for (std::size_t i = 0; i < round.a.size(); ++i) rows.add(round.a[i] * std::log(round.u[i] / round.a[i]));
  // Logarithms first: a call in the loop over the sums would spill all of them to memory.
  for (std::size_t j = 0; j < m; ++j) {
    if (!(round.b[j] > 0)) continue;
    candidate_.residual[j] = std::log(round.v[j] / round.x[j]);
    candidate_.log_image[j] = std::log(round.v[j]);
    candidate_.log_x[j] = candidate_.log_image[j] - candidate_.residual[j];
  }
  ExactSum dual = rows;
  ExactSum dual_after = rows;
  ExactSum residual2;
  ExactSum residuals;
  double largest = 0;
  for (std::size_t j = 0; j < m; ++j) {
    const double b = round.b[j];
    if (!(b > 0)) continue;
    const double residual = candidate_.residual[j];
    dual.add(b * (candidate_.log_x[j] - log_b_[j]));
    dual_after.add(b * (candidate_.log_image[j] - log_b_[j]));
    residual2.add(weights_[j] * residual * residual);
    residuals.add(weights_[j] * residual);
    largest = worse(largest, std::abs(residual));
  }
  note.sums.reserve(kPairs + 2 * differences_.size());
  note.sums.assign({dual, dual_after, residual2, own_weights_, residuals});
  note.maxima.assign({largest, 0.0});
}

void Anderson::describe_difference(Note& note) {
  const std::size_t m = weights_.size();
  dx_.resize(m);
  dr_.resize(m);
  double largest = 0;
  for (std::size_t j = 0; j < m; ++j) {
    dx_[j] = weights_[j] * (candidate_.log_x[j] - latest_.log_x[j]);
    dr_[j] = candidate_.residual[j] - latest_.residual[j];
    largest = worse(largest, std::abs(candidate_.log_image[j] - latest_.log_image[j]));
  }
  note.maxima[kLargestStep] = largest;
  pairs_.clear();
  pairs_.push_back({dx_.data(), candidate_.residual.data()});
  pairs_.push_back({dx_.data(), dr_.data()});
  for (const Difference& earlier : differences_) {
    pairs_.push_back({earlier.weighted_dx.data(), dr_.data()});
    pairs_.push_back({dx_.data(), earlier.dr.data()});
  }
  note.sums.push_back(sum(dx_));
  note.sums.resize(kDxR + pairs_.size());
  ops_.exact_dots(pairs_.data(), pairs_.size(), m, note.sums.data() + kDxR);
}

anderson::Seen Anderson::seen_in(const Note& note) {
  const double dual = note.sums[kDual].total();
  const double dual_after = note.sums[kDualAfter].total();
  return {std::isfinite(dual) && std::isfinite(dual_after), dual, dual_after, note.sums[kResidual2].total(),
          note.maxima[kLargestResidual]};
}

Mixture Anderson::decide(const Note& note) {
  const anderson::Seen seen = seen_in(note);
  if (is_proposal() && !control_.accepts(seen)) return shorten();
  if (control_.accept(seen, !is_proposal())) drop_differences(anderson::kKeptAfterRejection);
  push(note);
  remember_more(seen.residual2);
  extrapolate();
  return {true, differences_.size() + 1, gamma_};
}

// Moves back towards the image, or to the image itself.
Mixture Anderson::shorten() {
  if (control_.reject()) {
    for (double& gamma : gamma_) gamma *= anderson::kShrink;
  } else {
    gamma_.clear();
    has_latest_ = false;
    drop_differences(0);
  }
  return {false, 0, gamma_};
}

void Anderson::push(const Note& note) {
  const double sum_residual = note.sums[kResidual].total();
  if (has_latest_) {
    const auto total = [&note](std::size_t k) { return note.sums[k].total(); };
    // <dx_i, R> changes with R.
    const std::size_t known = differences_.size();
    // A note has sums for as many differences as existed when it was written; those kept are the newest.
    const std::size_t offset = (note.sums.size() - kPairs) / 2 - known;
    std::deque<double> row;
    for (std::size_t i = 0; i < known; ++i) {
      const double dx_i_dr = total(kPairs + 2 * (offset + i));
      products_[i].push_back(dx_i_dr);
      row.push_back(total(kPairs + 2 * (offset + i) + 1));
      differences_[i].dx_r += dx_i_dr;
    }
    row.push_back(total(kDxDr));
    products_.push_back(std::move(row));
    differences_.push_back({std::move(dx_), std::move(dr_), total(kDx), sum_residual - sum_residual_, total(kDxR),
                            note.maxima[kLargestStep]});
    if (differences_.size() > memory_) {
      dx_ = std::move(differences_.front().weighted_dx);  // reuse their memory for the next difference
      dr_ = std::move(differences_.front().dr);
      drop_differences(memory_);
    }
  }
  sum_residual_ = sum_residual;
  sum_weights_ = note.sums[kWeights].total();
  std::swap(latest_, candidate_);
  has_latest_ = true;
}

// If the residual has not fallen to a tenth in twice as many rounds as there are differences, they are too few to span
// the slow directions.
void Anderson::remember_more(double residual2) {
  residual2_since_ = std::min(residual2_since_, residual2);
  if (++looked_ < 2 * memory_) return;
  if (residual2_since_ > 0.01 * residual2_before_) memory_ = std::min(2 * memory_, most_memory_);
  residual2_before_ = std::min(residual2_before_, residual2_since_);
  residual2_since_ = std::numeric_limits<double>::infinity();
  looked_ = 0;
}

void Anderson::drop_differences(std::size_t keep) {
  while (differences_.size() > keep) {
    differences_.pop_front();
    products_.pop_front();
    for (std::deque<double>& row : products_) row.pop_front();
  }
}

void Anderson::extrapolate() {
  const std::size_t k = differences_.size();
  gamma_.clear();
  control_.step_plainly();
  if (k == 0 || control_.is_all_noise()) return;
  Square matrix(k);
  std::vector<double> y(k);
  for (std::size_t i = 0; i < k; ++i) {
    const double mean = differences_[i].sum_dx / sum_weights_;  // the constant to remove
    y[i] = differences_[i].dx_r - mean * sum_residual_;
    for (std::size_t j = 0; j < k; ++j) matrix[i][j] = products_[i][j] - mean * differences_[j].sum_dr;
  }
  gamma_ = regularized_solution(matrix, y);
  if (gamma_.empty()) return drop_differences(0);
  double length = 0;
  for (std::size_t i = 0; i < k; ++i) length += std::abs(gamma_[i]) * differences_[i].longest;
  const double share = control_.share_of_step(length);
  for (double& gamma : gamma_) gamma *= share;
}

void Anderson::restart() {
  has_latest_ = false;
  drop_differences(0);
  gamma_.clear();
  looked_ = 0;
  residual2_before_ = residual2_since_ = std::numeric_limits<double>::infinity();
  control_.restart();
}

}  // namespace

std::unique_ptr<Acceleration> make_anderson(const MethodSettings& settings) {
  return std::make_unique<Anderson>(settings);
}

}  // namespace fedsinkhorn
