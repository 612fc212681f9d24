// What the kernel is built around: rounds in the log domain, absorption, and levels of epsilon.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "comm/agreement.hpp"
#include "core/special_numbers.hpp"
#include "core/stopwatch.hpp"
#include "fedsinkhorn/error.hpp"
#include "iteration/absorbed_sinkhorn.hpp"
#include "iteration/rebuilding.hpp"

namespace fedsinkhorn {

// Turns logarithms into values whose total over all clients is the mass.
void AbsorbedSinkhorn::to_right_mass(std::vector<double>& logs) const {
  const Collectives& clients = topology_.clients();
  double largest = -kInfinity;
  for (const double x : logs) largest = std::max(largest, x);
  if (clients.sums() != nullptr) {  // the largest is one client's own
    ExactSum own;
    for (const double x : logs) own.add(std::exp(x - largest));
    double total = logs.empty() ? -kInfinity : largest + std::log(own.total());
    add_up_logs_of_all(clients, {&total, 1});
    for (double& x : logs) x = problem_.mass * std::exp(x - total);
    return;
  }
  largest = greatest_of_all(clients, largest);
  ExactSum total;
  for (double& x : logs) total.add(x = std::exp(x - largest));
  add_up_of_all(clients, {&total, 1});
  for (double& x : logs) x *= problem_.mass / total.total();
}

// phi_i = -epsilon log sum_j exp((psi_j - C_ij) / epsilon), then psi_j = -epsilon log sum_i a_i exp((phi_i - C_ij) /
// epsilon), so that u = a and v = b.
AbsorbedSinkhorn::LogSums AbsorbedSinkhorn::log_half_steps(std::span<const double> psi) {
  const Timer timer;
  const ScalingRule& rule = problem_.rule;
  LogSums sums{std::vector<double>(n_), std::vector<double>(m_)};
  topology_.row_log_sums(psi, sums.rows);
  std::vector<double> log_a(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    phi_[i] = rule.relative_potential(epsilon_, sums.rows[i]);
    log_a[i] = std::log(problem_.a[i]);
  }
  topology_.column_log_sums(phi_, log_a, sums.columns);
  for (std::size_t j = 0; j < m_; ++j) psi_[j] = rule.relative_potential(epsilon_, sums.columns[j]);
  log_seconds_ = std::max(log_seconds_, timer.seconds());
  return sums;
}

// Rounds the given phi and psi to the grid and moves the deviations from phi_ and psi_ to them.
void AbsorbedSinkhorn::move_to_grid(std::vector<double>& phi, std::vector<double>& psi, Deviations& rows,
                                    Deviations& columns) const {
  const double largest = std::max(largest_magnitude(phi), largest_magnitude(psi));
  const double grid = exact_grid(greatest_of_all(topology_.clients(), largest));
  for (double& x : phi) x = round_to_grid(x, grid);
  for (double& x : psi) x = round_to_grid(x, grid);
  rows.move(phi_, phi, epsilon_);
  columns.move(psi_, psi, epsilon_);
}

// Takes over the given phi and psi, and computes u and v from the deviations.
void AbsorbedSinkhorn::take(std::vector<double> phi, std::vector<double> psi, const Deviations& rows,
                            const Deviations& columns) {
  phi_ = std::move(phi);
  psi_ = std::move(psi);
  for (std::size_t k = 0; k < active(); ++k) {
    rows.write_scalings(k, part(u_, k, n_));
    columns.write_scalings(k, part(v_, k, m_));
  }
}

// Rounds phi and psi, found by a round in the log domain, to the grid.
void AbsorbedSinkhorn::adopt(Deviations& rows, Deviations& columns) {
  std::vector<double> phi = phi_;
  std::vector<double> psi = psi_;
  move_to_grid(phi, psi, rows, columns);
  take(std::move(phi), std::move(psi), rows, columns);
}

// Targets that the common kernel cannot serve.
std::vector<bool> AbsorbedSinkhorn::far_from_middle(const Deviations& rows, const Deviations& columns) const {
  const double far = std::log(safe_scaling_) / 2;
  std::vector<bool> are_far(active());
  if (active() <= 1) return are_far;
  for (std::size_t k = 0; k < active(); ++k) are_far[k] = rows.any_beyond(k, far) || columns.any_beyond(k, far);
  any_of_all(topology_.clients(), are_far);
  return are_far;
}

void AbsorbedSinkhorn::set_apart(const std::vector<bool>& leaves, Deviations& rows, Deviations& columns,
                                 const std::function<Outcome(std::size_t)>& as_it_stands) {
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    if (leaves[k]) apart_.push_back(as_it_stands(k));
  }
  for (std::size_t k = leaves.size(); k-- > 0;) {
    if (!leaves[k]) continue;
    remove(k);
    rows.remove(k);
    columns.remove(k);
  }
}

void AbsorbedSinkhorn::first_round() {
  const Stopwatch::Scope timed(monitor_.iterating());
  const Rebuilding counted(traffic_);
  iteration_ = checked_ = made_here_ = 1;
  if (!open_first_round()) first_round_in_logs();
}

// In the log domain, from g = 0: f_i = epsilon (log a_i - log sum_j exp(-C_ij / epsilon)), the same for every target;
// then g_j = epsilon (log b_j - log sum_i exp((f_i - C_ij) / epsilon)), where only b differs.
void AbsorbedSinkhorn::first_round_in_logs() {
  const Norm norm = monitor_.options().norm;
  LogSums sums = log_half_steps(std::vector<double>(m_, 0.0));

  // The error before each half-step. u = v = 1 defines the first plan only up to a factor.
  to_right_mass(sums.rows);
  for (double& s : sums.columns) s = std::exp(s);
  std::vector<Note> notes(active());
  for (std::size_t k = 0; k < active(); ++k) {
    notes[k].error_a = error_part(norm, sums.rows.data(), problem_.a.data(), n_);
    notes[k].error_b = error_part(norm, sums.columns.data(), b(k), m_);
  }

  Deviations rows(n_, masses_a());
  Deviations columns(m_, masses());
  adopt(rows, columns);
  rebuild(notes);
  if (stop_) throw Interrupted();
  if (monitor_.is_check(iteration_)) record_and_finish(notes);
}

// Starts from the given g, at the level that it is good for.
void AbsorbedSinkhorn::start_from_given() {
  const Stopwatch::Scope timed(monitor_.iterating());
  const Rebuilding counted(traffic_);
  iteration_ = checked_ = made_here_ = 1;
  Arrival arrival = start_at_level(true);
  for (Move move{}; active() > 0 && !stop_ && iteration_ < monitor_.options().max_iterations;) {
    move = annealing_.after_opening(rounds(), arrival.gain, 0, arrival.dual);
    if (move == Move::stay) break;
    ++iteration_;
    ++made_here_;
    if (!annealing_.is_last()) ++levels_;
    epsilon_ = annealing_.epsilon();
    arrival = start_at_level(move == Move::again);
  }
  std::vector<Note> notes(active());
  if (active() > 0 && !arrival.is_built) rebuild(notes);
  if (!stop_ || std::exchange(started_in_spite_, true)) return;
  if (finished_.empty()) throw Interrupted();
  // Other targets are finished, so this one must have potentials too.
  stop_request_.ignore();
  start_from_given();
}

// A round from the given g, less a constant that would only cost digits, or from g = 0.
AbsorbedSinkhorn::Arrival AbsorbedSinkhorn::start_at_level(bool is_given) {
  // Per target: max g, and max of -g.
  std::vector<double> ends(2 * active(), -kInfinity);
  const auto start = [&](std::size_t k, std::size_t j) { return is_given ? problem_.initial_g(ids_[k])[j] : 0; };
  for (std::size_t k = 0; k < active(); ++k) {
    for (std::size_t j = 0; j < m_; ++j) {
      if (!(b(k)[j] > 0)) continue;
      ends[2 * k] = std::max(ends[2 * k], start(k, j));
      ends[2 * k + 1] = std::max(ends[2 * k + 1], -start(k, j));
    }
  }
  greatest_of_known(topology_.clients(), ends);
  start_spread_ = 0;
  std::vector<double> logs(active() * m_, -kInfinity);  // log(v / b), relative to psi = 0
  for (std::size_t k = 0; k < active(); ++k) {
    for (std::size_t j = 0; j < m_; ++j) {
      if (b(k)[j] > 0) logs[k * m_ + j] = (start(k, j) - ends[2 * k]) / epsilon_ - std::log(b(k)[j]);
    }
    start_spread_ = std::max(start_spread_, ends[2 * k] + ends[2 * k + 1]);
  }
  Deviations columns(m_, masses(), std::move(logs));
  std::fill(psi_.begin(), psi_.end(), 0.0);
  std::fill(phi_.begin(), phi_.end(), 0.0);
  for (std::size_t k = 0; k < active(); ++k) std::ranges::copy(problem_.a, part(u_, k, n_).begin());
  const std::vector<double> psi = columns.centre(psi_, epsilon_);
  columns.move(psi_, psi, epsilon_);
  return relocate(psi, columns, epsilon_, started_in_spite_, [this](std::size_t slot) {
    Outcome not_begun;  // no potentials: it will start again, alone
    not_begun.target = ids_[slot];
    not_begun.epsilon = problem_.epsilon;
    return not_begun;
  });
}

// One log-domain round for a single target, from potentials f_old, g_old. Levels begin and end after it as after
// others, and targets switch to the method for slow ones: where every round needs the log domain, a larger epsilon
// leads out.
void AbsorbedSinkhorn::log_round(std::span<const double> f_old, std::span<const double> g_old, bool check) {
  const Rebuilding counted(traffic_);
  const Norm norm = monitor_.options().norm;
  Standing before = standing();
  --before.iteration;  // the one that this round replaces
  --before.made_here;
  LogSums sums = log_half_steps(g_old);
  std::vector<Note> notes(1);
  notes[0].sums.resize(1);  // KL(b || columns)
  notes[0].known_sums = 1;
  for (std::size_t i = 0; i < n_; ++i) sums.rows[i] = std::exp(f_old[i] / epsilon_ + sums.rows[i]);
  for (std::size_t j = 0; j < m_; ++j) {
    const double log_column = g_old[j] / epsilon_ + sums.columns[j];
    sums.columns[j] = b(0)[j] > 0 ? std::exp(log_column) : 0.0;
    if (b(0)[j] > 0) notes[0].sums[0].add(b(0)[j] * (std::log(b(0)[j]) - log_column));
  }
  notes[0].error_a = error_part(norm, sums.rows.data(), problem_.a.data(), n_);
  notes[0].error_b = error_part(norm, sums.columns.data(), b(0), m_);
  Deviations rows(n_, masses_a());
  Deviations columns(m_, masses());
  adopt(rows, columns);
  mixtures_[0] = {};
  ++absorptions_;
  rebuild(notes);
  if (stop_) return stand_again(before);
  const double gain = notes[0].sums[0].total();
  escalate(notes, {&gain, 1});
  if (check) record_and_finish(notes);
  (void)anneal({&gain, 1}, 0);
}

// ---------------------------------------------------------------------------------------------------------------------

// Moves the centre of log(u/a) and log(v/b) over all targets into phi and psi. Targets still far from the centre
// afterwards are set apart.
void AbsorbedSinkhorn::build_around_scalings() {
  const Rebuilding counted(traffic_);
  Deviations rows(u_, n_, masses_a());
  Deviations columns(v_, m_, masses());
  std::vector<double> phi = rows.centre(phi_, epsilon_);
  std::vector<double> psi = columns.centre(psi_, epsilon_);
  move_to_grid(phi, psi, rows, columns);
  set_apart(far_from_middle(rows, columns), rows, columns,
            [this](std::size_t slot) { return outcome(slot, Status::iteration_limit, {}); });
  take(std::move(phi), std::move(psi), rows, columns);
  std::vector<Note> notes(active());
  if (active() > 0) rebuild(notes);
}

// Builds the kernel around phi and psi and shares v and the notes.
//
// The potentials of a feasible problem are bounded by the costs along a path of allowed pairs between any two rows: one
// pair if nothing is forbidden, otherwise at most all rows and columns. A given start may be further apart.
void AbsorbedSinkhorn::rebuild(std::vector<Note>& notes) {
  topology_.absorb(phi_, psi_);
  is_kernel_new_ = true;
  const auto lines = static_cast<double>(problem_.rows.size() + problem_.columns.size());
  const double steps = problem_.has_forbidden_pairs ? lines : 4;
  const double per_step = problem_.largest_cost + epsilon_ * std::log(problem_.mass / problem_.least_mass);
  const double bound = 2 * (steps * per_step + start_spread_) + 2000 * epsilon_;
  const auto outside = [bound](double x) { return !(std::abs(x) <= bound); };
  const bool runaway = std::any_of(phi_.begin(), phi_.end(), outside) || std::any_of(psi_.begin(), psi_.end(), outside);
  if (runaway) notes[0].set(Note::kRunaway);
  share(v_, notes);
  runaway_ = notes[0].has(Note::kRunaway);
  x_ = v_;
  for (const auto& acceleration : accelerations_) acceleration->restart();
}

// ---------------------------------------------------------------------------------------------------------------------

// Moves to the next level once this one has served its purpose. Each level opens with a round that builds its kernel or
// a log-domain round; that round counts. If nothing is left to do after it, the level ends at once. Returns whether it
// has moved.
//
// gains, error: of the targets in the last round, and of the worst (see Acceleration).
bool AbsorbedSinkhorn::anneal(std::span<const double> gains, double error) {
  const auto is_at_the_limit = [this] { return iteration_ >= monitor_.options().max_iterations; };
  if (active() == 0 || is_at_the_limit()) return false;
  const double gain = gains.empty() ? 0 : std::ranges::max(gains);
  Move move = annealing_.after_round(rounds(), gain, error, products_here());
  if (move == Move::stay) return false;
  const Rebuilding counted(traffic_);
  const Standing before = standing();
  Arrival arrival;
  do {
    arrival = open_level(move);
    if (active() == 0 || stop_ || is_at_the_limit()) break;
    move = annealing_.after_opening(rounds(), arrival.gain, products_here());
  } while (move != Move::stay);
  std::vector<Note> notes(active());
  if (active() > 0 && !arrival.is_built) rebuild(notes);
  if (stop_) stand_again(before);
  return true;
}

// The first round of a level, from here or from the level before.
AbsorbedSinkhorn::Arrival AbsorbedSinkhorn::open_level(Move move) {
  ++iteration_;
  ++made_here_;
  ++levels_;
  for (Escalation& escalation : escalations_) escalation.watch.begin(rounds());
  worst_watch_.begin(rounds());
  return change_epsilon(annealing_.epsilon(), iteration_ - 1, false, move == Move::onward);
}

// iterations: the count for targets that are set apart instead.
AbsorbedSinkhorn::Arrival AbsorbedSinkhorn::change_epsilon(double epsilon, std::int64_t iterations,
                                                           bool in_spite_of_stop, bool from_here) {
  Deviations columns(v_, m_, masses());
  std::vector<double> psi = columns.centre(psi_, epsilon_);
  columns.move(psi_, psi, epsilon_);
  if (from_here) {
    level_before_ = std::exchange(level_, {epsilon_, psi});
  } else {
    psi = level_.psi;
  }
  follow_path(psi, epsilon);
  return relocate(psi, columns, epsilon, in_spite_of_stop, [this, iterations](std::size_t slot) {
    Outcome standing = outcome(slot, Status::iteration_limit, {});
    standing.iterations = iterations;
    return standing;
  });
}

// Carries the targets' psi_k = psi + epsilon log(v_k / b_k), given by the deviations, over to another epsilon, with a
// round that starts there. Each target keeps its distance from the centre, in cost units; those too far away are set
// apart with their current state.
AbsorbedSinkhorn::Arrival AbsorbedSinkhorn::relocate(std::span<const double> psi, Deviations& columns, double epsilon,
                                                     bool in_spite_of_stop,
                                                     const std::function<Outcome(std::size_t)>& as_it_stands) {
  const std::vector<double> phi = Deviations(u_, n_, masses_a()).centre(phi_, epsilon_);
  columns.scale(epsilon_ / epsilon);
  Deviations rows(n_, masses_a());
  set_apart(far_from_middle(rows, columns), rows, columns, as_it_stands);
  epsilon_ = epsilon;
  topology_.set_epsilon(epsilon_);
  if (active() == 0) return {};
  if (!in_spite_of_stop) {
    if (const auto arrival = open_around(psi, phi, columns)) return *arrival;
  }
  return relocate_in_logs(psi, phi, rows, columns);
}

// As epsilon falls to 0, potentials approach a straight line in epsilon exponentially fast (Cominetti and San Martin
// 1994). psi: of this level, if that is solved almost to the end; moved along the line through it and the level before.
void AbsorbedSinkhorn::follow_path(std::vector<double>& psi, double epsilon) const {
  if (level_before_.epsilon > level_.epsilon && epsilon < level_.epsilon) {
    const double share = (epsilon - level_.epsilon) / (level_.epsilon - level_before_.epsilon);
    for (std::size_t j = 0; j < m_; ++j) psi[j] += share * (psi[j] - level_before_.psi[j]);
  }
}

// A log-domain round from the centre of the targets, weighted with the mean of their b. Does not build the kernel.
AbsorbedSinkhorn::Arrival AbsorbedSinkhorn::relocate_in_logs(std::span<const double> psi, std::span<const double> phi,
                                                             Deviations& rows, Deviations& columns) {
  std::vector<double> mean_b(m_);
  std::vector<double> g(m_);
  for (std::size_t j = 0; j < m_; ++j) {
    for (std::size_t k = 0; k < active(); ++k) mean_b[j] += b(k)[j] / static_cast<double>(active());
    g[j] = psi[j] + epsilon_ * std::log(mean_b[j]);
  }
  LogSums sums = log_half_steps(g);

  std::array<ExactSum, 2> sums_of_all;  // the gain, and the dual value
  auto& [gain, dual] = sums_of_all;
  for (std::size_t i = 0; i < n_; ++i) {
    sums.rows[i] = std::log(problem_.a[i]) + (phi[i] - phi_[i]) / epsilon_;
  }
  to_right_mass(sums.rows);  // f and g for another epsilon define the plan only up to a factor
  for (std::size_t j = 0; j < m_; ++j) {
    const double residual = (psi_[j] - psi[j]) / epsilon_;  // log(b / columns)
    if (mean_b[j] > 0) gain.add(mean_b[j] * residual);
    sums.columns[j] = mean_b[j] > 0 ? mean_b[j] * std::exp(-residual) : 0.0;
  }
  if (annealing_.is_judging_start()) {
    for (std::size_t i = 0; i < n_; ++i) dual.add(problem_.a[i] * (phi_[i] / epsilon_ + std::log(problem_.a[i])));
    for (std::size_t j = 0; j < m_; ++j) {
      if (mean_b[j] > 0) dual.add(mean_b[j] * (psi_[j] / epsilon_ + std::log(mean_b[j])));
    }
  }
  add_up_of_all(topology_.clients(), std::span(sums_of_all).first(annealing_.is_judging_start() ? 2 : 1));
  const Norm norm = monitor_.options().norm;
  std::array<ErrorPart, 2> errors = {error_part(norm, sums.rows.data(), problem_.a.data(), n_),
                                     error_part(norm, sums.columns.data(), mean_b.data(), m_)};
  combine_of_all(topology_.clients(), norm, errors);
  const MarginalErrors met{error_of(norm, errors[0]), error_of(norm, errors[1])};
  if (monitor_.is_check(iteration_) && !std::isnan(worse(met.a, met.b))) record(iteration_, met);
  checked_ = iteration_;
  adopt(rows, columns);
  return {sums_of_all[0].total(), sums_of_all[1].total(), false};
}

}  // namespace fedsinkhorn
