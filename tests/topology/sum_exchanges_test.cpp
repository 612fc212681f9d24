// Row-reduce by secure sums, verb by verb: whatever the summands are, the owners get their sum.
#include "topology/sum_exchanges.hpp"
#include "support/special_numbers.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "core/random.hpp"
#include "support/problems.hpp"
#include "support/stated.hpp"

namespace fedsinkhorn {
namespace {

using testing::kInfinity;
using testing::kNan;
constexpr std::size_t kClients = 3;
constexpr std::size_t kColumns = 10;

/// Runs use(exchanges, client, own columns) at every client of a problem with that total mass.
void at_every_exchange(const std::function<void(Exchanges&, std::size_t client, Range own)>& use, double mass = 1,
                       std::size_t columns = kColumns) {
  testing::OwnedProblem owned = testing::random_problem(7, columns, 0.2, 41);
  for (double& a : owned.a) a *= mass;
  for (double& b : owned.b) b *= mass;
  Options options;
  options.topology = "row-reduce";
  options.clients = kClients;
  options.policy = "sums";
  testing::at_every_client(owned.view(), options, [&](const TopologyContext& context, const CountingCommunicator&) {
    const std::unique_ptr<Exchanges> exchanges = testing::topology_named("row-reduce").exchanges(context);
    use(*exchanges, context.problem.client, context.problem.own_columns());
  });
}

/// parts[k]: the summands of client k. Every owner must get the sum, to the last bit or two.
void expect_sums(const std::vector<std::vector<double>>& parts, const double* v, double mass = 1) {
  at_every_exchange(
      [&](Exchanges& exchanges, std::size_t client, Range own) {
        std::vector<double> sums(own.size(), -1);
        exchanges.columns_out(Payload::sum, 1, parts[client].data(), v, sums.data());
        for (std::size_t j = 0; j < own.size(); ++j) {
          const std::size_t column = own.first + j;
          double expected = 0;
          for (const auto& part : parts) expected += part[column];
          SCOPED_TRACE("column " + std::to_string(column));
          if (v != nullptr && v[column] == 0) {
            EXPECT_EQ(sums[j], 0);
          } else if (!std::isfinite(expected)) {
            EXPECT_FALSE(std::isfinite(sums[j]));
          } else {
            EXPECT_NEAR(sums[j], expected, 4e-16 * std::abs(expected));
          }
        }
      },
      mass);
}

/// Column sums of 1, times `size` at each column.
std::vector<std::vector<double>> summands(const std::vector<double>& size) {
  Random random(42);
  std::vector<std::vector<double>> parts(kClients, std::vector<double>(kColumns));
  for (auto& part : parts) {
    for (std::size_t j = 0; j < kColumns; ++j) part[j] = size[j] * random.uniform(0.1, 1);
  }
  return parts;
}

TEST(SumExchanges, SharesOfEverySizeAddUp) {
  for (const double mass : {1.0, 0.6, 1000.0}) {
    // As they are: r_j = share / v_j. Shares from what has all digits to what has none.
    std::vector<double> v = {1, 1e-3, 1e3, 1e-150, 1e150, 1e-10, 1e10, 2, 3, 5};
    std::vector<double> sizes(kColumns);
    const std::vector<double> shares = {0.1, 0.1, 1e-3, 0.3, 1e-10, 1e-17, 1e-20, 1e-40, 1e-100, 0};
    for (std::size_t j = 0; j < kColumns; ++j) sizes[j] = shares[j] * mass / v[j];
    expect_sums(summands(sizes), v.data(), mass);
  }
}

// Not what row updates give, but what a method may try.
TEST(SumExchanges, WhatDoesNotFitIsAddedUpAllTheSame) {
  const std::vector<double> v(kColumns, 1.0);
  std::vector<double> sizes(kColumns, 0.1);
  sizes[3] = 1e12;
  sizes[7] = 1e300;
  expect_sums(summands(sizes), v.data());
  std::vector<std::vector<double>> one = summands(std::vector<double>(kColumns, 0.1));
  one[1][4] = 8;  // at one client alone, and just too large
  expect_sums(one, v.data());
  one[1][4] = -1e5;
  expect_sums(one, v.data());
}

TEST(SumExchanges, WhatIsNotFiniteIsNotFinite) {
  const std::vector<double> v(kColumns, 1.0);
  for (const double bad : {kInfinity, kNan}) {
    std::vector<std::vector<double>> parts = summands(std::vector<double>(kColumns, 0.1));
    parts[2][5] = bad;
    expect_sums(parts, v.data());
    expect_sums(parts, nullptr);
  }
}

TEST(SumExchanges, WithoutScalingsSumsAreExact) {
  expect_sums(summands({1e-300, 1e300, 1, 0, 1e-320, 1e16, 1e-16, 3, 5, 7}), nullptr);
}

TEST(SumExchanges, ScalingsOfZeroAndOfEverySize) {
  const std::vector<double> v = {0, 1, 5e-324, 1.7e308, 1e-308, 0, 1, 1, 1, 1};
  expect_sums(summands({1, 0.1, 1e307, 1e-309, 1e300, 0, 0.1, 0.1, 0.1, 0.1}), v.data());
}

TEST(SumExchanges, LogarithmsAddUp) {
  const std::vector<std::vector<double>> logs = {{0, 1000, -1000, -kInfinity, 1, 2, 3, 4, 5, 6},
                                                 {0, -1000, -1001, -kInfinity, 1, 2, 3, 4, 5, 6},
                                                 {0, 0, -kInfinity, -kInfinity, 1, 2, 3, 4, 5, 6}};
  at_every_exchange([&](Exchanges& exchanges, std::size_t client, Range own) {
    std::vector<double> sums(own.size());
    exchanges.column_logs_out(logs[client].data(), sums.data());
    for (std::size_t j = 0; j < own.size(); ++j) {
      const std::size_t column = own.first + j;
      double expected = std::log(3) + static_cast<double>(column) - 3;
      if (column == 0) expected = std::log(3);
      if (column == 1) expected = 1000;
      if (column == 2) expected = -1000 + std::log1p(std::exp(-1));
      if (column == 3) expected = -kInfinity;
      if (std::isinf(expected)) {
        EXPECT_EQ(sums[j], expected);
      } else {
        EXPECT_NEAR(sums[j], expected, 1e-12) << column;
      }
    }
  });
}

Note note_of_client(std::size_t client) {
  Note note;
  note.error_a = {0.25 * static_cast<double>(client + 1), 0};
  note.error_b = {0x1p-60, 0};
  note.sums = {{-1e60, 0}, {0x1p-200 * static_cast<double>(client), 0}};
  note.maxima = {client == 1 ? 2 : 0.5, -5};
  if (client == 1) note.set(Note::kStretched);
  return note;
}

// Vectors of an odd number of doubles share a word with nothing; every number keeps its bits.
TEST(SumExchanges, ColumnsComeInWithNotes) {
  for (const std::size_t columns : {9U, 10U, 2U}) {
    std::vector<double> v(2 * columns);
    Random random(43);
    for (double& x : v) x = std::ldexp(random.uniform(-1, 1), static_cast<int>(random.below(600)) - 300);
    v[0] = kNan;
    v[1] = -0.0;
    const auto check = [&](Exchanges& exchanges, std::size_t client, Range own) {
      std::vector<double> mine;
      for (const std::size_t target : {0U, 1U}) {
        for (std::size_t j = own.first; j < own.last; ++j) mine.push_back(v[target * columns + j]);
      }
      std::vector<double> known(2 * columns);
      std::vector<Note> notes = {note_of_client(client), note_of_client(client)};
      notes[1].flags = 0;
      if (client == 0) notes[1].set(Note::kUnusable);
      if (client == 2) notes[1].error_a = {kNan, 0};
      exchanges.columns_in(Payload::slice, 2, mine.data(), known.data(), notes);
      EXPECT_TRUE(std::isnan(known[0]));
      for (std::size_t j = 1; j < known.size(); ++j) EXPECT_EQ(known[j], v[j]);
      EXPECT_TRUE(std::signbit(known[1]));
      EXPECT_EQ(notes[0].error_a.total(), 1.5);
      EXPECT_EQ(notes[0].error_b.total(), 3 * 0x1p-60);
      EXPECT_EQ(notes[0].sums[0].total(), -3e60);
      EXPECT_EQ(notes[0].sums[1].total(), 3 * 0x1p-200);
      EXPECT_EQ(notes[0].maxima, (std::vector<double>{2, -5}));
      EXPECT_TRUE(notes[0].has(Note::kStretched));
      EXPECT_FALSE(notes[0].has(Note::kUnusable));
      EXPECT_EQ(notes[1].flags, Note::kUnusable);
      // One client's number is none: all of that note's are.
      EXPECT_TRUE(std::isnan(notes[1].error_a.total()));
      EXPECT_EQ(notes[1].maxima, (std::vector<double>{2, -5}));
    };
    at_every_exchange(check, 1, columns);
  }
}

// With two others of three clients, a zero in the place of a number would leave the third one's summand.
TEST(Shares, OfAClientWhoseNumbersDoNotFitAreRandom) {
  const std::vector<double> v = {1, 2, 0.5, 1};
  const std::vector<double> fine = {0.25, 0.125, 0, 0.5};
  EXPECT_TRUE(Shares(fine, v.data(), 1).words == Shares(fine, v.data(), 1).words);
  for (const double wrong : {1e3, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    std::vector<double> part = fine;
    part[1] = wrong;
    const Shares once(part, v.data(), 1);
    const Shares again(part, v.data(), 1);
    for (std::size_t j = 0; j <= part.size(); ++j) EXPECT_TRUE(once.words[j] != again.words[j]) << j;
  }
}

TEST(Notes, OfAClientWhoseNumbersDoNotFitAreRandom) {
  Note note;
  note.sums = {{1, 0}, {1e300, 0}};
  const auto written = [&] {
    std::vector<Word> words(words_in_note(2, 2, 0));
    write_note(note, 0, words);
    return words;
  };
  const std::vector<Word> once = written();
  const std::vector<Word> again = written();
  // Four flags that are not set, then what is random.
  for (std::size_t k = 4; k < once.size(); ++k) EXPECT_TRUE(once[k] != again[k]) << k;
  note.sums[1] = {1, 0};
  EXPECT_TRUE(written() == written());
}

}  // namespace
}  // namespace fedsinkhorn
