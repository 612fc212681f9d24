#include "costmodel/pass_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

/// y over x, linear between the points and constant beyond; beyond the last one in proportion if it keeps growing.
double interpolated(const std::map<double, double>& points, double x, bool grows_on) {
  const auto above = points.lower_bound(x);
  if (above == points.begin()) return above->second;
  const auto below = std::prev(above == points.end() ? points.end() : above);
  if (above == points.end()) {
    if (!grows_on || below->first <= 0) return below->second;
    if (below == points.begin()) return below->second * x / below->first;
    const auto before = std::prev(below);
    const double slope = (below->second - before->second) / (below->first - before->first);
    return below->second + std::max(0.0, slope) * (x - below->first);
  }
  const double share = (x - below->first) / (above->first - below->first);
  return below->second + share * (above->second - below->second);
}

/// The times measured with as many clients and threads as asked, or as near to that as there are.
std::vector<const PassTime*> nearest(const Profile& profile, const PassQuestion& question, const std::string& verb) {
  std::vector<const PassTime*> all;
  for (const PassTime& time : profile.passes) {
    if (time.kernel == question.kernel && time.precision == question.precision && time.verb == verb) {
      all.push_back(&time);
    }
  }
  const auto distance = [&](const PassTime& time) {
    const auto ratio = [](double a, double b) { return std::abs(std::log2(a / b)); };
    const double busy = static_cast<double>(question.computing) * question.threads;
    const double busy_there = static_cast<double>(time.computing) * time.threads;
    return 100 * ratio(busy_there, busy) +
           ratio(static_cast<double>(time.clients), static_cast<double>(question.clients));
  };
  double least = HUGE_VAL;
  for (const PassTime* time : all) least = std::min(least, distance(*time));
  std::erase_if(all, [&](const PassTime* time) { return distance(*time) > least; });
  return all;
}

double working_set_of(const PassTime& time) {
  return static_cast<double>(time.computing) * static_cast<double>(time.rows) * static_cast<double>(time.columns) *
         std::max(1.0, bytes_of_entry(time.kernel, time.precision));
}

double seconds_per_entry(const PassTime& time) {
  return time.seconds / (static_cast<double>(time.rows) * static_cast<double>(time.columns));
}

double aspect(std::size_t rows, std::size_t columns) {
  return std::log2(static_cast<double>(rows) / static_cast<double>(columns));
}

/// By targets, then dimensions, then bytes, then shape.
double per_entry(const std::vector<const PassTime*>& times, const PassQuestion& question) {
  using ByShape = std::map<double, double>;
  using ByBytes = std::map<double, ByShape>;
  std::map<double, std::map<double, ByBytes>> table;
  for (const PassTime* time : times) {
    // Blocks of one kernel differ by a row or two.
    const double bytes = std::round(4 * std::log2(working_set_of(*time))) / 4;
    table[static_cast<double>(time->targets)][static_cast<double>(time->dimension)][bytes]
         [aspect(time->rows, time->columns)] = seconds_per_entry(*time);
  }
  std::map<double, double> by_targets;
  for (const auto& [targets, by_dimension] : table) {
    std::map<double, double> at_dimension;
    for (const auto& [dimension, by_bytes] : by_dimension) {
      std::map<double, double> at_bytes;
      for (const auto& [bytes, by_shape] : by_bytes) {
        at_bytes[bytes] = interpolated(by_shape, aspect(question.rows, question.columns), false);
      }
      at_dimension[dimension] = interpolated(at_bytes, std::log2(std::max(1.0, question.working_set)), false);
    }
    by_targets[targets] = interpolated(at_dimension, static_cast<double>(question.dimension), true);
  }
  return interpolated(by_targets, static_cast<double>(question.targets), true);
}

double entries_of(const PassQuestion& question) {
  return static_cast<double>(question.rows) * static_cast<double>(question.columns);
}

PassCost by_rate(const Profile& profile, const PassQuestion& question) {
  const auto rate = std::ranges::find_if(profile.rates, [&](const PassRate& one) {
    return one.kernel == question.kernel && one.precision == question.precision;
  });
  if (rate == profile.rates.end()) {
    throw InputError(
        "`profile`",
        fmt::format("{} has no times of kernel {} in {}", profile.name, question.kernel, name_of(question.precision)),
        "calibrate it, or choose another kernel or precision");
  }
  const double each =
      std::max(rate->seconds_per_entry, static_cast<double>(question.targets) * rate->seconds_per_product);
  // A rate is of one client alone on its machine.
  return {entries_of(question) * each * static_cast<double>(question.computing)};
}

}  // namespace

double bytes_of_entry(const std::string& kernel, Precision precision) {
  if (kernel != "dense") return 0;
  if (precision == Precision::float64) return sizeof(double);
  return precision == Precision::bfloat16 ? 2 : sizeof(float);
}

PassCost pass_cost(const Profile& profile, const PassQuestion& question) {
  if (question.rows == 0 || question.columns == 0) return {};
  if (profile.passes.empty()) return by_rate(profile, question);
  const std::vector<const PassTime*> times = nearest(profile, question, question.verb);
  if (times.empty()) return by_rate(profile, question);
  PassCost cost{entries_of(question) * per_entry(times, question)};
  // More threads than were measured, or fewer: passes share what there is.
  const double busy = static_cast<double>(question.computing) * question.threads;
  const double busy_there = static_cast<double>(times.front()->computing) * times.front()->threads;
  const bool is_crowded = busy > profile.machine.cores;
  if (busy != busy_there) {
    const double clients = static_cast<double>(question.computing) / static_cast<double>(times.front()->computing);
    if (is_crowded) cost.seconds *= std::max(1.0, clients);
    cost.note = fmt::format("{} clients of {} threads were not measured; taken from {} of {}", question.computing,
                            question.threads, times.front()->computing, times.front()->threads);
  }
  return cost;
}

}  // namespace fedsinkhorn
