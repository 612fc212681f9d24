#include "costmodel/exchange_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "comm/numbering.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

/// Through the busiest member, in one direction.
struct Busiest {
  double bytes = 0;
  double messages = 0;
};

/// Parts are about even, so the first two members and the last have the extremes.
Busiest busiest_of(const MessagePhase& phase) {
  Busiest busiest;
  const std::size_t members = phase.bytes.size();
  const auto others = static_cast<double>(members - 1);
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}, members - 1}) {
    const Sent sent = phase.sent_by(k);
    busiest.bytes =
        std::max({busiest.bytes, static_cast<double>(sent.bytes), static_cast<double>(phase.received_by(k))});
    busiest.messages = std::max(busiest.messages, static_cast<double>(sent.messages));
  }
  const bool arrives_at_one = phase.pattern == Pattern::to_first || phase.pattern == Pattern::whole_to_first;
  if (arrives_at_one) busiest.messages = others * static_cast<double>(phase.pieces);
  return busiest;
}

double rounds_of_tree(std::size_t members) { return static_cast<double>(std::bit_width(members - 1)); }

bool is_vector(Exchange exchange) {
  return exchange == Exchange::gather || exchange == Exchange::sum || exchange == Exchange::regather ||
         exchange == Exchange::notes || exchange == Exchange::news;
}

/// Collectives as others implement them.
ExchangeCost by_algorithm(const LinkModel& links, const RoundExchange& exchange) {
  const auto members = static_cast<double>(exchange.members);
  const auto bytes = static_cast<double>(exchange.bytes);
  const double step = links.latency + links.overhead;
  if (links.algorithm == "ring") {
    const double latency = (members - 1) * step;
    return {latency + (members - 1) / members * bytes / links.bandwidth, latency};
  }
  const double latency = rounds_of_tree(exchange.members) * step;
  return {latency + (members - 1) / members * bytes / links.bandwidth, latency};
}

bool goes_by_algorithm(const LinkModel& links, const RoundExchange& exchange) {
  return links.algorithm != "direct" && is_vector(exchange.exchange);
}

struct PhaseTime {
  double latency = 0;  ///< with what messages cost their clients
  double ports = 0;    ///< that the busiest port is busy
  double message = 0;  ///< the largest alone
};

PhaseTime time_of(const LinkModel& links, const MessagePhase& phase) {
  const Busiest busiest = busiest_of(phase);
  const auto message = static_cast<double>(phase.largest_message() + phase.pieces * sizeof(MessageHeader));
  const double all = busiest.bytes + busiest.messages * static_cast<double>(sizeof(MessageHeader));
  return {links.latency + links.overhead * busiest.messages, (links.shares_ports ? all : message) / links.bandwidth,
          message / links.bandwidth};
}

/// As its server sees it, if there is one.
enum class Direction { between_all, inward, outward };

Direction direction_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::each_to_each:
    case Pattern::to_owners: return Direction::between_all;
    case Pattern::to_first:
    case Pattern::whole_to_first: return Direction::inward;
    case Pattern::from_first:
    case Pattern::whole_from_first: return Direction::outward;
  }
  return Direction::between_all;
}

struct PlacedPhase {
  std::size_t exchange = 0;
  Direction direction = Direction::between_all;
  PhaseTime time;
};

/// What alpha and beta grow with.
struct Structure {
  double messages = 0;  ///< of the busiest member, over all phases
  double ports = 0;     ///< bytes through the busiest port for every byte of the vector
};

Structure structure_of(Exchange exchange, std::size_t members, std::string_view algorithm) {
  const auto c = static_cast<double>(members);
  if (algorithm == "tree" && is_vector(exchange)) return {rounds_of_tree(members), (c - 1) / c};
  switch (exchange) {
    case Exchange::gather:
    case Exchange::sum:
    case Exchange::regather:
    case Exchange::notes:
    case Exchange::news:
    case Exchange::collect:
    case Exchange::deal: return {c - 1, (c - 1) / c};
    case Exchange::broadcast: return {c - 1, c - 1};
    case Exchange::secure_sum: return {2 * (c - 1), 2 * (c - 1) / c};
    case Exchange::served_sum: return {3 * c, 2 * c};
  }
  return {};
}

/// y at x from points in order of x: between two of them linear, beyond by the line through the last two, or in
/// proportion where there is only one. Never below the last one.
double extended(const std::vector<std::pair<double, double>>& points, double x) {
  if (points.size() == 1) return points[0].second * x / points[0].first;
  std::size_t k = 1;
  while (k + 1 < points.size() && points[k].first < x) ++k;
  const auto [x0, y0] = points[k - 1];
  const auto [x1, y1] = points[k];
  const double y = x1 == x0 ? y1 : y0 + (y1 - y0) * (x - x0) / (x1 - x0);
  if (x > x1) return std::max(y, y1);
  return std::max(y, std::min(y0, y1));
}

std::vector<ExchangeTime> measured_times(const Profile& profile, std::string_view name) {
  std::vector<ExchangeTime> times;
  std::ranges::copy_if(profile.exchanges, std::back_inserter(times),
                       [&](const ExchangeTime& time) { return time.exchange == name; });
  std::ranges::sort(times, {}, &ExchangeTime::clients);
  return times;
}

std::vector<ExchangeTime> measured_times(const Profile& profile, Exchange exchange) {
  std::vector<ExchangeTime> times = measured_times(profile, name_of(exchange));
  if (!times.empty()) return times;
  // These are gathers, too. But who measured no sums has no allreduce of ours, and its gather is not a half of one.
  const bool is_gather = exchange == Exchange::news || exchange == Exchange::notes || exchange == Exchange::regather;
  const bool is_ours = exchange == Exchange::news || !measured_times(profile, name_of(Exchange::sum)).empty();
  if (is_gather && is_ours) times = measured_times(profile, name_of(Exchange::gather));
  return times;
}

}  // namespace

ExchangeCost exchange_by_links(const LinkModel& links, const RoundExchange& exchange) {
  if (exchange.phases.empty()) return {};
  if (goes_by_algorithm(links, exchange)) return by_algorithm(links, exchange);
  ExchangeCost cost;
  for (const MessagePhase& phase : exchange.phases) {
    const PhaseTime time = time_of(links, phase);
    cost.seconds += time.latency + time.ports;
    cost.latency_seconds += time.latency;
  }
  return cost;
}

std::vector<ExchangeCost> round_by_links(const LinkModel& links, const Round& round, double pass_seconds) {
  std::vector<ExchangeCost> costs;
  std::vector<PlacedPhase> phases;
  for (const RoundExchange& exchange : round.exchanges) {
    costs.push_back(exchange_by_links(links, exchange));
    const bool has_server = exchange.groups == 1 && !goes_by_algorithm(links, exchange);
    for (const MessagePhase& phase : exchange.phases) {
      const Direction direction = has_server ? direction_of(phase.pattern) : Direction::between_all;
      phases.push_back({costs.size() - 1, direction, time_of(links, phase)});
    }
  }
  for (std::size_t k = 0; k < phases.size(); ++k) {
    const PlacedPhase& one = phases[k];
    const PlacedPhase& next = phases[(k + 1) % phases.size()];
    if (one.direction != Direction::outward) continue;
    ExchangeCost& cost = costs[one.exchange];
    if (next.direction == Direction::inward && links.shares_ports) {
      // Who is told first answers first; the last answer is on its own.
      cost.seconds -= std::min(one.time.ports, next.time.ports) - std::min(one.time.message, next.time.message);
    } else if (next.direction == Direction::outward) {
      cost.seconds -= links.latency + std::min(one.time.ports, pass_seconds);
      cost.latency_seconds -= links.latency;
    }
  }
  return costs;
}

bool is_measured(const Profile& profile, Exchange exchange) { return !measured_times(profile, exchange).empty(); }

ExchangeCost exchange_cost(const Profile& profile, const RoundExchange& exchange) {
  if (exchange.phases.empty()) return {};
  const std::vector<ExchangeTime> times = measured_times(profile, exchange.exchange);
  if (times.empty()) {
    if (profile.links) return exchange_by_links(*profile.links, exchange);
    throw InputError(
        "`profile`",
        fmt::format("{} has no times of the exchange {}, and no links", profile.name, name_of(exchange.exchange)),
        "calibrate with two `clients` or more, or add links");
  }
  const std::string_view algorithm = profile.links ? std::string_view(profile.links->algorithm) : "direct";
  std::vector<std::pair<double, double>> alphas;
  std::vector<std::pair<double, double>> betas;
  for (const ExchangeTime& time : times) {
    const Structure there = structure_of(exchange.exchange, time.clients, algorithm);
    alphas.emplace_back(there.messages, time.alpha);
    betas.emplace_back(there.ports, time.beta);
  }
  const Structure here = structure_of(exchange.exchange, exchange.members, algorithm);
  ExchangeCost cost;
  cost.latency_seconds = extended(alphas, here.messages);
  cost.seconds = cost.latency_seconds + extended(betas, here.ports) * static_cast<double>(exchange.bytes);
  if (exchange.members > times.back().clients) {
    cost.note = fmt::format(
        "{} was measured with up to {} clients; for {} alpha grows with messages, beta with bytes "
        "through the busiest client",
        name_of(exchange.exchange), times.back().clients, exchange.members);
  }
  return cost;
}

}  // namespace fedsinkhorn
