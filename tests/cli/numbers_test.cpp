// The numbers a user reads: the same in the table and in summary.json, and right at the ends of what float64 holds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cli/random_inputs.hpp"
#include "cli/run_binary.hpp"
#include "fedsinkhorn/npy.hpp"

namespace fedsinkhorn::test {
namespace {

constexpr std::size_t kRows = 5;
constexpr std::size_t kColumns = 6;

class NumbersTest : public ::testing::Test {
 protected:
  NumbersTest() {
    write("C.npy", cost_, {kRows, kColumns});
    write_masses("", 1);
  }

  void write(const std::string& name, const Values& values, const Shape& shape) const {
    write_npy(folder_.path() / name, values, shape);
  }
  /// a<suffix>.npy and b<suffix>.npy, the masses times a factor.
  void write_masses(const std::string& suffix, double factor) const {
    write("a" + suffix + ".npy", scaled(a_, factor), {kRows});
    write("b" + suffix + ".npy", scaled(b_, factor), {kColumns});
  }
  static Values scaled(Values values, double factor) {
    for (double& x : values) x *= factor;
    return values;
  }
  [[nodiscard]] RunResult run(const std::string& command) const {
    return run_here(words_of(command), {.folder = folder_.path()});
  }
  [[nodiscard]] nlohmann::json summary() const { return read_json(folder_.path() / "r" / "summary.json"); }
  [[nodiscard]] Values values_of(const std::string& name) const { return read_npy(folder_.path() / name).values; }

  TemporaryFolder folder_;
  Values cost_ = random_values(kRows * kColumns, 1);
  Values a_ = random_masses(kRows, 4);
  Values b_ = random_masses(kColumns, 5);
};

TEST_F(NumbersTest, EntropyAndObjectivesAreThoseOfThePlan) {
  const RunResult result =
      run("solve --cost C.npy --a a.npy --b b.npy --epsilon 0.1 --tolerance 1e-12 --output r --plan");
  ASSERT_EQ(result.status, 0) << result;
  const Values plan = values_of("r/plan.npy");
  double linear = 0;
  double p_log_p = 0;
  double divergence = 0;
  for (std::size_t k = 0; k < plan.size(); ++k) {
    const double product = a_[k / kColumns] * b_[k % kColumns];
    linear += plan[k] * cost_[k];
    p_log_p += plan[k] * std::log(plan[k]);
    divergence += plan[k] * std::log(plan[k] / product) - plan[k] + product;
  }
  const nlohmann::json json = summary();
  EXPECT_NEAR(json["mass"], 1, 1e-14);
  EXPECT_NEAR(json["cost"]["linear"], linear, 1e-14);
  EXPECT_NEAR(json["cost"]["shannon_entropy"], -p_log_p, 1e-13);
  EXPECT_NEAR(json["cost"]["entropy"], 1 - p_log_p, 1e-11);
  EXPECT_NEAR(json["cost"]["kl_objective"], linear + 0.1 * divergence, 1e-13);
  EXPECT_EQ(json["potentials"]["rests_written"], false);
  EXPECT_LT(json["potentials"]["rounding_error"], 1e-13);
  EXPECT_EQ(json["normalize"], false);
}

TEST_F(NumbersTest, TheTableHasWhatTheSummaryHas) {
  for (const std::size_t targets : {1, 3, 11}) {
    SCOPED_TRACE(targets);
    Values b(kColumns * targets);
    for (std::size_t k = 0; k < targets; ++k) {
      const Values own = random_masses(kColumns, static_cast<unsigned>(10 + k));
      for (std::size_t j = 0; j < kColumns; ++j) b[j * targets + k] = own[j];
    }
    write("targets.npy", b, {kColumns, targets});
    const RunResult result = run("solve --cost C.npy --a a.npy --b targets.npy --epsilon 0.1 --output r");
    ASSERT_EQ(result.status, 0) << result;
    const nlohmann::json json = summary();
    const auto expect_said = [&](const nlohmann::json& number) {
      EXPECT_NE(result.out.find(fmt::format("{:.12g}", number.get<double>())), std::string::npos)
          << number << " is not in\n"
          << result.out;
    };
    for (const auto& [name, number] : json["cost"].items()) expect_said(number);
    EXPECT_EQ(result.out.find("average"), std::string::npos) << result.out;
    EXPECT_EQ(result.out.find(fmt::format("(sum of {} targets)", targets)) != std::string::npos, targets > 1)
        << result.out;
    if (targets != 3) continue;
    double linear = 0;
    for (const nlohmann::json& target : json["per_target"]) {
      for (const char* name : {"linear", "shannon_entropy", "objective"}) expect_said(target["cost"][name]);
      linear += target["cost"]["linear"].get<double>();
    }
    EXPECT_NEAR(json["cost"]["linear"], linear, 1e-12);
  }
}

TEST_F(NumbersTest, RoundedMassesAreNormalized) {
  Values a = a_;
  for (double& mass : a) mass = std::round(100 * mass) / 100 + 0.01;
  write("rounded.npy", a, {kRows});
  const std::string solve = "solve --cost C.npy --a rounded.npy --b b.npy --epsilon 0.1 --output r --plan";
  const RunResult refused = run(solve);
  EXPECT_EQ(refused.status, 2) << refused;
  EXPECT_NE(refused.err.find("--normalize"), std::string::npos) << refused;
  const RunResult result = run(solve + " --normalize");
  ASSERT_EQ(result.status, 0) << result;
  EXPECT_NEAR(summary()["mass"], 1, 1e-14);
  EXPECT_EQ(summary()["normalize"], true);
  double total = 0;
  for (const double mass : a) total += mass;
  const Values plan = values_of("r/plan.npy");
  for (std::size_t i = 0; i < kRows; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < kColumns; ++j) sum += plan[i * kColumns + j];
    EXPECT_NEAR(sum, a[i] / total, 1e-8) << i;
  }
}

TEST_F(NumbersTest, PlansOfTinyAndHugeMasses) {
  for (const char* mass : {"1e-300", "1e-295", "1e295", "1e299"}) {
    SCOPED_TRACE(mass);
    const double factor = std::stod(mass);
    write_masses("_", factor);
    const RunResult result = run("solve --cost C.npy --a a_.npy --b b_.npy --epsilon 0.1 --output r --plan");
    ASSERT_EQ(result.status, 0) << result;
    const Values plan = values_of("r/plan.npy");
    double linear = 0;
    for (std::size_t i = 0; i < kRows; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < kColumns; ++j) sum += plan[i * kColumns + j] / factor;
      for (std::size_t j = 0; j < kColumns; ++j) linear += plan[i * kColumns + j] / factor * cost_[i * kColumns + j];
      EXPECT_NEAR(sum, a_[i], 1e-8) << i;
    }
    EXPECT_NEAR(summary()["cost"]["linear"].get<double>() / factor, linear, 1e-12);
    EXPECT_LE(summary()["error"]["a"], 1e-9 * factor);
  }
}

TEST_F(NumbersTest, EpsilonsThatCannotBeAreRefusedInOneLine) {
  for (const char* epsilon : {"1e308", "1e295", "1e-19", "1e-30"}) {
    for (const char* more : {"", " --precision 50", " --stabilization log", " --clients 2"}) {
      const RunResult result = run("solve --cost C.npy --epsilon " + std::string(epsilon) + " --output r" + more);
      EXPECT_EQ(result.status, 2) << result;
      EXPECT_NE(result.err.find("--epsilon"), std::string::npos) << result;
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result;
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn::test
