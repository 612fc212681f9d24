// Kernels by name: all there are against fifty digits, one that a test adds, and what cannot be had.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "backend/cpu/cpu_block.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "solve/check_options.hpp"
#include "support/plans.hpp"
#include "support/problems.hpp"
#include "support/registered.hpp"

namespace fedsinkhorn {
namespace {

/// The plainest kernel there can be: an entry at a time.
class ToyKernel final : public Kernel {
 public:
  ToyKernel(const KernelSpec& spec, const CostBlock& block, const CostSource& cost)
      : cost_(cost), epsilon_(spec.epsilon), k_(cost.rows() * cost.columns()) {
    EXPECT_EQ(block.rows.size(), cost.rows());
    EXPECT_GE(block.all_rows, block.rows.size());
    ++made;
  }

  [[nodiscard]] std::size_t rows() const override { return cost_.rows(); }
  [[nodiscard]] std::size_t columns() const override { return cost_.columns(); }
  void set_epsilon(double epsilon) override { epsilon_ = epsilon; }
  void absorb(std::span<const double> phi, std::span<const double> psi) override {
    RowReader row(cost_);
    for (std::size_t i = 0; i < rows(); ++i) {
      const double* costs = row(i);
      for (std::size_t j = 0; j < columns(); ++j) {
        k_[i * columns() + j] = std::exp((phi[i] + psi[j] - costs[j]) / epsilon_);
      }
    }
  }
  void apply(std::size_t targets, const double* v, double* q) override {
    std::fill_n(q, targets * rows(), 0.0);
    for_each(targets, [&](std::size_t i, std::size_t j, double k) { q[i] += k * v[j]; });
  }
  void apply_transposed(std::size_t targets, const double* u, double* r) override {
    std::fill_n(r, targets * columns(), 0.0);
    for_each(targets, [&](std::size_t i, std::size_t j, double k) { r[j] += k * u[i]; });
  }

  static inline int made = 0;

 private:
  template <class Body>
  void for_each(std::size_t targets, const Body& body) const {
    for (std::size_t t = 0; t < targets; ++t) {
      for (std::size_t at = 0; at < k_.size(); ++at) {
        body(t * rows() + at / columns(), t * columns() + at % columns(), k_[at]);
      }
    }
  }

  const CostSource& cost_;
  double epsilon_;
  std::vector<double> k_;
};

std::unique_ptr<Kernel> make_toy_kernel(const KernelSpec& spec, const CostBlock& block, const CostSource& cost,
                                        const cpu::Simd& /*simd*/) {
  return std::make_unique<ToyKernel>(spec, block, cost);
}

double toy_bytes(const KernelSpec& /*spec*/, const BlockShape& shape) {
  return static_cast<double>(shape.rows) * static_cast<double>(shape.columns) * sizeof(double);
}

bool has_points(const CostInput& costs) { return costs.points() != nullptr; }

/// Once in this program.
void add_toys() {
  static const bool added = [] {
    const KernelOnBackend toy{.backend = "cpu",
                              .make = make_cpu_block<make_toy_kernel>,
                              .bytes = toy_bytes,
                              .precisions = {Precision::float64, Precision::mixed}};
    KernelOnBackend picky = toy;
    picky.takes = has_points;
    picky.needs = "points";
    KernelOnBackend of_devices = toy;
    of_devices.backend = "cuda";
    kernels().add({.name = "toy", .backends = {toy}});
    kernels().add({.name = "picky", .backends = {picky}});
    kernels().add({.name = "far-away", .backends = {of_devices}});
    return true;
  }();
  ASSERT_TRUE(added);
}

double tolerance_of(Precision precision) {
  switch (precision) {
    case Precision::float64: return 1e-9;
    case Precision::mixed:
    case Precision::float32: return 2e-5;
    case Precision::digits50:
    case Precision::bfloat16:
    case Precision::tf32: break;
  }
  return 0;
}

/// C(i, j) = |i / n - j / m|, computed when it is asked for.
class OnALine final : public CostFunction {
 public:
  [[nodiscard]] std::size_t rows() const override { return 12; }
  [[nodiscard]] std::size_t columns() const override { return 9; }
  void fill(std::size_t row, std::size_t first, std::span<double> out) const override {
    for (std::size_t j = 0; j < out.size(); ++j) {
      out[j] = std::abs(static_cast<double>(row) / 12 - static_cast<double>(first + j) / 9);
    }
  }
};

TEST(KernelRegistry, EveryKernelPrecisionAndInputAgainstFiftyDigits) {
  add_toys();
  const testing::OwnedProblem owned = testing::random_problem(12, 9, 0.05, 3);
  std::vector<float> rounded(owned.cost.begin(), owned.cost.end());
  std::vector<Cost> inputs = {CostMatrix{MatrixView<double>{owned.cost.data(), 12, 9}},
                              CostMatrix{MatrixView<float>{rounded.data(), 12, 9}}, std::make_shared<OnALine>()};
  for (const Metric metric : {Metric::sqeuclidean, Metric::euclidean, Metric::cosine}) {
    inputs.emplace_back(PointClouds{MatrixView<double>{owned.cost.data(), 12, 3},
                                    MatrixView<double>{owned.cost.data() + 36, 9, 3}, metric});
  }
  for (const Cost& input : inputs) {
    Problem problem = owned.view();
    problem.cost = input;
    Options options;
    options.backend = "cpu";
    options.tolerance = 1e-11;
    options.precision = Precision::digits50;
    const std::vector<double> expected = testing::whole_plan(problem, solve(problem, options));
    for (const KernelEntry& kernel : kernels()) {
      const KernelOnBackend* there = kernel.on("cpu");
      if (there == nullptr || !there->can_take(*make_cost_input(input))) continue;
      for (const Precision precision : there->precisions) {
        options.kernel = std::string(kernel.name);
        options.precision = precision;
        options.tolerance = is_reduced(precision) ? 1e-6 : 1e-11;
        const Result result = solve(problem, options);
        EXPECT_EQ(result.status, Status::converged) << kernel.name;
        EXPECT_LE(testing::l1_distance(testing::whole_plan(problem, result), expected), tolerance_of(precision))
            << kernel.name << " on input " << input.index();
      }
    }
  }
}

TEST(KernelRegistry, AKernelThatWasAddedSolvesForSeveralClients) {
  add_toys();
  const testing::OwnedProblem owned = testing::random_problem(23, 17, 0.05, 6, 2);
  for (const std::string& topology : testing::topologies_in_step()) {
    for (const Passes passes : {Passes::fused, Passes::two}) {
      Options options;
      options.topology = topology;
      options.clients = 4;
      options.passes = passes;
      const Result expected = solve(owned.view(), options);
      options.kernel = "toy";
      const int before = ToyKernel::made;
      const Result result = solve(owned.view(), options);
      EXPECT_GT(ToyKernel::made, before);
      EXPECT_EQ(result.status, Status::converged);
      for (std::size_t j = 0; j < result.g.size(); ++j) EXPECT_NEAR(result.g[j], expected.g[j], 1e-7);
    }
  }
}

std::string complaint_of(const Options& options) {
  const testing::OwnedProblem owned = testing::random_problem(6, 5, 0.1, 2);
  try {
    (void)solve(owned.view(), options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(KernelRegistry, WhatCannotBeHadIsOneClearLine) {
  add_toys();
  for (const std::size_t clients : {1, 3}) {
    Options options;
    options.clients = clients;
    options.kernel = "dence";
    EXPECT_EQ(complaint_of(options),
              "kernel: unknown name 'dence'; this build knows: dense, online, toy, picky, far-away");
    options.kernel = "far-away";
    EXPECT_EQ(complaint_of(options), "kernel: far-away is not for `backend` cpu; use `backend` cuda");
    options.kernel = "toy";
    options.precision = Precision::float32;
    EXPECT_EQ(complaint_of(options),
              "precision: float32 is not for `kernel` toy on `backend` cpu; use float64 or mixed");
    options.kernel = "picky";
    options.precision = Precision::float64;
    EXPECT_EQ(complaint_of(options), "kernel: picky on `backend` cpu needs points; use dense");
  }
  // Where there is CUDA, it is the kernel that is missing there.
  Options options;
  options.kernel = "toy";
  options.backend = "cuda";
  const bool has_cuda = backends().find("cuda", "`backend`").missing.empty();
  EXPECT_EQ(complaint_of(options), has_cuda ? "kernel: toy is not for `backend` cuda; use `backend` cpu"
                                            : "backend: 'cuda' was asked for but this is built without CUDA; "
                                              "use cpu or auto");
}

}  // namespace
}  // namespace fedsinkhorn
