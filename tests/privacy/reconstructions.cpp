#include "privacy/reconstructions.hpp"

#include <cstdint>
#include <numeric>
#include <utility>

#include "core/random.hpp"
#include "privacy/evidence.hpp"
#include "privacy/held_apart.hpp"

namespace fedsinkhorn::testing {
namespace {

std::vector<Transcript> record_rounds(const std::vector<Problem>& problems, Options options, const char* topology,
                                      std::int64_t rounds) {
  options.topology = topology;
  options.method = "sinkhorn";
  options.threads = 1;
  options.backend = "cpu";
  options.tolerance = 0;
  options.max_iterations = rounds;
  return {record_solve(problems, options).messages};
}

Knowledge knowledge_of(const OwnedProblem& owned, const Deal& deal, Reading read) {
  return {kCurious, kVictim, owned.epsilon, deal.rows, deal.columns, read};
}

/// The victim's rows follow the curious client's.
std::size_t first_row_of_victim(const Deal& deal) { return deal.rows[kCurious]; }

/// Costs of a row in the curious client's columns, which come first, less their mean.
std::vector<double> centred_row(const OwnedProblem& owned, const Deal& deal, std::size_t row) {
  const double* first = owned.cost.data() + row * owned.m;
  std::vector<double> costs(first, first + deal.columns[kCurious]);
  const double mean = std::accumulate(costs.begin(), costs.end(), 0.0) / static_cast<double>(costs.size());
  for (double& cost : costs) cost -= mean;
  return costs;
}

// ---------------------------------------------------------------------------------------------------------------------

// One message of a client with one row tells an owner of columns the row's costs there, up to a constant. That rows
// stay with their client is true of the bytes, not of what they say.
Reconstruction lone_row(const char* name, const Deal& deal, std::uint64_t seed) {
  const OwnedProblem owned = random_problem(9, 80, 0.1, seed);
  return {name, 1e-13,
          [=](const Options& options) { return record_rounds(held_apart(owned, deal), options, "row-reduce", 3); },
          [=](const std::vector<Transcript>& messages, Reading read) {
            Attempt attempt{{}, centred_row(owned, deal, first_row_of_victim(deal))};
            const Knowledge knowledge = knowledge_of(owned, deal, read);
            const Rounds summands = summands_received(knowledge, messages[0]);
            if (summands.empty()) return attempt;
            attempt.estimate = costs_of_one_row(knowledge, summands.front()).value_or(std::vector<double>());
            return attempt;
          }};
}

// Two rows are mixed in every message, but each time with other weights, and these depend on the rows: 30 rounds tell
// them apart. Their masses come with them.
Reconstruction pair_of_rows() {
  const OwnedProblem owned = random_problem(10, 40, 0.1, 33);
  const Deal deal = {{4, 2, 4}, {40, 0, 0}};
  return {
      "TwoRows", 1e-10,
      [=](const Options& options) { return record_rounds(held_apart(owned, deal), options, "row-reduce", 30); },
      [=](const std::vector<Transcript>& messages, Reading read) {
        const std::size_t row = first_row_of_victim(deal);
        const std::vector<double> truth = centred_row(owned, deal, row);
        const std::vector<double> second = centred_row(owned, deal, row + 1);
        Attempt attempt{{}, truth};
        attempt.truth.insert(attempt.truth.end(), second.begin(), second.end());
        attempt.truth.insert(attempt.truth.end(), {owned.a[row], owned.a[row + 1]});
        const Knowledge knowledge = knowledge_of(owned, deal, read);
        const auto rows =
            two_rows(knowledge, scalings_sent(knowledge, messages[0]), summands_received(knowledge, messages[0]));
        if (!rows) return attempt;
        // Nothing says which is which.
        const bool turned = error_of_estimate(rows->costs[1], truth) < error_of_estimate(rows->costs[0], truth);
        for (const std::size_t i : {turned ? 1U : 0U, turned ? 0U : 1U}) {
          attempt.estimate.insert(attempt.estimate.end(), rows->costs[i].begin(), rows->costs[i].end());
        }
        attempt.estimate.insert(attempt.estimate.end(), {rows->masses[turned ? 1 : 0], rows->masses[turned ? 0 : 1]});
        return attempt;
      }};
}

// ---------------------------------------------------------------------------------------------------------------------

/// Two clients of all-to-all that share rows and columns alike. The curious one is given zeros instead of the block of
/// costs that only the victim needs.
struct Halves {
  OwnedProblem owned, curious;
  Deal deal;

  [[nodiscard]] std::vector<Problem> problems() const {
    std::vector<Problem> problems = held_apart(owned, deal);
    for (std::size_t k = 0; k < problems.size(); ++k) {
      problems[k].cost = (k == kCurious ? curious : owned).view().cost;
      problems[k].parts.rows = false;
    }
    return problems;
  }
};

Halves in_halves(const OwnedProblem& owned) {
  const std::size_t n = owned.n;
  const std::size_t half = n / 2;
  Halves halves{owned, owned, {{half, half}, {half, half}}};
  for (std::size_t i = half; i < n; ++i) {
    for (std::size_t j = half; j < n; ++j) halves.curious.cost[i * n + j] = 0;
  }
  return halves;
}

// u and v are published in every round, log a and the absorbed potentials at the start. (K v)_i = a_i / u_i is then an
// equation for the private row, and rounds give as many equations as wanted.
Reconstruction block() {
  constexpr std::size_t half = 4;
  const Halves halves = in_halves(random_problem(2 * half, 2 * half, 0.05, 34));
  return {"PrivateBlock", 1e-6,
          [=](const Options& options) { return record_rounds(halves.problems(), options, "all-to-all", 60); },
          [=](const std::vector<Transcript>& messages, Reading read) {
            Attempt attempt;
            std::vector<double> known;
            for (std::size_t i = half; i < 2 * half; ++i) {
              const double* row = halves.owned.cost.data() + i * 2 * half;
              known.insert(known.end(), row, row + half);
              attempt.truth.insert(attempt.truth.end(), row + half, row + 2 * half);
            }
            const Knowledge knowledge = knowledge_of(halves.owned, halves.deal, read);
            const auto published = published_rounds(knowledge, messages[0]);
            if (!published) return attempt;
            attempt.estimate = private_block(knowledge, *published, known).value_or(std::vector<double>());
            return attempt;
          }};
}

// ---------------------------------------------------------------------------------------------------------------------

/// One unknown entry is one number: to judge it, the attack is tried on many problems.
struct Case {
  Halves halves;
  bool in_parts;
  std::vector<Entry> unknown;
};

// The fingerprint is sent before the first round. It is a sum with weights that all clients know.
Reconstruction fingerprint(const char* name, const std::vector<Case>& cases) {
  return {name, 0,
          [=](const Options& options) {
            std::vector<Transcript> messages;
            for (const Case& one : cases) {
              const Halves& halves = one.halves;
              messages.push_back(record_rounds(one.in_parts ? held_apart(halves.owned, halves.deal) : halves.problems(),
                                               options, "all-to-all", 1)[0]);
            }
            return messages;
          },
          [=](const std::vector<Transcript>& messages, Reading read) {
            Attempt attempt;
            for (std::size_t k = 0; k < cases.size(); ++k) {
              const OwnedProblem& owned = cases[k].halves.owned;
              std::vector<double> known = owned.cost;
              for (const Entry& entry : cases[k].unknown) known[entry.row * owned.m + entry.column] = -1;
              attempt.truth.push_back(owned.cost[cases[k].unknown[0].row * owned.m + cases[k].unknown[0].column]);
              const auto found = entry_from_fingerprint(knowledge_of(owned, cases[k].halves.deal, read), messages[k],
                                                        known, cases[k].unknown);
              if (found) attempt.estimate.push_back(*found);
            }
            return attempt;
          }};
}

constexpr std::size_t kCases = 20;

// Any costs: who knows all of a client's two rows but one entry knows that entry to the last bit.
Reconstruction entry() {
  std::vector<Case> cases;
  for (std::size_t k = 0; k < kCases; ++k) {
    cases.push_back({in_halves(random_problem(4, 4, 0.5, 40 + k)), false, {{2 + k % 2, 3}}});
  }
  return fingerprint("EntryFromFingerprint", cases);
}

// Distances of points, given in parts: those to the other client's points are known there as well, and those to
// themselves are 0. The one private number, the distance of the victim's two points from each other, is no secret.
Reconstruction distance() {
  std::vector<Case> cases;
  for (std::size_t k = 0; k < kCases; ++k) {
    OwnedProblem owned = random_problem(4, 4, 0.5, 60 + k);
    Random random(60 + k, 1);
    std::vector<double> points(2 * owned.n);
    for (double& coordinate : points) coordinate = random.uniform();
    set_distances(owned, points, points);
    cases.push_back({in_halves(owned), true, {{2, 3}, {3, 2}}});
  }
  return fingerprint("DistanceFromFingerprint", cases);
}

}  // namespace

const std::vector<Reconstruction>& reconstructions() {
  static const std::vector<Reconstruction> all = {lone_row("LoneRow", {{4, 1, 4}, {80, 0, 0}}, 31),
                                                  lone_row("PartOfALoneRow", {{4, 1, 4}, {30, 20, 30}}, 32),
                                                  pair_of_rows(),
                                                  block(),
                                                  entry(),
                                                  distance()};
  return all;
}

}  // namespace fedsinkhorn::testing
