// What clients agree on by secure sums is what they agree on in plain, as far as agreement.hpp says so.
#include "comm/agreement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

#include "comm/secure_sums.hpp"
#include "comm/transports.hpp"
#include "core/random.hpp"
#include "support/special_numbers.hpp"

namespace fedsinkhorn {
namespace {

using testing::kInfinity;
using testing::kLargest;
using testing::kNan;
using testing::kSmallest;

/// Row k: client k's.
using Table = std::vector<std::vector<double>>;
using Verb = std::function<void(const Collectives&, std::vector<double>&)>;

/// What every client has afterwards: all the same.
std::vector<double> agreed(const Table& given, bool by_sums, const Verb& verb) {
  Table of_client = given;
  run_on_threads(given.size(), Seconds(60), [&](Communicator& communicator) {
    std::unique_ptr<SecureSums> sums;
    if (by_sums) sums = std::make_unique<SecureSums>(make_peer_summing(communicator));
    verb(Collectives(communicator, Route::direct, std::nullopt, sums.get()), of_client[communicator.rank()]);
  });
  for (const std::vector<double>& other : of_client) {
    for (std::size_t j = 0; j < other.size(); ++j) {
      const double first = of_client[0][j];
      EXPECT_TRUE(other[j] == first || (std::isnan(other[j]) && std::isnan(first))) << other[j] << " | " << first;
    }
  }
  return of_client[0];
}

std::vector<double> in_plain(const Table& given, const Verb& verb) { return agreed(given, false, verb); }
std::vector<double> by_sums(const Table& given, const Verb& verb) { return agreed(given, true, verb); }

void expect_equal(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t j = 0; j < got.size(); ++j) {
    if (std::isnan(expected[j])) {
      EXPECT_TRUE(std::isnan(got[j])) << j << ": " << got[j];
    } else {
      EXPECT_EQ(got[j], expected[j]) << j;
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Maxima and flags

const Verb kGreatest = [](const Collectives& clients, std::vector<double>& values) {
  greatest_of_all(clients, values);
};
const Verb kGreatestKnown = [](const Collectives& clients, std::vector<double>& values) {
  greatest_of_known(clients, values);
};

TEST(Agreement, TheGreatestIsKnownToThePowerOfTwo) {
  const Table given = {{1, 3, -5, 0, 0.3, kLargest, kSmallest, kInfinity, 5, 1024, -kInfinity},
                       {0.5, 4, -2, 0, 1e-9, 1, 0, 1, kNan, 1023, -kInfinity},
                       {0.7, 2, -9, -1, 1e-300, 2, -1, 2, 7, 1, -kInfinity}};
  expect_equal(by_sums(given, kGreatest), {1, 4, 0, 0, 0.5, kInfinity, kSmallest, kInfinity, kInfinity, 1024, 0});
  expect_equal(in_plain(given, kGreatest), {1, 4, -2, 0, 0.3, kLargest, kSmallest, kInfinity, kNan, 1024, -kInfinity});
}

// 2^1024 is no number: what is above 2^1023 counts as that and is told as infinity by ldexp.
TEST(Agreement, EveryPowerOfTwoIsFound) {
  for (int exponent = -1074; exponent <= 1023; exponent += 13) {
    const double power = std::ldexp(1.0, exponent);
    const double below = exponent > -1000 ? std::nextafter(power, 0) : power;
    const double above = std::nextafter(power, kInfinity);
    const std::vector<double> got = by_sums({{power, below / 4, above, 0}, {0, below, power, above / 2}}, kGreatest);
    EXPECT_EQ(got[0], power) << exponent;
    EXPECT_EQ(got[1], power) << exponent;
    EXPECT_EQ(got[2], 2 * power) << exponent;
    if (exponent > -1000) {
      EXPECT_EQ(got[3], power) << exponent;
    }
  }
}

TEST(Agreement, RandomMaximaAreNextPowersOfTwo) {
  Random random(1);
  for (const std::size_t clients : {1U, 2U, 3U, 7U}) {
    Table given(clients, std::vector<double>(300));
    for (auto& own : given) {
      for (double& x : own) x = std::ldexp(random.uniform(-1, 1), static_cast<int>(random.below(2000)) - 1000);
    }
    const std::vector<double> greatest = in_plain(given, kGreatest);
    const std::vector<double> powers = by_sums(given, kGreatest);
    for (std::size_t j = 0; j < greatest.size(); ++j) {
      if (greatest[j] <= 0) {
        EXPECT_EQ(powers[j], 0);
        continue;
      }
      EXPECT_GE(powers[j], greatest[j]);
      EXPECT_LT(powers[j] / 2, greatest[j]);
      EXPECT_EQ(std::ilogb(powers[j]), std::log2(powers[j]));
    }
  }
}

TEST(Agreement, WhatAllMayKnowIsExact) {
  const Table given = {{1, 3, -5, kInfinity, 0.1}, {0.5, 4, -2, 1, 0.2}, {0.7, 2, -9, 2, -kInfinity}};
  expect_equal(by_sums(given, kGreatestKnown), {1, 4, -2, kInfinity, 0.2});
  expect_equal(in_plain(given, kGreatestKnown), by_sums(given, kGreatestKnown));
}

TEST(Agreement, FlagsAreSetIfAnyIs) {
  const Verb any = [](const Collectives& clients, std::vector<double>& values) {
    std::vector<bool> flags;
    for (const double x : values) flags.push_back(x != 0);
    any_of_all(clients, flags);
    values.assign(flags.begin(), flags.end());
  };
  const Table given = {{0, 1, 0, 1}, {0, 0, 0, 1}, {0, 0, 1, 1}};
  expect_equal(in_plain(given, any), {0, 1, 1, 1});
  for (int time = 0; time < 50; ++time) expect_equal(by_sums(given, any), {0, 1, 1, 1});
}

// ---------------------------------------------------------------------------------------------------------------------
// Sums

/// Pairs of value and rest.
const Verb kAddUp = [](const Collectives& clients, std::vector<double>& values) {
  std::vector<ExactSum> sums(values.size() / 2);
  for (std::size_t j = 0; j < sums.size(); ++j) sums[j] = {values[2 * j], values[2 * j + 1]};
  add_up_of_all(clients, sums);
  for (std::size_t j = 0; j < sums.size(); ++j) {
    values[2 * j] = sums[j].total();
    values[2 * j + 1] = sums[j].value + sums[j].rest;
  }
};

TEST(Agreement, SumsAreThoseOfExactSums) {
  Random random(2);
  for (const std::size_t clients : {1U, 2U, 3U, 7U}) {
    Table given(clients, std::vector<double>(200));
    for (std::size_t j = 0; j < 100; ++j) {
      const int exponent = static_cast<int>(random.below(1800)) - 900;
      for (auto& own : given) {
        own[2 * j] = std::ldexp(random.uniform(-1, 1), exponent - static_cast<int>(random.below(40)));
        own[2 * j + 1] = 0x1p-55 * own[2 * j] * random.uniform(-1, 1);
      }
    }
    expect_equal(by_sums(given, kAddUp), in_plain(given, kAddUp));
  }
}

TEST(Agreement, WhatIsNotFiniteMakesTheSumNan) {
  const Table given = {{1, 0, kNan, 0, kInfinity, 0, 2, 0, 1, kNan, -kInfinity, 0},
                       {2, 0, 1, 0, 1, 0, -kInfinity, 0, 1, 0, kInfinity, 0},
                       {3, 0, 1, 0, 2, 0, 1, 0, 1, 0, 1, 0}};
  expect_equal(by_sums(given, kAddUp), {6, 6, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan});
}

TEST(Agreement, NoNormOfTheLargestBySums) {
  EXPECT_THROW(by_sums({{1}, {2}},
                       [](const Collectives& clients, std::vector<double>& values) {
                         std::vector<ErrorPart> parts = {{values[0], 0}};
                         combine_of_all(clients, Norm::linf, parts);
                       }),
               std::logic_error);
}

TEST(Agreement, NormsAreCombinedAsInPlain) {
  for (const Norm norm : {Norm::l1, Norm::l2}) {
    const Verb combine = [norm](const Collectives& clients, std::vector<double>& values) {
      std::vector<ErrorPart> parts;
      for (const double x : values) parts.push_back({x, 0});
      combine_of_all(clients, norm, parts);
      for (std::size_t j = 0; j < parts.size(); ++j) values[j] = error_of(norm, parts[j]);
    };
    const Table given = {{1, 0, 1e-30, 3e200}, {2, 1e-300, 1, 1}, {4, 0, 0, 1e-200}};
    expect_equal(by_sums(given, combine), in_plain(given, combine));
  }
}

TEST(Agreement, KnownVectorsAreGatheredAsTheyAre) {
  const Verb gather = [](const Collectives& clients, std::vector<double>& values) {
    const std::vector<std::size_t> counts = {2, 0, 3};
    gather_known(clients.of(Payload::slice), values, counts);
  };
  const Table given = {{1, -0.0, 0, 0, 0}, {0, 0, 0, 0, 0}, {0, 0, kNan, kInfinity, kSmallest}};
  expect_equal(by_sums(given, gather), {1, -0.0, kNan, kInfinity, kSmallest});
  EXPECT_TRUE(std::signbit(by_sums(given, gather)[1]));
  expect_equal(in_plain(given, gather), by_sums(given, gather));
}

// ---------------------------------------------------------------------------------------------------------------------
// Sums of logarithms

const Verb kLogs = [](const Collectives& clients, std::vector<double>& values) { add_up_logs_of_all(clients, values); };

void expect_near_logs(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t j = 0; j < got.size(); ++j) {
    if (!std::isfinite(expected[j])) {
      EXPECT_EQ(got[j], expected[j]) << j;
    } else {
      // A rounding of what stands for the window, and one of the result.
      EXPECT_NEAR(got[j], expected[j], 4e-16 * std::max(1000.0, std::abs(expected[j]))) << j;
    }
  }
}

TEST(Agreement, LogarithmsOfEverySizeAddUp) {
  Random random(3);
  for (const std::size_t clients : {1U, 2U, 3U, 7U}) {
    for (const double size : {1e-3, 1.0, 500.0, 1e4, 1e6, 1e15}) {
      Table given(clients, std::vector<double>(60));
      for (std::size_t j = 0; j < 60; ++j) {
        const double middle = size * random.uniform(-1, 1);
        for (auto& own : given) own[j] = middle + random.uniform(-3, 3);
      }
      SCOPED_TRACE(size);
      expect_near_logs(by_sums(given, kLogs), in_plain(given, kLogs));
    }
  }
}

TEST(Agreement, ClientsFarBelowTheOthersDoNotMatter) {
  Random random(4);
  Table given(3, std::vector<double>(200));
  for (std::size_t j = 0; j < 200; ++j) {
    for (auto& own : given) own[j] = std::pow(10.0, random.uniform(-2, 6)) * random.uniform(-1, 1);
  }
  expect_near_logs(by_sums(given, kLogs), in_plain(given, kLogs));
}

TEST(Agreement, LogarithmsOfNothing) {
  const Table given = {{-kInfinity, 1, -kInfinity, -kInfinity, 700, -1e6, 1e15},
                       {-kInfinity, -kInfinity, -kInfinity, 3, -700, -kInfinity, -1e15},
                       {-kInfinity, 2, 5, -kInfinity, 0, -kInfinity, 0}};
  expect_near_logs(by_sums(given, kLogs), in_plain(given, kLogs));
  expect_near_logs(by_sums({{-kInfinity, -kInfinity}, {-kInfinity, -kInfinity}}, kLogs), {-kInfinity, -kInfinity});
  expect_near_logs(by_sums({{}, {}}, kLogs), {});
}

// The ends of windows, and half of them.
TEST(Agreement, LogarithmsAtMultiplesOfTheWindow) {
  Table given(2);
  for (double x = -2048; x <= 2048; x += 128) {
    for (const double step : {-1e-9, 0.0, 1e-9}) {
      given[0].push_back(x + step);
      given[1].push_back(-kInfinity);
      given[0].push_back(x);
      given[1].push_back(x + step);
    }
  }
  expect_near_logs(by_sums(given, kLogs), in_plain(given, kLogs));
  // Alone, so that the largest is at the end of its window, too, and so that all are far below 1.
  for (const double x :
       {-1024.0, -512.0, 0.0, 512.0, 511.999, -511.999, 5e-324, -5e-324, -80.0, -200.0, -256.0, 256.0}) {
    expect_near_logs(by_sums({{x}, {-kInfinity}}, kLogs), {x});
    expect_near_logs(by_sums({{x}, {x}}, kLogs), in_plain({{x}, {x}}, kLogs));
  }
}

TEST(Agreement, LogarithmsThatAreNoneMakeAllNan) {
  for (const double bad : {kNan, kInfinity}) {
    for (const double x : by_sums({{1, 2}, {bad, 2}, {3, 4}}, kLogs)) EXPECT_TRUE(std::isnan(x));
  }
}

}  // namespace
}  // namespace fedsinkhorn
