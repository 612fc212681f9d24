// Instruction sets: forced by --simd and by the environment, and the same answer from each.
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cli/federated.hpp"
#include "simd/simd.hpp"
#include "support/environment.hpp"

namespace fedsinkhorn::test {
namespace {

using testing::ScopedVariable;

class SimdTest : public RectangularTest {
 protected:
  static constexpr const char* kVariable = cpu::kForcedSimd;
  const std::vector<std::string> variants_ = cpu::simd_variants();

  [[nodiscard]] std::string line_of_info() const {
    std::istringstream lines(run("info").out);
    std::string line;
    while (std::getline(lines, line) && !line.starts_with("simd")) {
    }
    return line;
  }
  void solve_fifty(const std::string& output, const std::string& flags) const {
    const RunResult result = run(solve(output, "--tolerance 0 --max-iterations 50 " + flags));
    ASSERT_EQ(result.status, 3) << result;
  }
};

// So that a run of the tests under a forced variant tests that one.
TEST_F(SimdTest, WithoutAnOptionTheForcedOneRuns) {
  solve_fifty("r", "");
  const std::string forced = testing::variable(kVariable);
  EXPECT_EQ(summary("r")["simd"], forced.empty() ? variants_.front() : forced);
}

TEST_F(SimdTest, InfoListsThemAndSaysWhichIsForced) {
  std::string all = "simd         ";
  for (const std::string& variant : variants_) all += variant + (variant == variants_.back() ? " (best first)" : ", ");
  const ScopedVariable unset(kVariable, "");
  EXPECT_EQ(line_of_info(), all);
  for (const std::string& variant : variants_) {
    const ScopedVariable set(kVariable, variant);
    EXPECT_EQ(line_of_info(), variant == variants_.front() ? all : all + "; FEDSINKHORN_SIMD=" + variant);
  }
}

// In float32 no two variants round alike: they differ in the order of sums, or in fused products. Only the baseline may
// round like SSE4: compiled by clang, both have four lanes and no fused products.
TEST_F(SimdTest, TheEnvironmentForcesWhatTheOptionForces) {
  std::map<std::string, std::string> potentials;
  for (const std::string& variant : variants_) {
    SCOPED_TRACE(variant);
    const ScopedVariable set(kVariable, variant);
    solve_fifty("forced", "--precision float32");
    EXPECT_EQ(summary("forced")["simd"], variant);
    {
      const ScopedVariable unset(kVariable, "");
      solve_fifty("asked", "--precision float32 --simd " + variant);
    }
    expect_same_bytes("forced", "asked");
    solve_fifty("overruled", "--precision float32 --simd baseline");
    EXPECT_EQ(summary("overruled")["simd"], "baseline");
    for (const auto& [other, theirs] : potentials) {
      if (variant == "baseline" && other == "sse4") continue;
      EXPECT_TRUE(theirs != bytes("forced/f.npy")) << "as with " << other;
    }
    potentials[variant] = bytes("forced/f.npy");
  }
}

TEST_F(SimdTest, TheVariantsAgree) {
  ASSERT_FALSE(variants_.empty());
  EXPECT_EQ(variants_.back(), "baseline");
  const auto random_points = [](std::size_t count, unsigned seed) { return random_values(count * 3, seed); };
  write("X.npy", random_points(n, 7), {n, 3});
  write("Y.npy", random_points(m, 8), {m, 3});
  for (const std::string& variant : variants_) {
    SCOPED_TRACE(variant);
    solve_fifty("C-" + variant, "--simd " + variant);
    const RunResult result =
        run("solve --points X.npy Y.npy --kernel online --a a.npy --b b.npy --epsilon 0.05 "
            "--tolerance 0 --max-iterations 50 --quiet --simd " +
            variant + " --output p-" + variant);
    ASSERT_EQ(result.status, 3) << result;
    EXPECT_EQ(summary("p-" + variant)["simd"], variant);
    expect_close("C-" + variant, "C-" + variants_.front(), 1e-12);
    expect_close("p-" + variant, "p-" + variants_.front(), 1e-12);
  }
}

TEST_F(SimdTest, AVariantThatCannotBeForcedIsRefused) {
  const std::vector<std::string> before = snapshot(folder());
  const ScopedVariable set(kVariable, "mmx");
  const std::vector<std::string> mentions = {"FEDSINKHORN_SIMD: this machine cannot run the variant 'mmx'", "baseline"};
  expect_refused(run("info"), mentions, before);
  for (const char* flags : {"", "--simd baseline --plan", "--precision 50", "--clients 3"}) {
    SCOPED_TRACE(flags);
    expect_refused(run(solve("r", flags)), mentions, before);
  }
}

}  // namespace
}  // namespace fedsinkhorn::test
