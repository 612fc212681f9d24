// The judges themselves: what they see, and that they raise no false alarms.
#include "privacy/evidence.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/random.hpp"
#include "privacy/least_squares.hpp"
#include "support/transcript.hpp"

namespace fedsinkhorn {
namespace {

using testing::better_than_a_guess;
using testing::bytes_of;
using testing::looks_uniform;

std::vector<std::byte> random_bytes(std::size_t words, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint64_t> bits(words);
  for (std::uint64_t& word : bits) word = random.bits();
  return bytes_of(bits);
}

TEST(LooksUniform, RandomBytesOfEveryLength) {
  for (const std::size_t words : {0U, 1U, 2U, 10U, 100U, 159U, 160U, 1000U, 20000U}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      EXPECT_TRUE(looks_uniform(random_bytes(words, seed))) << words << " words, seed " << seed;
    }
  }
}

// Exponents repeat, whatever the fractions.
TEST(LooksUniform, NotDoubles) {
  for (const std::size_t count : {128U, 1000U, 20000U}) {
    Random random(3);
    std::vector<double> values(count);
    for (double& value : values) value = random.normal();
    EXPECT_FALSE(looks_uniform(bytes_of(values))) << count;
  }
}

// Fixed-point words of 16 bytes whose mask was forgotten: the low half is as good as random, the high half is small.
TEST(LooksUniform, NotUnmaskedWords) {
  Random random(4);
  std::vector<std::uint64_t> halves;
  for (std::size_t k = 0; k < 100; ++k) halves.insert(halves.end(), {random.bits(), random.below(1U << 20U)});
  EXPECT_FALSE(looks_uniform(bytes_of(halves)));
}

// A mask used twice: each half looks random, the second repeats the first.
TEST(LooksUniform, NotRepeatedWords) {
  Random random(5);
  std::vector<std::uint64_t> words;
  for (std::size_t k = 0; k < 100; ++k) {
    const std::uint64_t word = random.bits();
    words.insert(words.end(), {word, word});
  }
  EXPECT_FALSE(looks_uniform(bytes_of(words)));
}

TEST(LooksUniform, NotBytesOfWhichSomeNeverComeUp) {
  std::vector<std::uint8_t> bytes;
  Random random(6);
  for (std::size_t k = 0; k < 4000; ++k) bytes.push_back(static_cast<std::uint8_t>(random.below(200)));
  EXPECT_FALSE(looks_uniform(bytes_of(bytes)));
}

TEST(BetterThanAGuess, IsWhatKnowsSomething) {
  Random random(7);
  std::vector<double> truth(40);
  for (double& x : truth) x = random.uniform();
  std::vector<double> close = truth;
  for (double& x : close) x += 0.1 * random.normal();
  EXPECT_TRUE(better_than_a_guess(truth, truth));
  EXPECT_TRUE(better_than_a_guess(close, truth));
}

TEST(BetterThanAGuess, IsNotWhatIsUnrelatedOrNothing) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    std::vector<double> truth(5 + random.below(36));
    std::vector<double> unrelated(truth.size());
    for (double& x : truth) x = random.uniform();
    for (double& x : unrelated) x = random.uniform();
    EXPECT_FALSE(better_than_a_guess(unrelated, truth)) << seed;
    EXPECT_FALSE(better_than_a_guess(std::vector<double>(truth.size(), 0.5), truth)) << seed;
  }
  const std::vector<double> truth = {1, 2, 3, 4, 5, 6};
  EXPECT_FALSE(better_than_a_guess({}, truth));
  EXPECT_FALSE(better_than_a_guess(std::vector<double>(6, std::nan("")), truth));
  EXPECT_FALSE(better_than_a_guess(std::vector<double>{1, 2}, std::vector<double>{1, 2}));  // too few to tell
}

TEST(LeastSquares, FitsALine) {
  testing::LeastSquares equations(2);  // y = 1 + 2 x, with errors that cancel
  EXPECT_FALSE(equations.solve());
  for (const double x : {0.0, 1.0, 2.0}) {
    equations.add({1, x}, 1 + 2 * x + 0.1);
    equations.add({1, x}, 1 + 2 * x - 0.1);
  }
  const auto line = equations.solve();
  ASSERT_TRUE(line);
  EXPECT_NEAR((*line)[0], 1, 1e-14);
  EXPECT_NEAR((*line)[1], 2, 1e-14);
}

TEST(LeastSquares, SaysSoWhereNothingFollows) {
  testing::LeastSquares equations(2);
  for (int k = 0; k < 3; ++k) equations.add({1, 0}, 1);
  EXPECT_FALSE(equations.solve());
}

}  // namespace
}  // namespace fedsinkhorn
