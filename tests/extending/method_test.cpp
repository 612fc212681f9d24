// A method in one file: Newton's on the semi-dual, by conjugate gradients. It asks for products with the kernel, for
// sums over the clients, and takes trial steps that may be rejected.
#include <gtest/gtest.h>

#include <cmath>

#include "fedsinkhorn/solve.hpp"
#include "registry/registry.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

using Vector = std::vector<double>;

class ToyNewton final : public Acceleration {
 public:
  explicit ToyNewton(const MethodSettings& settings) : reach_(settings.reach), slack_(1e-12 * settings.mass) {}

  // The semi-dual value <log u, a> + <log x, b>, and what the second half-step adds to it.
  void describe(const RoundOfTarget& round, Note& note) override {
    a_.assign(round.a.begin(), round.a.end());
    b_.assign(round.b.begin(), round.b.end());
    note.sums.resize(2);
    for (std::size_t i = 0; i < a_.size(); ++i) note.sums[0].add(a_[i] * std::log(round.u[i]));
    for (std::size_t j = 0; j < b_.size(); ++j) {
      if (!(b_[j] > 0)) continue;
      note.sums[0].add(b_[j] * std::log(round.x[j]));
      note.sums[1].add(b_[j] * std::log(round.v[j] / round.x[j]));
    }
  }
  Mixture decide(const Note& note) override {
    is_accepted_ = !is_trial_ || note.sums[0].total() >= best_ - slack_;
    if (!is_accepted_) {
      ++rejected_;
      is_trial_ = false;
      return {.keep_newest = false};
    }
    gain_ = note.sums[1].total();
    best_ = note.sums[0].total() + gain_;
    return {};
  }
  [[nodiscard]] bool wants_plan() const override { return is_accepted_; }

  // H d = b - c with u = a / K x, P = diag(u) K diag(x), c its column sums and H = diag(c) - P' diag(1/a) P.
  void propose(KernelAccess& kernel, std::span<double> x) override {
    Vector u(a_.size());
    kernel.rows(x, u);
    Vector weights(u.size());  // u^2 / a
    for (std::size_t i = 0; i < u.size(); ++i) {
      weights[i] = a_[i] / (u[i] * u[i]);
      u[i] = a_[i] / u[i];
    }
    Vector c(b_.size());
    kernel.columns(u, c);
    for (std::size_t j = 0; j < c.size(); ++j) c[j] *= x[j];
    const auto times_h = [&](const Vector& y) {
      Vector xy(y.size());
      Vector result(y.size());
      for (std::size_t j = 0; j < y.size(); ++j) xy[j] = x[j] * y[j];
      kernel.weighted(weights, xy, result);
      for (std::size_t j = 0; j < y.size(); ++j) result[j] = c[j] * y[j] - x[j] * result[j];
      return result;
    };
    const auto dot = [&](const Vector& y, const Vector& z) {
      double sum = 0;
      for (std::size_t j = 0; j < y.size(); ++j) sum += y[j] * z[j];
      kernel.add_up({&sum, 1});
      return sum;
    };
    Vector d(b_.size());
    Vector rest(b_.size());
    for (std::size_t j = 0; j < b_.size(); ++j) rest[j] = b_[j] - c[j];
    Vector way = rest;
    double size = dot(rest, rest);
    for (int step = 0; step < 20 && size > 0; ++step) {
      const Vector h = times_h(way);
      const double alpha = size / dot(way, h);
      for (std::size_t j = 0; j < d.size(); ++j) {
        d[j] += alpha * way[j];
        rest[j] -= alpha * h[j];
      }
      const double before = std::exchange(size, dot(rest, rest));
      for (std::size_t j = 0; j < d.size(); ++j) way[j] = rest[j] + size / before * way[j];
    }
    for (std::size_t j = 0; j < x.size(); ++j) x[j] *= std::exp(std::clamp(d[j], -reach_, reach_));
    is_trial_ = true;
  }
  void restart() override { is_trial_ = is_accepted_ = false; }
  [[nodiscard]] bool is_proposal() const override { return is_trial_; }
  [[nodiscard]] double gain() const override { return gain_; }
  [[nodiscard]] std::int64_t rejected() const override { return rejected_; }

 private:
  double reach_, slack_, best_ = 0, gain_ = 0;
  bool is_trial_ = false, is_accepted_ = false;
  std::int64_t rejected_ = 0;
  Vector a_, b_;
};

TEST(AToyMethod, NeedsFarFewerRoundsThanPlainSinkhornOnEveryTopology) {
  methods().add({.name = "toy-newton", .make = [](const MethodSettings& settings) -> std::unique_ptr<Acceleration> {
                   return std::make_unique<ToyNewton>(settings);
                 }});
  const testing::OwnedProblem owned = testing::point_problem(60, 45, 0.005, 3);
  Options options;
  options.method = "sinkhorn";
  const Result plain = solve(owned.view(), options);
  options.method = "toy-newton";
  for (const TopologyEntry& topology : topologies()) {
    if (topology.is_asynchronous) continue;
    SCOPED_TRACE(topology.name);
    options.topology = topology.name;
    options.clients = topology.several_clients ? 3 : 1;
    const Result result = solve(owned.view(), options);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_LT(10 * result.iterations, plain.iterations);
    EXPECT_NEAR(result.cost.objective, plain.cost.objective, 1e-8);
  }
}

}  // namespace
}  // namespace fedsinkhorn
