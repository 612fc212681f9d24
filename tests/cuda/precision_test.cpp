// Whole solves on a device against the processors, through the public interface.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "core/names.hpp"
#include "cuda/on_the_device.hpp"
#include "device/devices.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/plans.hpp"
#include "support/problems.hpp"
#include "support/registered.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

using SolveOnDevice = testing::OnTheDevice;

/// Marginal error to reach, and how far the plan may then be from that of the processors in float64, in L1.
struct Accuracy {
  double tolerance = 0;
  double distance = 0;
};

Accuracy accuracy_of(Precision precision) {
  switch (precision) {
    case Precision::bfloat16: return {1e-2, 5e-2};
    case Precision::tf32: return {1e-5, 5e-2};
    case Precision::float32:
    case Precision::mixed: return {1e-5, 1e-3};
    case Precision::float64:
    case Precision::digits50: break;
  }
  return {1e-10, 1e-8};
}

void expect_like_processors(const Problem& problem, Options options) {
  SCOPED_TRACE(options.topology + ", " + std::string(name_of(options.kernel)) + ", " +
               std::string(name_of(options.precision)) + ", " + std::to_string(options.clients) + " clients");
  const Accuracy accuracy = accuracy_of(options.precision);
  options.backend = "cuda";
  options.tolerance = accuracy.tolerance;
  const Result on_device = solve(problem, options);
  EXPECT_EQ(on_device.backend, "cuda");
  EXPECT_NE(on_device.device, "");
  EXPECT_EQ(on_device.status, Status::converged);
  Options reference;
  reference.backend = "cpu";
  reference.tolerance = 1e-10;
  const Result by_processors = solve(problem, reference);
  for (std::size_t k = 0; k < on_device.targets; ++k) {
    EXPECT_LE(testing::l1_distance(testing::whole_plan(problem, on_device, k),
                                   testing::whole_plan(problem, by_processors, k)),
              accuracy.distance)
        << "target " << k;
  }
}

TEST_F(SolveOnDevice, EveryTopology) {
  const OwnedProblem owned = testing::random_problem(203, 157, 0.05, 1);
  for (const TopologyEntry& topology : topologies()) {
    Options options;
    options.topology = topology.name;
    options.clients = topology.several_clients ? 4 : 1;
    expect_like_processors(owned.view(), options);
  }
}

TEST_F(SolveOnDevice, EveryPrecisionOfAStoredKernel) {
  for (const std::size_t targets : {1, 2, 5, 40}) {
    const OwnedProblem owned = testing::random_problem(300, 211, 0.05, 2, targets);
    for (const Precision precision : {Precision::float64, Precision::float32, Precision::mixed, Precision::bfloat16}) {
      Options options;
      options.precision = precision;
      expect_like_processors(owned.view(), options);
    }
  }
}

TEST_F(SolveOnDevice, EveryPrecisionFromPoints) {
  for (const std::size_t dimension : {1, 2, 3, 17, 64}) {
    OwnedProblem owned = testing::random_problem(300, 211, 0.1, 3);
    Random random(4);
    std::vector<double> x(300 * dimension);
    std::vector<double> y(211 * dimension);
    for (double& coordinate : x) coordinate = random.uniform() / static_cast<double>(dimension);
    for (double& coordinate : y) coordinate = random.uniform() / static_cast<double>(dimension);
    for (const Metric metric : {Metric::sqeuclidean, Metric::euclidean, Metric::cosine}) {
      Problem problem = owned.view();
      problem.cost = PointClouds{MatrixView<double>{x.data(), 300, dimension},
                                 MatrixView<double>{y.data(), 211, dimension}, metric};
      for (const Precision precision : {Precision::float64, Precision::float32, Precision::tf32}) {
        Options options;
        options.kernel = KernelKind::online;
        options.precision = precision;
        expect_like_processors(problem, options);
      }
      expect_like_processors(problem, {});
    }
  }
}

TEST_F(SolveOnDevice, SmallEpsilonForbiddenPairsAndMissingMasses) {
  OwnedProblem owned = testing::point_problem(150, 170, 1e-3, 5);
  expect_like_processors(owned.view(), {});
  owned = testing::random_problem(90, 80, 0.02, 6);
  for (std::size_t i = 0; i < 40; ++i) owned.cost[i * 80 + (3 * i) % 80] = testing::kInfinity;
  owned.a[7] = 0;
  owned.b[11] = 0;
  testing::normalise(owned.a);
  testing::normalise(owned.b);
  expect_like_processors(owned.view(), {});
}

TEST_F(SolveOnDevice, TheSameBitsEveryTime) {
  const OwnedProblem owned = testing::random_problem(203, 157, 0.05, 7);
  Options options;
  options.backend = "cuda";
  const Result first = solve(owned.view(), options);
  const Result second = solve(owned.view(), options);
  EXPECT_EQ(first.iterations, second.iterations);
  EXPECT_EQ(first.f, second.f);
  EXPECT_EQ(first.g, second.g);
}

TEST_F(SolveOnDevice, ClientsAreDealtTheDevicesInTurn) {
  const OwnedProblem owned = testing::random_problem(60, 50, 0.1, 8);
  std::vector<int> usable;
  for (const cuda::DeviceDescription& device : cuda::devices()) {
    if (device.supported) usable.push_back(device.index);
  }
  Options options;
  options.backend = "cuda";
  options.clients = 3;
  const Result result = solve(owned.view(), options);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(result.clients[k].device, usable[k % usable.size()]);
  options.devices = {usable.back()};
  for (const ClientReport& client : solve(owned.view(), options).clients) EXPECT_EQ(client.device, usable.back());
}

}  // namespace
}  // namespace fedsinkhorn
