// A payload policy in one file: a client says at most so much.
#include <gtest/gtest.h>

#include <memory>

#include "comm/policy.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "registry/registry.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

class Taciturn final : public PayloadPolicy {
 public:
  void check(const Departure& message) override {
    said_ += message.bytes;
    if (said_ > kMost) throw InputError("`policy`", "taciturn has said enough", "ask for less");
  }

 private:
  static constexpr std::size_t kMost = 20000;
  std::size_t said_ = 0;
};

TEST(AToyPolicy, LetsASmallSolvePassAndStopsALargeOne) {
  policies().add({"taciturn", "a client says 20 kB at most", [] { return std::make_unique<Taciturn>(); }});
  Options options;
  options.policy = "taciturn";
  options.clients = 3;
  const testing::OwnedProblem small = testing::random_problem(12, 9, 0.5, 1);
  EXPECT_EQ(solve(small.view(), options).status, Status::converged);

  const testing::OwnedProblem large = testing::random_problem(12, 3000, 0.5, 1);
  try {
    (void)solve(large.view(), options);
    FAIL() << "it said it all";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "policy: taciturn has said enough; ask for less");
  }
}

}  // namespace
}  // namespace fedsinkhorn
