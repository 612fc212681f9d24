// Kernels by name: all there are against fifty digits, one that a test adds, and what cannot be had.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <mutex>
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

/// The stored kernel by another name; tests/extending/kernel_test.cpp has one of its own making.
std::unique_ptr<Kernel> make_toy_kernel(const KernelSpec& spec, const CostBlock& block, const CostSource& cost,
                                        const cpu::Simd& simd) {
  EXPECT_EQ(block.rows.size(), cost.rows());
  EXPECT_GE(block.all_rows, block.rows.size());
  return make_dense_kernel(spec, block, cost, simd);
}

double toy_bytes(const KernelSpec& /*spec*/, const BlockShape& shape) {
  return static_cast<double>(shape.rows) * static_cast<double>(shape.columns) * sizeof(double);
}

bool has_points(const CostInput& costs) { return costs.points() != nullptr; }

/// Once in this program.
void add_toys() {
  static std::once_flag once;
  std::call_once(once, [] {
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
  });
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

std::string complaint_about_options(const Options& options) {
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
    EXPECT_EQ(complaint_about_options(options),
              "kernel: unknown name 'dence'; this build knows: dense, online, toy, picky, far-away");
    options.kernel = "far-away";
    EXPECT_EQ(complaint_about_options(options), "kernel: far-away is not for `backend` cpu; use `backend` cuda");
    options.kernel = "toy";
    options.precision = Precision::float32;
    EXPECT_EQ(complaint_about_options(options),
              "precision: float32 is not for `kernel` toy on `backend` cpu; use float64 or mixed");
    options.kernel = "picky";
    options.precision = Precision::float64;
    EXPECT_EQ(complaint_about_options(options), "kernel: picky on `backend` cpu needs points; use dense");
  }
  // Where there is CUDA, it is the kernel that is missing there.
  Options options;
  options.kernel = "toy";
  options.backend = "cuda";
  const bool has_cuda = backends().find("cuda", "`backend`").missing.empty();
  EXPECT_EQ(complaint_about_options(options), has_cuda
                                                  ? "kernel: toy is not for `backend` cuda; use `backend` cpu"
                                                  : "backend: 'cuda' was asked for but this is built without CUDA; "
                                                    "use cpu or auto");
}

}  // namespace
}  // namespace fedsinkhorn
