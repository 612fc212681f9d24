// A mechanism of one's own: one function and one line. This one releases the total mass, once, and leaves it at that.
#include "mechanism/mechanism.hpp"

#include <gtest/gtest.h>

#include "comm/secure_sums.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "privacy/grid_noise.hpp"
#include "registry/registry.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn::test {
namespace {

Released release_total(const MechanismContext& context) {
  const GridNoise noise(context.options.noise);
  double own = 0;
  for (const double mass : context.problem.a) own += mass;
  Word word = static_cast<Word>(noise.blur(own, context.random));
  if (SecureSums* sums = context.topology.clients().sums()) sums->add_up(Payload::release, {&word, 1}, 1);
  Released released;
  released.iterations = 1;
  released.f.assign(context.problem.n(), 0.0);
  released.g.assign(context.problem.columns.size(), 0.0);
  released.columns = {0, released.g.size()};
  released.report.mechanism = "total";
  released.report.released_total = noise.number(static_cast<SignedWord>(word));
  return released;
}

void check_nothing(const Options& /*options*/, std::size_t /*clients*/) {}

TEST(Mechanism, OfOnesOwn) {
  MechanismEntry entry = mechanisms().find("marginal", "`mechanism`");
  entry.name = "total";
  entry.check = check_nothing;
  entry.run = release_total;
  mechanisms().add(entry);

  const testing::OwnedProblem owned = testing::random_problem(30, 20, 0.1, 5);
  Options options;
  options.clients = 3;
  options.policy = "private";
  options.mechanism = "total";
  options.noise = 1e-4;
  options.releases = 1;
  options.record_mass = 1;
  const Result result = solve(owned.view(), options);
  EXPECT_EQ(result.status, Status::budget_spent);
  EXPECT_NEAR(result.privacy.released_total, 1, 1e-2);
  EXPECT_NE(result.privacy.released_total, 1);
  EXPECT_EQ(result.method, "total");
}

}  // namespace
}  // namespace fedsinkhorn::test
