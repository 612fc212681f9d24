// Who computes, as far as it can be told without a device: made-up ones stand in.
#include <gtest/gtest.h>

#include "build_info.hpp"
#include "fedsinkhorn/solve.hpp"
#include "solve/choose_backend.hpp"
#include "support/line_of.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

using cuda::DeviceDescription;
using testing::OwnedProblem;

constexpr std::uint64_t kGigabyte = 1'000'000'000;

DeviceDescription device(int index, bool supported = true) {
  DeviceDescription made_up;
  made_up.index = index;
  made_up.name = "GPU " + std::to_string(index);
  made_up.major = supported ? 9 : 8;
  made_up.memory = 100 * kGigabyte;
  made_up.supported = supported;
  return made_up;
}

std::vector<int> numbers(const std::vector<DeviceDescription>& devices) {
  std::vector<int> indices;
  for (const DeviceDescription& one : devices) indices.push_back(one.index);
  return indices;
}

std::string complaint(const std::function<void()>& body) { return test::line_of<InputError>(body, ""); }

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' lacks '" << part << "'";
}

TEST(Devices, AllThatAreSupportedUnlessSomeAreNamed) {
  const std::vector<DeviceDescription> found = {device(0), device(1, false), device(2)};
  EXPECT_EQ(numbers(usable_devices({}, found, "")), (std::vector<int>{0, 2}));
  EXPECT_EQ(numbers(usable_devices({2, 0}, found, "")), (std::vector<int>{2, 0}));
  EXPECT_TRUE(usable_devices({}, {}, "no driver").empty());
}

TEST(Devices, WrongNumbersAreAnsweredWithThoseThatExist) {
  const std::vector<DeviceDescription> found = {device(0), device(1, false), device(2)};
  EXPECT_EQ(complaint([&] {
              (void)usable_devices({0, 7}, found, "");
            }),
            "devices: there is no device 7; choose from 0, 2");
  EXPECT_EQ(complaint([&] { (void)usable_devices({1}, found, ""); }),
            "devices: device 1 (GPU 1) has compute capability 8.0, which is not supported; choose from 0, 2");
  EXPECT_EQ(complaint([&] { (void)usable_devices({0}, {}, "no CUDA device: there is no driver"); }),
            "devices: there is no device 0; no CUDA device: there is no driver");
}

TEST(Devices, CostsThereAreRefusedInABuildWithoutCuda) {
  if (build_info::kCuda) GTEST_SKIP() << "built with CUDA: tests/cuda has solves from costs on a device";
  const OwnedProblem owned = testing::random_problem(3, 4, 0.1, 1);
  Problem problem = owned.view();
  problem.cost = DeviceCostMatrix{MatrixView<double>{owned.cost.data(), 3, 4}, 0};
  for (const char* backend : {"auto", "cpu"}) {
    Options options;
    options.backend = backend;
    EXPECT_EQ(complaint([&] { (void)solve(problem, options); }),
              "cost: lies on a device, and this was built without CUDA; copy it to the host");
  }
}

TEST(Devices, MemoryThatDoesNotSufficeIsSaidInOneLine) {
  const DeviceDescription one = device(0);
  EXPECT_EQ(complaint([&] { require_device_memory(one, 90 * kGigabyte, {90e9, 45e9, 22e9, 1e6}); }), "");
  const std::string mixed_will_do = complaint([&] {
    require_device_memory(one, 90 * kGigabyte, {160e9, 80e9, 40e9, 0});
  });
  expect_contains(mixed_will_do, "memory: this solve needs 160 GB (160000000000 bytes) on device 0 (GPU 0), where 90");
  expect_contains(mixed_will_do, "; `precision` mixed needs 80");
  expect_contains(mixed_will_do, ", `precision` bfloat16 needs 40");
  EXPECT_EQ(mixed_will_do.find("`kernel` online"), std::string::npos);
  const std::string online_will_do = complaint([&] {
    require_device_memory(one, 90 * kGigabyte, {800e9, 400e9, 200e9, 1e6});
  });
  expect_contains(online_will_do, "; `kernel` online needs 1 MB");
  EXPECT_EQ(online_will_do.find("mixed"), std::string::npos);
  expect_contains(complaint([&] {
                    require_device_memory(one, 90 * kGigabyte, {800e9, 400e9, 200e9, 1e6, true});
                  }),
                  "`kernel` online `precision` tf32");
  expect_contains(complaint([&] { require_device_memory(one, 90 * kGigabyte, {800e9, 0, 0, 0}); }), "fewer rows");
}

TEST(Backend, WhatDevicesDoNotDoIsRefusedOnlyIfTheyWereAskedFor) {
  Options options;
  options.stabilization = Stabilization::log;
  EXPECT_EQ(complaint([&] { check_backend(options); }), "");
  options.backend = "cuda";
  expect_contains(complaint([&] { check_backend(options); }),
                  build_info::kCuda ? "cuda does not go with `stabilization` log" : "built without CUDA");
  options.stabilization = Stabilization::absorption;
  options.precision = Precision::digits50;
  expect_contains(complaint([&] { check_backend(options); }),
                  build_info::kCuda ? "cuda does not go with `precision` 50" : "built without CUDA");
}

TEST(Backend, PrecisionsOfDevicesSayWhatWouldBeRight) {
  Options options;
  options.precision = Precision::bfloat16;
  options.kernel = KernelKind::online;
  EXPECT_EQ(complaint([&] { check_backend(options); }),
            "precision: bfloat16 is for kernels that are stored; use `kernel` dense, or tf32 for points");
  options.precision = Precision::tf32;
  options.kernel = KernelKind::dense;
  EXPECT_EQ(complaint([&] { check_backend(options); }),
            "precision: tf32 is for kernels computed from points; add `kernel` online, or use bfloat16");
  options.precision = Precision::bfloat16;
  options.backend = "cpu";
  expect_contains(complaint([&] { check_backend(options); }), "precision: bfloat16 is for `backend` cuda");
}

TEST(Backend, ACostMatrixCannotBeComputedAnewOnADevice) {
  if (!build_info::kCuda) GTEST_SKIP() << "built without CUDA";
  const OwnedProblem owned = testing::random_problem(5, 6, 0.1, 1);
  Options options;
  options.backend = "cuda";
  options.kernel = KernelKind::online;
  EXPECT_EQ(complaint([&] { (void)solve(owned.view(), options); }),
            "kernel: online on `backend` cuda needs points; use dense, or `backend` cpu");
  options.backend = "auto";
  EXPECT_EQ(solve(owned.view(), options).backend, "cpu");
}

TEST(Backend, WithoutADeviceEveryClientIsToldWhy) {
  const std::string why_none = cuda::why_no_device();
  if (why_none.empty()) GTEST_SKIP() << "there is a device";
  const OwnedProblem owned = testing::random_problem(8, 6, 0.1, 1);
  Options options;
  options.backend = "cuda";
  for (const std::size_t clients : {1, 3}) {
    options.clients = clients;
    const std::string line = complaint([&] { (void)solve(owned.view(), options); });
    expect_contains(line, "backend: ");
    expect_contains(line, why_none);
    expect_contains(line, "use cpu or auto");
  }
}

TEST(Backend, SmallProblemsStayWithTheProcessors) {
  const Result result = solve(testing::random_problem(8, 6, 0.1, 1).view());
  EXPECT_EQ(result.backend, "cpu");
  EXPECT_EQ(result.device, "");
  EXPECT_EQ(result.clients.front().device, -1);
}

}  // namespace
}  // namespace fedsinkhorn
