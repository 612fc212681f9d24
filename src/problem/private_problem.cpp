#include "problem/private_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "core/stop_request.hpp"
#include "cost/points_input.hpp"
#include "fedsinkhorn/error.hpp"
#include "problem/costs.hpp"
#include "problem/masses.hpp"
#include "problem/shapes.hpp"

namespace fedsinkhorn {
namespace {

void refuse_parts(const Problem& problem, bool public_columns) {
  const Parts& parts = problem.parts;
  if (parts.columns) {
    throw InputError(problem.names.y, "is given in parts, but with policy private its points are public",
                     "give every client all of them");
  }
  if (public_columns && parts.b) {
    throw InputError(problem.names.b, "is given in parts, but mechanism marginal takes it for public",
                     "give every client the whole");
  }
  if (!public_columns && parts.rows) {
    throw InputError(problem.names.cost, "is given in parts, but mechanism scalings takes costs for public",
                     "give every client the whole, or use `mechanism` marginal");
  }
  if (parts.initial_g || !problem.initial_g.empty()) {
    throw InputError(problem.names.initial_g, "may tell what noise is to hide", "leave it out with policy private");
  }
}

void check_record_mass(const CheckedProblem& checked, const Options& options) {
  const Problem& problem = checked.input;
  if (options.record_mass == 0 && !problem.parts.a) return;  // all clients know all masses
  if (options.record_mass == 0) {
    throw InputError("`record_mass`",
                     fmt::format("{} is given in parts, and no bound on its masses is public", problem.names.a),
                     "give the largest mass that a record may have");
  }
  const auto largest = std::ranges::max_element(checked.a);
  if (largest == checked.a.end() || *largest <= options.record_mass) return;
  throw InputError(problem.names.a,
                   fmt::format("entry {} is {:g}, more than `record_mass` {:g}", largest - checked.a.begin(), *largest,
                               options.record_mass),
                   "give a larger one, or other masses");
}

/// What rounding may add to a release is bounded for such costs (see marginal_plan.cpp).
void check_private_ratio(const CheckedProblem& checked) {
  if (checked.largest_cost / checked.epsilon <= kMostPrivateRatio) return;
  throw InputError(checked.input.names.epsilon,
                   fmt::format("{:g} is too small beside costs up to {:g}, with policy private", checked.epsilon,
                               checked.largest_cost),
                   fmt::format("give at least {:g}", checked.largest_cost / kMostPrivateRatio));
}

/// Of public numbers: FNV-1a.
class Fingerprint64 {
 public:
  void add(double x) {
    for (auto bits = std::bit_cast<std::uint64_t>(x); bits != 0; bits >>= 8U) {
      hash_ = (hash_ ^ (bits & 0xFFU)) * 0x100000001B3U;
    }
    hash_ *= 0x100000001B3U;
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325U;
};

/// What is public must be the same for all: b, the points of the columns and, where masses are public, the largest of
/// them, for which the noise is made. Nothing here depends on a record.
void require_same_public_data(const Collectives& clients, const CheckedProblem& checked, double record_mass) {
  Fingerprint64 print;
  if (record_mass == 0 && !checked.input.a.empty()) print.add(std::ranges::max(checked.input.a));
  for (const std::size_t column : checked.columns.active) print.add(static_cast<double>(column));
  for (const double b : checked.b) print.add(b);
  if (const PointsInput* points = checked.costs->points()) {
    std::visit(
        [&](const auto& view) {
          for (std::size_t i = 0; i < view.rows * view.columns; ++i) print.add(static_cast<double>(view.data[i]));
        },
        points->clouds().y);
  }
  constexpr std::uint64_t kHalf = 0xFFFFFFFFU;
  const std::array<double, 2> mine = {static_cast<double>(print.value() >> 32U),
                                      static_cast<double>(print.value() & kHalf)};
  const std::vector<double> all = clients.of(Payload::shape).allgather_numbers(mine);
  for (std::size_t k = 0; k < clients.size(); ++k) {
    for (const std::size_t half : {0U, 1U}) {
      (void)from_peer(clients, k).count(all[2 * k + half], kHalf, "a fingerprint");
      if (all[2 * k + half] == all[half]) continue;
      throw InputError(
          checked.input.names.b,
          fmt::format("or other public data (points of columns, the largest mass) differ between clients 0 and {}", k),
          "give every client the same");
    }
  }
}

}  // namespace

CheckedProblem check_private_problem(const Problem& problem, const Options& options, const LayoutOf& layout_of,
                                     const Collectives& clients, int threads, bool public_columns) {
  CheckedProblem checked = not_yet_checked(problem, layout_of, clients);
  agree(clients, [&] {
    check_epsilon(problem);
    refuse_parts(problem, public_columns);
  });
  agree_on_shapes(options, clients, checked);
  const StopRequest stop(options.interrupt);
  agree(clients, [&] {
    keep_own_masses(public_columns, checked);
    check_own_costs(threads, cpu::simd(options.simd), stop, checked);
    check_private_ratio(checked);
    if (public_columns) check_record_mass(checked, options);
  });
  if (public_columns) require_same_public_data(clients, checked, options.record_mass);
  return checked;
}

}  // namespace fedsinkhorn
