#include "solve/gather_result.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "comm/agreement.hpp"
#include "core/memory.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::size_t kRoot = 0;

/// Own active values of all targets: value and rest, target by target.
std::vector<double> packed(std::span<const Outcome> outcomes, Potential Outcome::*side) {
  std::vector<double> values;
  for (const Outcome& outcome : outcomes) {
    const Potential& potential = outcome.*side;
    values.insert(values.end(), potential.value.begin(), potential.value.end());
    values.insert(values.end(), potential.rest.begin(), potential.rest.end());
  }
  return values;
}

/// Writes one client's values to their given positions, counted from `first`; -inf where there is no mass.
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

/// Which clients get all slices.
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
  if (readers == Readers::root) clients.of(Payload::result).gather(own, counts, all, kRoot);
  if (readers == Readers::everybody) {
    std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(before));
    gather_known(clients.of(Payload::result), all, counts);
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
  // With g, a client can form its own rows of the plan.
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

namespace {

/// The slices a client receives. Clients without lines of a kind send none.
std::vector<std::pair<SliceKind, std::size_t>> slices_of_others(const CheckedProblem& problem, std::size_t client) {
  std::vector<std::pair<SliceKind, std::size_t>> slices;
  for (const SliceKind kind : {SliceKind::u, SliceKind::v}) {
    const Side& side = kind == SliceKind::u ? problem.rows : problem.columns;
    for (std::size_t from = 0; from < problem.clients; ++from) {
      if (from != client && !side.slices[from].empty()) slices.emplace_back(kind, from);
    }
  }
  return slices;
}

/// Reads what client `to` reports to have seen.
void read_delays(const FromPeer& peer, const CheckedProblem& problem, std::size_t to, std::span<const double> numbers,
                 std::vector<DelayRow>& rows) {
  const auto next = [&](std::uint64_t most) {
    if (numbers.empty()) peer.refuse("fewer delays than there are slices");
    const std::uint64_t number = peer.count(numbers.front(), most, "a number of delays");
    numbers = numbers.subspan(1);
    return number;
  };
  for (const auto& [kind, from] : slices_of_others(problem, to)) {
    DelayRow row{kind == SliceKind::u ? 'u' : 'v', from, to, {}, next(kMostCount)};
    const std::size_t ages = next(numbers.size());
    for (std::size_t age = 0; age < ages; ++age) row.uses.push_back(next(kMostCount));
    rows.push_back(std::move(row));
  }
  if (!numbers.empty()) peer.refuse("more delays than there are slices");
}

}  // namespace

std::vector<DelayRow> delays_seen(const CheckedProblem& problem, const DelayTable* table) {
  std::vector<DelayRow> rows;
  if (table == nullptr) return rows;
  for (const auto& [kind, from] : slices_of_others(problem, problem.client)) {
    const DelayTable::Entry& entry = table->of(kind, from);
    rows.push_back({kind == SliceKind::u ? 'u' : 'v', from, problem.client, entry.uses, entry.superseded});
  }
  return rows;
}

void gather_delays(const Collectives& clients, const CheckedProblem& problem, std::size_t max_staleness,
                   const DelayTable& own, Result& result) {
  const std::vector<DelayRow> seen = delays_seen(problem, &own);
  std::vector<double> numbers;
  for (const DelayRow& row : seen) {
    numbers.push_back(static_cast<double>(row.superseded));
    numbers.push_back(static_cast<double>(row.uses.size()));
    for (const std::uint64_t count : row.uses) numbers.push_back(static_cast<double>(count));
  }
  const bool root = clients.rank() == kRoot;
  const auto length = static_cast<double>(numbers.size());
  std::vector<double> lengths(root ? clients.size() : 0);
  clients.of(Payload::result).gather({&length, 1}, std::vector<std::size_t>(clients.size(), 1), lengths, kRoot);
  // Ages go from 0 to one more than allowed, which stands for all above.
  const std::size_t most_ages = max_staleness + 2;
  std::vector<std::size_t> counts(clients.size(), numbers.size());
  std::size_t total = 0;
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    const std::size_t rows = slices_of_others(problem, k).size();
    counts[k] = from_peer(clients, k).count(lengths[k], rows * (2 + most_ages), "a length of delays");
    total += counts[k];
  }
  std::vector<double> all(total);
  clients.of(Payload::result).gather(numbers, counts, all, kRoot);
  result.delays = seen;
  if (!root) return;
  result.delays.clear();
  std::span<const double> left = all;
  for (std::size_t to = 0; to < clients.size(); ++to) {
    read_delays(from_peer(clients, to), problem, to, left.first(counts[to]), result.delays);
    left = left.subspan(counts[to]);
  }
}

namespace {

std::vector<SentMessages> what_left(const Traffic& traffic) {
  std::vector<SentMessages> left;
  for (std::size_t phase = 0; phase < kPhases; ++phase) {
    for (const Payload kind : kPayloads) {
      for (const Form form : {Form::plain, Form::masked}) {
        const Departures& sent = traffic.left[phase][static_cast<std::size_t>(kind)][static_cast<std::size_t>(form)];
        if (sent.messages == 0) continue;
        left.push_back({std::string(kPhaseNames[phase]), std::string(name_of(kind)), form == Form::masked, sent.bytes,
                        sent.messages});
      }
    }
  }
  return left;
}

}  // namespace

ClientReport with_traffic(const CountingCommunicator& traffic, ClientReport report) {
  const auto bytes = [](const std::array<std::uint64_t, kPhases>& by_phase) {
    return TrafficBytes{by_phase[0], by_phase[1], by_phase[2], by_phase[3]};
  };
  report.sent = bytes(traffic.traffic().bytes_sent);
  report.received = bytes(traffic.traffic().bytes_received);
  report.left = what_left(traffic.traffic());
  report.communication_seconds = traffic.seconds();
  report.peak_memory_bytes = peak_memory();
  return report;
}

namespace {

ClientReport with_lines(const CheckedProblem& problem, ClientReport report) {
  report.first_row = problem.rows.given_slices[report.client].first;
  report.last_row = problem.rows.given_slices[report.client].last;
  report.first_column = problem.columns.given_slices[report.client].first;
  report.last_column = problem.columns.given_slices[report.client].last;
  return report;
}

}  // namespace

ClientReport complete_report(const CheckedProblem& problem, const CountingCommunicator& traffic, ClientReport report) {
  report.client = problem.client;
  return with_lines(problem, with_traffic(traffic, std::move(report)));
}

std::vector<ClientReport> reports_of(const Collectives& clients, const ClientReport& report) {
  if (clients.sums() != nullptr) return {report};
  // As doubles: counts are below 2^53, so nothing is lost.
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
  clients.of(Payload::result).gather(numbers, counts, all, kRoot);
  if (!root) return {report};
  std::vector<ClientReport> reports;
  for (std::size_t k = 0; k < clients.size(); ++k) {
    const double* at = all.data() + k * numbers.size();
    const FromPeer peer = from_peer(clients, k);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto whole = [&](std::size_t i) { return peer.count(at[i], kMostCount, "a count of its report"); };
    ClientReport one;
    one.client = k;
    one.compute_seconds = peer.number(at[0], 0, infinity, "a time of its report");
    one.communication_seconds = peer.number(at[1], 0, infinity, "a time of its report");
    one.exchanges = whole(2);
    one.kernel_bytes = whole(3);
    one.peak_memory_bytes = whole(4);
    one.iterations = static_cast<std::int64_t>(whole(5));
    one.sent = {whole(6), whole(7), whole(8), whole(9)};
    one.received = {whole(10), whole(11), whole(12), whole(13)};
    one.device = static_cast<int>(peer.number(at[14], -1, 1e6, "a device"));
    reports.push_back(k == kRoot ? report : one);
  }
  return reports;
}

void gather_reports(const Collectives& clients, const CheckedProblem& problem, const CountingCommunicator& traffic,
                    const ClientReport& own, Result& result) {
  for (const ClientReport& report : reports_of(clients, complete_report(problem, traffic, own))) {
    result.kernel_bytes += report.kernel_bytes;
    result.exchanges = std::max(result.exchanges, report.exchanges);
    result.clients.push_back(clients.sums() == nullptr ? with_lines(problem, report) : report);
  }
}

}  // namespace fedsinkhorn
