#include "solve/gather_result.hpp"

#include <algorithm>
#include <limits>

#include "core/memory.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::size_t kRoot = 0;

/// Own active values of all targets: value and rest of one target after the other.
std::vector<double> packed(std::span<const Outcome> outcomes, Potential Outcome::*side) {
  std::vector<double> values;
  for (const Outcome& outcome : outcomes) {
    const Potential& potential = outcome.*side;
    values.insert(values.end(), potential.value.begin(), potential.value.end());
    values.insert(values.end(), potential.rest.begin(), potential.rest.end());
  }
  return values;
}

/// Spreads one client's values over the positions as given, counted from `first`; -inf where there is no mass.
void unpack(const double* from, const Side& side, Range active, std::span<const Outcome> outcomes, std::size_t first,
            std::vector<double>& values, std::vector<double>& rests) {
  const std::size_t targets = outcomes.size();
  for (const Outcome& outcome : outcomes) {
    for (std::size_t i = 0; i < active.size(); ++i) {
      const std::size_t at = (side.active[active.first + i] - first) * targets + outcome.target;
      values[at] = from[i];
      rests[at] = from[active.size() + i];
    }
    from += 2 * active.size();
  }
}

struct Gathered {
  std::size_t first = 0;
  std::vector<double> values;
  std::vector<double> rests;
};

Gathered gather_side(const Collectives& clients, const Side& side, bool keep, std::span<const Outcome> outcomes,
                     Potential Outcome::*which) {
  constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
  const std::size_t targets = outcomes.size();
  const bool whole = clients.rank() == kRoot && !keep;
  const std::vector<double> own = packed(outcomes, which);
  std::vector<std::size_t> counts;
  std::size_t total = 0;
  for (const Range& slice : side.slices) counts.push_back(2 * targets * slice.size());
  for (const std::size_t count : counts) total += count;
  std::vector<double> all(whole ? total : 0);
  if (!keep) clients.gather(own, counts, all, kRoot);

  const Range given = whole ? Range{0, side.given} : side.given_slices[clients.rank()];
  Gathered gathered{given.first, std::vector<double>(given.size() * targets, minus_infinity),
                    std::vector<double>(given.size() * targets)};
  if (!whole) {
    unpack(own.data(), side, side.slices[clients.rank()], outcomes, given.first, gathered.values, gathered.rests);
    return gathered;
  }
  const double* from = all.data();
  for (std::size_t k = 0; k < counts.size(); from += counts[k], ++k) {
    unpack(from, side, side.slices[k], outcomes, 0, gathered.values, gathered.rests);
  }
  return gathered;
}

}  // namespace

void gather_potentials(const Collectives& clients, const CheckedProblem& problem, bool keep_f,
                       std::span<const Outcome> outcomes, Result& result) {
  Gathered f = gather_side(clients, problem.rows, keep_f, outcomes, &Outcome::f);
  Gathered g = gather_side(clients, problem.columns, false, outcomes, &Outcome::g);
  result.first_row = f.first;
  result.f = std::move(f.values);
  result.f_rest = std::move(f.rests);
  result.first_column = g.first;
  result.g = std::move(g.values);
  result.g_rest = std::move(g.rests);
}

void gather_reports(const Collectives& clients, const CheckedProblem& problem, const CountingCommunicator& traffic,
                    const ClientReport& own, Result& result) {
  ClientReport report = own;
  report.client = clients.rank();
  const auto bytes = [](const std::array<std::uint64_t, kPhases>& by_phase) {
    return TrafficBytes{by_phase[0], by_phase[1], by_phase[2], by_phase[3]};
  };
  report.sent = bytes(traffic.traffic().bytes_sent);
  report.received = bytes(traffic.traffic().bytes_received);
  report.communication_seconds = traffic.seconds();
  report.peak_memory_bytes = peak_memory();

  // As numbers: below 2^53, so that nothing is lost.
  const auto number = [](std::uint64_t x) { return static_cast<double>(x); };
  std::vector<double> numbers = {report.compute_seconds, report.communication_seconds, number(report.exchanges),
                                 number(report.kernel_bytes), number(report.peak_memory_bytes)};
  for (const TrafficBytes* by_phase : {&report.sent, &report.received}) {
    for (const std::uint64_t x : {by_phase->setup, by_phase->rounds, by_phase->rebuilds, by_phase->results}) {
      numbers.push_back(number(x));
    }
  }
  const std::vector<std::size_t> counts(clients.size(), numbers.size());
  const bool root = clients.rank() == kRoot;
  std::vector<double> all(root ? clients.size() * numbers.size() : 0);
  clients.gather(numbers, counts, all, kRoot);
  if (!root) all = numbers;
  for (std::size_t k = 0; k < (root ? clients.size() : 1); ++k) {
    const double* at = all.data() + k * numbers.size();
    const auto whole = [&at](std::size_t i) { return static_cast<std::uint64_t>(at[i]); };
    ClientReport one;
    one.client = root ? k : clients.rank();
    one.first_row = problem.rows.given_slices[one.client].first;
    one.last_row = problem.rows.given_slices[one.client].last;
    one.first_column = problem.columns.given_slices[one.client].first;
    one.last_column = problem.columns.given_slices[one.client].last;
    one.compute_seconds = at[0];
    one.communication_seconds = at[1];
    one.exchanges = whole(2);
    one.kernel_bytes = whole(3);
    one.peak_memory_bytes = whole(4);
    one.sent = {whole(5), whole(6), whole(7), whole(8)};
    one.received = {whole(9), whole(10), whole(11), whole(12)};
    result.kernel_bytes += one.kernel_bytes;
    result.exchanges = std::max(result.exchanges, one.exchanges);
    result.clients.push_back(one);
  }
}

}  // namespace fedsinkhorn
