// Rounds that build the kernel on the fly: the first one, and those that open a level of epsilon.
//
// Given psi, phi_i = -max_j (psi_j - C_ij) makes the largest entry of every row of K one. With that phi the round is an
// ordinary one. A single pass writes the rows of K and uses them for q = K x and r = K' u: one read of the costs, one
// exponential per entry and one write of K. (In the log domain: three reads and up to four exponentials.)
#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/agreement.hpp"
#include "core/special_numbers.hpp"
#include "core/stopwatch.hpp"
#include "fedsinkhorn/error.hpp"
#include "iteration/absorbed_sinkhorn.hpp"
#include "iteration/rebuilding.hpp"
#include "topology/scalings.hpp"

namespace fedsinkhorn {
namespace {

// Exponents of the entries that matter are at most the logarithm of this, so their rounding errors are that many times
// those of a kernel around the solution.
constexpr double kWideScaling = 0x1p56;

}  // namespace

// The grid for psi and the phi to be found; infinite if some client cannot find phi. That needs a single pass over
// whole rows, which is the same for all clients, and a backend that supports it, which is not.
double AbsorbedSinkhorn::opening_grid(std::span<const double> psi) const {
  if (topology_.passes() != Passes::fused) return kInfinity;
  const double largest =
      topology_.can_open() ? largest_magnitude(psi) + power_of_two_above(problem_.largest_cost) : kInfinity;
  const double of_all = greatest_of_all(topology_.clients(), largest);
  return std::isfinite(of_all) ? exact_grid(of_all) : kInfinity;
}

// <f, a> + <g, b> of this client's rows and columns, in units of epsilon.
ExactSum AbsorbedSinkhorn::dual_value(std::span<const double> u, std::span<const double> v, const double* b) const {
  ExactSum sum;
  for (std::size_t i = 0; i < n_; ++i) sum.add(problem_.a[i] * (phi_[i] / epsilon_ + std::log(u[i])));
  for (std::size_t j = 0; j < m_; ++j) {
    if (b[j] > 0) sum.add(b[j] * (psi_[j] / epsilon_ + std::log(v[j])));
  }
  return sum;
}

// Starts from x_, around psi_. log_rows: f / epsilon, where f is the current estimate of the row potentials; used for
// the error at the start of the round.
AbsorbedSinkhorn::Opening AbsorbedSinkhorn::opening_round(double grid, std::span<const double> log_rows) {
  const Timer timer;
  const Norm norm = monitor_.options().norm;
  Opening opening;
  opening.notes.resize(active());
  topology_.open(psi_, grid);
  share(x_, opening.notes);
  if (stop_) return {true, false, 0, 0, {}};
  half_steps();
  ++openings_;
  std::ranges::copy(topology_.opened(), phi_.begin());

  std::vector<double> rows(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t k = 0; k < active(); ++k) rows[i] += q_[k * n_ + i] / static_cast<double>(active());
    rows[i] = log_rows[i] - phi_[i] / epsilon_ + std::log(rows[i]);
  }
  to_right_mass(rows);  // f and g for another epsilon, or for none, define the plan only up to a factor
  const double safe = std::min(safe_scaling_, kWideScaling);
  for (std::size_t k = 0; k < active(); ++k) {
    Note note;
    const std::span<const double> r = part(r_, k, m_);
    column_step(k).scale(r, part(v_next_, k, m_));
    for (const Judgement& side : {judge_scalings(part(q_, k, n_), part(u_next_, k, n_), problem_.a.data(), safe),
                                  judge_scalings(r, part(v_next_, k, m_), b(k), safe)}) {
      if (side.stretched || !topology_.keeps_opened()) note.set(Note::kStretched);
      if (!side.usable) note.set(Note::kUnusable);
    }
    note.error_a = error_part(norm, rows.data(), problem_.a.data(), n_);
    note.error_b = error_part(norm, x_.data() + k * m_, r.data(), b(k), m_);
    note.sums.resize(1);
    note.known_sums = 1;
    for (std::size_t j = 0; j < m_; ++j) {
      if (b(k)[j] > 0) note.sums[0].add(b(k)[j] * std::log(v_next_[k * m_ + j] / x_[k * m_ + j]));
    }
    if (annealing_.is_judging_start())
      note.sums.push_back(dual_value(part(u_next_, k, n_), part(v_next_, k, m_), b(k)));
    opening.notes[k] = std::move(note);
  }
  share(v_next_, opening.notes);
  log_seconds_ = std::max(log_seconds_, 2 * timer.seconds());
  if (stop_) return {true, false, 0, 0, {}};

  opening.is_usable = true;
  for (const Note& note : opening.notes) {
    opening.is_usable &= !note.has(Note::kUnusable);
    opening.is_stretched |= note.has(Note::kStretched);
    opening.gain = std::max(opening.gain, note.sums[0].total());
    if (note.sums.size() > 1) opening.dual += note.sums[1].total();
  }
  if (!opening.is_usable) return opening;
  std::swap(u_, u_next_);
  std::swap(v_, v_next_);
  x_ = v_;
  std::ranges::fill(mixtures_, Mixture{});
  for (const auto& acceleration : accelerations_) acceleration->restart();
  topology_.settle();
  return opening;
}

// Starts from g = 0, so all targets have the same u and v / b. Returns false if the log domain is needed.
bool AbsorbedSinkhorn::open_first_round() {
  std::ranges::fill(psi_, 0.0);
  std::ranges::fill(x_, 1.0);
  const double grid = opening_grid(psi_);
  if (!std::isfinite(grid)) return false;
  const Opening opening = opening_round(grid, std::vector<double>(n_, 0.0));
  if (stop_) throw Interrupted();
  if (!opening.is_usable) return false;
  if (opening.is_stretched) build_around_scalings();
  if (stop_) throw Interrupted();
  if (monitor_.is_check(iteration_)) record_and_finish(opening.notes);
  return true;
}

// Starts from psi, the centre of the targets, and their deviations from it. phi: the current centre of the row
// potentials. Returns nothing if the log domain is needed.
std::optional<AbsorbedSinkhorn::Arrival> AbsorbedSinkhorn::open_around(std::span<const double> psi,
                                                                       std::span<const double> phi,
                                                                       Deviations columns) {
  const double grid = opening_grid(psi);
  if (!std::isfinite(grid)) return std::nullopt;
  for (std::size_t j = 0; j < m_; ++j) psi_[j] = round_to_grid(psi[j], grid);
  columns.move(psi, psi_, epsilon_);
  std::vector<double> log_rows(n_);
  for (std::size_t i = 0; i < n_; ++i) log_rows[i] = std::log(problem_.a[i]) + phi[i] / epsilon_;
  for (std::size_t k = 0; k < active(); ++k) columns.write_scalings(k, part(x_, k, m_));
  const Opening opening = opening_round(grid, log_rows);
  if (stop_) return Arrival{0, 0, true};
  if (!opening.is_usable) return std::nullopt;
  const Norm norm = monitor_.options().norm;
  MarginalErrors met;
  for (const Note& note : opening.notes) {
    met.a = worse(met.a, error_of(norm, note.error_a));
    met.b = worse(met.b, error_of(norm, note.error_b));
  }
  if (monitor_.is_check(iteration_)) record(iteration_, met);
  checked_ = iteration_;
  if (opening.is_stretched) build_around_scalings();
  return Arrival{opening.gain, opening.dual, true};
}

}  // namespace fedsinkhorn
