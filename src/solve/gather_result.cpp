#include "solve/gather_result.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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

/// Who gets the slices of all.
enum class Readers { nobody, root, everybody };

Gathered gather_side(const Collectives& clients, const Side& side, Readers readers, std::span<const Outcome> outcomes,
                     Potential Outcome::*which) {
  constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
  const std::size_t targets = outcomes.size();
  const bool whole = readers == Readers::everybody || (readers == Readers::root && clients.rank() == kRoot);
  const std::vector<double> own = packed(outcomes, which);
  std::vector<std::size_t> counts;
  std::size_t before = 0;
  std::size_t total = 0;
  for (const Range& slice : side.slices) {
    if (counts.size() == clients.rank()) before = total;
    counts.push_back(2 * targets * slice.size());
    total += counts.back();
  }
  std::vector<double> all(whole ? total : 0);
  if (readers == Readers::root) clients.gather(own, counts, all, kRoot);
  if (readers == Readers::everybody) {
    std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(before));
    clients.allgather(all, counts);
  }

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

void take(Gathered f, Gathered g, Result& result) {
  result.first_row = f.first;
  result.f = std::move(f.values);
  result.f_rest = std::move(f.rests);
  result.first_column = g.first;
  result.g = std::move(g.values);
  result.g_rest = std::move(g.rests);
}

}  // namespace

void gather_potentials(const Collectives& clients, const CheckedProblem& problem, bool keep_f,
                       std::span<const Outcome> outcomes, Result& result) {
  Gathered f = gather_side(clients, problem.rows, keep_f ? Readers::nobody : Readers::root, outcomes, &Outcome::f);
  // Who has g has all it takes to form its own rows of the plan.
  Gathered g = gather_side(clients, problem.columns, Readers::everybody, outcomes, &Outcome::g);
  take(std::move(f), std::move(g), result);
}

bool know_own_rows(const CheckedProblem& problem, std::span<const Outcome> outcomes) {
  return outcomes.size() == problem.targets &&
         std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) {
           return outcome.iterations > 0 &&
                  std::ranges::all_of(outcome.f.value, [](double value) { return std::isfinite(value); });
         });
}

void keep_own_potentials(const Collectives& clients, const CheckedProblem& problem, std::span<const Outcome> outcomes,
                         Result& result) {
  take(gather_side(clients, problem.rows, Readers::nobody, outcomes, &Outcome::f),
       gather_side(clients, problem.columns, Readers::nobody, outcomes, &Outcome::g), result);
}

bool know_all_slices(const CheckedProblem& problem, std::span<const Outcome> outcomes) {
  return outcomes.size() == problem.targets &&
         std::all_of(outcomes.begin(), outcomes.end(),
                     [](const Outcome& outcome) { return outcome.whole.has_value(); });
}

void spread_known_potentials(const CheckedProblem& problem, std::span<const Outcome> outcomes, Result& result) {
  constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
  result.first_row = result.first_column = 0;
  const auto spread = [&](const Side& side, Potential WholePotentials::*which, std::vector<double>& values,
                          std::vector<double>& rests) {
    values.assign(side.given * outcomes.size(), minus_infinity);
    rests.assign(side.given * outcomes.size(), 0.0);
    std::vector<double> packed;
    for (const Outcome& outcome : outcomes) {
      const Potential& potential = (*outcome.whole).*which;
      packed.insert(packed.end(), potential.value.begin(), potential.value.end());
      packed.insert(packed.end(), potential.rest.begin(), potential.rest.end());
    }
    unpack(packed.data(), side, {0, side.size()}, outcomes, 0, values, rests);
  };
  spread(problem.rows, &WholePotentials::f, result.f, result.f_rest);
  spread(problem.columns, &WholePotentials::g, result.g, result.g_rest);
}

std::vector<DelayRow> delays_seen(std::size_t client, const DelayTable* table) {
  std::vector<DelayRow> rows;
  if (table == nullptr) return rows;
  for (const SliceKind kind : {SliceKind::u, SliceKind::v}) {
    for (std::size_t from = 0; from < table->clients(); ++from) {
      if (from == client) continue;
      const DelayTable::Entry& entry = table->of(kind, from);
      rows.push_back({kind == SliceKind::u ? 'u' : 'v', from, client, entry.uses, entry.superseded});
    }
  }
  return rows;
}

void gather_delays(const Collectives& clients, const DelayTable& own, Result& result) {
  const std::vector<DelayRow> seen = delays_seen(clients.rank(), &own);
  std::vector<double> numbers;
  for (const DelayRow& row : seen) {
    numbers.push_back(static_cast<double>(row.superseded));
    numbers.push_back(static_cast<double>(row.uses.size()));
    for (const std::uint64_t count : row.uses) numbers.push_back(static_cast<double>(count));
  }
  const bool root = clients.rank() == kRoot;
  const auto length = static_cast<double>(numbers.size());
  std::vector<double> lengths(root ? clients.size() : 0);
  clients.gather({&length, 1}, std::vector<std::size_t>(clients.size(), 1), lengths, kRoot);
  std::vector<std::size_t> counts(clients.size(), numbers.size());
  std::size_t total = 0;
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    counts[k] = static_cast<std::size_t>(lengths[k]);
    total += counts[k];
  }
  std::vector<double> all(total);
  clients.gather(numbers, counts, all, kRoot);
  result.delays = seen;
  if (!root) return;
  result.delays.clear();
  const double* at = all.data();
  for (std::size_t to = 0; to < clients.size(); ++to) {
    for (const char slice : {'u', 'v'}) {
      for (std::size_t from = 0; from < clients.size(); ++from) {
        if (from == to) continue;
        DelayRow row{slice, from, to, {}, static_cast<std::uint64_t>(at[0])};
        const auto ages = static_cast<std::size_t>(at[1]);
        at += 2;
        for (std::size_t age = 0; age < ages; ++age) row.uses.push_back(static_cast<std::uint64_t>(*at++));
        result.delays.push_back(std::move(row));
      }
    }
  }
}

ClientReport complete_report(const CheckedProblem& problem, const CountingCommunicator& traffic, ClientReport report) {
  const auto bytes = [](const std::array<std::uint64_t, kPhases>& by_phase) {
    return TrafficBytes{by_phase[0], by_phase[1], by_phase[2], by_phase[3]};
  };
  report.client = problem.client;
  report.first_row = problem.rows.given_slices[problem.client].first;
  report.last_row = problem.rows.given_slices[problem.client].last;
  report.first_column = problem.columns.given_slices[problem.client].first;
  report.last_column = problem.columns.given_slices[problem.client].last;
  report.sent = bytes(traffic.traffic().bytes_sent);
  report.received = bytes(traffic.traffic().bytes_received);
  report.communication_seconds = traffic.seconds();
  report.peak_memory_bytes = peak_memory();
  return report;
}

void gather_reports(const Collectives& clients, const CheckedProblem& problem, const CountingCommunicator& traffic,
                    const ClientReport& own, Result& result) {
  const ClientReport report = complete_report(problem, traffic, own);
  // As numbers: below 2^53, so that nothing is lost.
  const auto number = [](std::uint64_t x) { return static_cast<double>(x); };
  std::vector<double> numbers = {report.compute_seconds,           report.communication_seconds,
                                 number(report.exchanges),         number(report.kernel_bytes),
                                 number(report.peak_memory_bytes), static_cast<double>(report.iterations)};
  for (const TrafficBytes* by_phase : {&report.sent, &report.received}) {
    for (const std::uint64_t x : {by_phase->setup, by_phase->rounds, by_phase->rebuilds, by_phase->results}) {
      numbers.push_back(number(x));
    }
  }
  numbers.push_back(report.device);
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
    one.iterations = static_cast<std::int64_t>(at[5]);
    one.sent = {whole(6), whole(7), whole(8), whole(9)};
    one.received = {whole(10), whole(11), whole(12), whole(13)};
    one.device = static_cast<int>(at[14]);
    result.kernel_bytes += one.kernel_bytes;
    result.exchanges = std::max(result.exchanges, one.exchanges);
    result.clients.push_back(one);
  }
}

}  // namespace fedsinkhorn
