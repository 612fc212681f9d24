// What a curious client can reconstruct of another one's data under policy `open`, where messages go in plain.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/random.hpp"
#include "privacy/attackers.hpp"
#include "privacy/evidence.hpp"
#include "privacy/held_apart.hpp"
#include "privacy/reconstructions.hpp"
#include "support/transcript.hpp"

namespace fedsinkhorn {
namespace {

using testing::Attempt;
using testing::better_than_a_guess;
using testing::bytes_of;
using testing::Deal;
using testing::kCurious;
using testing::Knowledge;
using testing::kVictim;
using testing::OwnedProblem;
using testing::Reconstruction;
using testing::Recording;
using testing::Transcript;

Options in_plain() {
  Options options;
  options.policy = "open";
  return options;
}

class Reconstructions : public ::testing::TestWithParam<Reconstruction> {};
INSTANTIATE_TEST_SUITE_P(Attacks, Reconstructions, ::testing::ValuesIn(testing::reconstructions()),
                         [](const auto& info) { return info.param.name; });

// What each of them proves stands beside it in reconstructions.cpp.
TEST_P(Reconstructions, SucceedInPlain) {
  const Attempt attempt = GetParam().attempt(GetParam().record(in_plain()), testing::doubles_in);
  ASSERT_EQ(attempt.estimate.size(), attempt.truth.size());
  for (std::size_t i = 0; i < attempt.truth.size(); ++i) {
    EXPECT_NEAR(attempt.estimate[i], attempt.truth[i], GetParam().within) << i;
  }
  EXPECT_TRUE(better_than_a_guess(attempt.estimate, attempt.truth));
}

/// The same messages with other contents. write(count) gives the bytes of that many numbers.
template <class Write>
std::vector<Transcript> rewritten(std::vector<Transcript> messages, bool only_victim, const Write& write) {
  for (Transcript& transcript : messages) {
    for (testing::Message& message : transcript) {
      if (!only_victim || message.from == kVictim) message.bytes = write(message.bytes.size() / sizeof(double));
    }
  }
  return messages;
}

// The control: an attack that got something out of messages that say nothing would prove nothing either. That is what
// they must get from a policy that masks messages.
TEST_P(Reconstructions, FailWhereMessagesSayNothing) {
  const std::vector<Transcript> messages = GetParam().record(in_plain());
  Random random(8);
  const auto random_words = [&](std::size_t count) {
    std::vector<std::uint64_t> words(count);
    for (std::uint64_t& word : words) word = random.bits();
    return words;
  };
  const auto bits = [&](std::size_t count) { return bytes_of(random_words(count)); };
  const auto wide = [&](std::size_t count) { return bytes_of(random_words(2 * count)); };
  const auto numbers = [&](std::size_t count) {
    std::vector<double> values(count);
    for (double& value : values) value = random.uniform();
    return bytes_of(values);
  };
  const auto nothing = [](std::size_t) { return std::vector<std::byte>(); };
  const auto is_blind = [&](const std::vector<Transcript>& told, testing::Reading read) {
    const Attempt attempt = GetParam().attempt(told, read);
    return !better_than_a_guess(attempt.estimate, attempt.truth);
  };
  for (const bool only_victim : {false, true}) {
    EXPECT_TRUE(is_blind(rewritten(messages, only_victim, bits), testing::doubles_in));
    EXPECT_TRUE(is_blind(rewritten(messages, only_victim, wide), testing::doubles_in));
    EXPECT_TRUE(is_blind(rewritten(messages, only_victim, wide), testing::ring_numbers_in));
    EXPECT_TRUE(is_blind(rewritten(messages, only_victim, numbers), testing::doubles_in));
    EXPECT_TRUE(is_blind(rewritten(messages, only_victim, nothing), testing::doubles_in));
  }
  EXPECT_TRUE(is_blind(std::vector<Transcript>(messages.size()), testing::doubles_in));
}

// ---------------------------------------------------------------------------------------------------------------------

/// Three clients of row-reduce; the curious one owns all columns.
struct Verbatim : ::testing::Test {
  const OwnedProblem owned = testing::random_problem(9, 20, 0.3, 35);
  const Deal deal = {{3, 3, 3}, {20, 0, 0}};
  const Knowledge knowledge = {kCurious, kVictim, owned.epsilon, deal.rows, deal.columns};
  const std::size_t first = deal.rows[kCurious];  // row of the victim

  [[nodiscard]] Recording record(Options options) const {
    options.topology = "row-reduce";
    options.threads = 1;
    options.backend = "cpu";
    return testing::record_solve(testing::held_apart(owned, deal), options);
  }
  /// What the curious client got from the victim.
  [[nodiscard]] static Transcript received(const Recording& recording) {
    return testing::between(recording.messages, kVictim, kCurious);
  }
  [[nodiscard]] std::vector<double> masses() const {
    const auto from = owned.a.begin() + static_cast<std::ptrdiff_t>(first);
    return {from, from + static_cast<std::ptrdiff_t>(deal.rows[kVictim])};
  }
};

// Set-up adds up masses over the clients; each client sends its own total and least mass to do so.
TEST_F(Verbatim, TotalAndLeastMass) {
  const Transcript messages = received(record(in_plain()));
  ExactSum total;
  for (const double mass : masses()) total.add(mass);
  EXPECT_GT(testing::times_verbatim(messages, total.value), 0U);
  EXPECT_GT(testing::times_verbatim(messages, std::ranges::min(masses())), 0U);
}

// By default client 0 gets all potentials.
TEST_F(Verbatim, Potentials) {
  const Recording recording = record(in_plain());
  const Transcript messages = received(recording);
  for (std::size_t i = 0; i < deal.rows[kVictim]; ++i) {
    EXPECT_GT(testing::times_verbatim(messages, recording.results[kCurious].f[first + i]), 0U) << i;
  }
}

// With keep_local they stay; but their maximum is sent to estimate rounding errors.
TEST_F(Verbatim, LargestPotentialOfThoseKeptLocal) {
  Options options = in_plain();
  options.keep_local = true;
  options.stabilization = Stabilization::log;
  const Recording recording = record(options);
  const Transcript messages = received(recording);
  const std::vector<double>& f = recording.results[kVictim].f;
  ASSERT_EQ(f.size(), deal.rows[kVictim]);
  const auto less = [](double x, double y) { return std::abs(x) < std::abs(y); };
  const double largest = std::ranges::max(f, less);
  EXPECT_GT(testing::times_verbatim(messages, std::abs(largest)), 0U);
  // The others are not there as such.
  EXPECT_EQ(testing::times_verbatim(messages, std::ranges::min(f, less)), 0U);
}

// In accelerated rounds notes say sum a log(u / a), and the choice of the constant of f and g needs max |a f| and
// sum a f. With keep_local, too: "u never leaves" does not mean that nothing is known of it.
TEST_F(Verbatim, SumsOverPotentialsKeptLocal) {
  Options options = in_plain();
  options.keep_local = true;
  options.method = "anderson";
  const Recording recording = record(options);
  const Transcript messages = received(recording);
  const std::vector<double> a = masses();

  // The first accelerated round starts from the v of the round before, which was sent, and psi = 0; phi is the least
  // cost of the row.
  const std::vector<double> v = testing::scalings_sent(knowledge, recording.messages).at(1);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double* costs = owned.cost.data() + (first + i) * owned.m;
    const double least = *std::min_element(costs, costs + owned.m);
    double q = 0;
    for (std::size_t j = 0; j < owned.m; ++j) q += std::exp((least - costs[j]) / owned.epsilon) * v[j];
    sum -= a[i] * std::log(q);
  }
  const std::vector<double> sums = testing::row_sums_in_notes(knowledge, recording.messages);
  ASSERT_FALSE(sums.empty());
  EXPECT_NEAR(sums.front(), sum, 1e-14);

  // A constant c was then moved from g = epsilon log v, v as sent to measure the plan, to f.
  Transcript sent = testing::between(recording.messages, kCurious, kVictim);
  std::erase_if(sent, [&](const testing::Message& message) {
    return message.kind != Payload::slice || message.bytes.size() != owned.m * sizeof(double);
  });
  ASSERT_FALSE(sent.empty());
  const double c =
      owned.epsilon * std::log(testing::doubles_in(sent.back().bytes)[0]) - recording.results[kCurious].g[0];
  double largest = 0;
  double part = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double f = recording.results[kVictim].f[i] - c;
    largest = std::max(largest, std::abs(a[i] * f));
    part -= a[i] * f;
  }
  EXPECT_NEAR(testing::nearest(knowledge, messages, largest).value_or(0), largest, 1e-14);
  EXPECT_NEAR(testing::nearest(knowledge, messages, part).value_or(0), part, 1e-14);
}

}  // namespace
}  // namespace fedsinkhorn
