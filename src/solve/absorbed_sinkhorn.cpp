#include "solve/absorbed_sinkhorn.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/parallel.hpp"
#include "solve/agreement.hpp"
#include "solve/deviations.hpp"
#include "topology/scalings.hpp"

namespace fedsinkhorn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// While it lives, messages count as being for building kernels and measuring, not for rounds.
class Rebuilding {
 public:
  explicit Rebuilding(CountingCommunicator& traffic) : traffic_(traffic), before_(traffic.phase()) {
    traffic_.set_phase(Phase::rebuilds);
  }
  ~Rebuilding() { traffic_.set_phase(before_); }
  Rebuilding(const Rebuilding&) = delete;
  Rebuilding& operator=(const Rebuilding&) = delete;

 private:
  CountingCommunicator& traffic_;
  Phase before_;
};

}  // namespace

AbsorbedSinkhorn::AbsorbedSinkhorn(const CheckedProblem& problem, Topology& topology, CountingCommunicator& traffic,
                                   Monitor& monitor, double safe_scaling, int threads)
    : problem_(problem),
      topology_(topology),
      traffic_(traffic),
      monitor_(monitor),
      safe_scaling_(safe_scaling),
      threads_(threads),
      n_(problem.n()),
      m_(problem.m()),
      phi_(n_),
      psi_(m_) {}

std::vector<Outcome> AbsorbedSinkhorn::run() {
  traffic_.set_phase(Phase::rounds);
  run_together();
  while (!apart_.empty()) {
    alone_ = std::move(apart_.back());
    apart_.pop_back();
    run_alone(*alone_);
  }
  std::sort(finished_.begin(), finished_.end(), [](const Outcome& x, const Outcome& y) { return x.target < y.target; });
  return std::move(finished_);
}

void AbsorbedSinkhorn::run_together() {
  const std::size_t targets = problem_.targets;
  ids_.resize(targets);
  for (std::size_t k = 0; k < targets; ++k) ids_[k] = k;
  make_room(targets);
  first_round();
  iterate();
}

void AbsorbedSinkhorn::make_room(std::size_t targets) {
  confirm_from_.assign(targets, 0);
  for (auto* values : {&u_, &u_next_, &q_}) values->resize(targets * n_);
  for (auto* values : {&v_, &v_next_, &r_}) values->resize(targets * m_);
}

void AbsorbedSinkhorn::run_alone(const Outcome& start) {
  ++solved_alone_;
  ids_ = {start.target};
  make_room(1);
  iteration_ = start.iterations;
  {
    const Rebuilding counted(traffic_);
    const std::span<const double> b{problem_.target(start.target), m_};
    const double largest = greatest_of_all(
        topology_.clients(), std::max(largest_magnitude(start.f.value), largest_magnitude(start.g.value)));
    const double grid = exact_grid(2 * largest + 1000 * problem_.epsilon);
    split(start.f, problem_.a, problem_.epsilon, grid, phi_, part(u_, 0, n_));
    split(start.g, b, problem_.epsilon, grid, psi_, part(v_, 0, m_));
    std::vector<Note> notes(1);
    rebuild(notes);
  }
  iterate();
}

void AbsorbedSinkhorn::iterate() {
  while (active() > 0) {
    if (runaway_) return finish_all(Status::diverged);
    // Clients who are several stop when all have heard of it; one who is alone, at once.
    const bool alone = topology_.clients().size() == 1;
    if (stop_ || (alone && monitor_.interrupted())) return finish_all(Status::interrupted);
    if (iteration_ >= monitor_.options().max_iterations) return finish_all(Status::iteration_limit);
    round();
  }
}

// ---------------------------------------------------------------------------------------------------------------------

// From g = 0, in logs: f_i = epsilon (log a_i - log sum_j exp(-C_ij / epsilon)), the same for every target; then
// g_j = epsilon (log b_j - log sum_i exp((f_i - C_ij) / epsilon)), where only b differs.
void AbsorbedSinkhorn::first_round() {
  const Stopwatch::Scope timed(monitor_.iterating());
  const Rebuilding counted(traffic_);
  const Collectives& clients = topology_.clients();
  const Norm norm = monitor_.options().norm;
  iteration_ = checked_ = made_here_ = 1;
  const std::vector<double> zero(m_, 0.0);
  std::vector<double> row_sums(n_);
  topology_.row_log_sums(zero, row_sums);
  std::vector<double> log_a(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    phi_[i] = -problem_.epsilon * row_sums[i];
    log_a[i] = std::log(problem_.a[i]);
  }
  std::vector<double> column_sums(m_);
  topology_.column_log_sums(phi_, log_a, column_sums);
  for (std::size_t j = 0; j < m_; ++j) psi_[j] = -problem_.epsilon * column_sums[j];

  // The errors the half-steps met. u = v = 1 defines the first plan up to a factor; the one with the right total mass
  // is looked at.
  double largest = -kInfinity;
  for (const double s : row_sums) largest = std::max(largest, s);
  largest = greatest_of_all(clients, largest);
  ExactSum total;
  for (double& s : row_sums) total.add(s = std::exp(s - largest));
  add_up_of_all(clients, {&total, 1});
  for (double& s : row_sums) s *= problem_.mass / total.total();
  for (double& s : column_sums) s = std::exp(s);
  std::vector<Note> notes(active());
  for (std::size_t k = 0; k < active(); ++k) {
    notes[k].error_a = error_part(norm, row_sums.data(), problem_.a.data(), n_);
    notes[k].error_b = error_part(norm, column_sums.data(), b(k), m_);
  }

  const double grid = exact_grid(greatest_of_all(clients, std::max(largest_magnitude(phi_), largest_magnitude(psi_))));
  for (std::size_t i = 0; i < n_; ++i) {
    const double exact = std::exchange(phi_[i], round_to_grid(phi_[i], grid));
    const double left_out = std::exp((exact - phi_[i]) / problem_.epsilon);
    for (std::size_t k = 0; k < active(); ++k) u_[k * n_ + i] = problem_.a[i] * left_out;
  }
  for (std::size_t j = 0; j < m_; ++j) {
    const double exact = std::exchange(psi_[j], round_to_grid(psi_[j], grid));
    const double left_out = std::exp((exact - psi_[j]) / problem_.epsilon);
    for (std::size_t k = 0; k < active(); ++k) v_[k * m_ + j] = b(k)[j] * left_out;
  }
  rebuild(notes);
  if (monitor_.is_check(iteration_)) record_and_finish(notes);
}

void AbsorbedSinkhorn::round() {
  const Stopwatch::Scope timed(monitor_.iterating());
  const bool ran_ahead = run_ahead();
  ++iteration_;
  ++made_here_;
  topology_.rows(active(), q_.data(), u_next_.data());
  topology_.columns(active(), u_next_.data(), r_.data());

  const bool check = ran_ahead || monitor_.is_check(checked_, iteration_);
  checked_ = iteration_;
  std::vector<Note> notes(active());
  // A few operations on each scaling: threads pay off for very many only.
  const int threads = active() * (n_ + m_) < (std::size_t{1} << 17) ? 1 : threads_;
  parallel_chunks(threads, active(), [&](std::size_t k, std::size_t) {
    divide(b(k), part(r_, k, m_), part(v_next_, k, m_));
    notes[k] = judge(k, check);
  });
  share(v_next_, notes);

  if (active() == 1 && notes[0].has(Note::kUnusable)) {
    const Potential f = join(phi_, part(u_, 0, n_), problem_.epsilon);
    const Potential g = join(psi_, part(v_, 0, m_), problem_.epsilon);
    return log_round(f.value, g.value, check);
  }
  bool stretched = false;
  for (std::size_t k = active(); k-- > 0;) {
    if (notes[k].has(Note::kUnusable)) {
      // u and v are still those before the step, which is thereby taken back.
      apart_.push_back(outcome(k, Status::iteration_limit, {}));
      --apart_.back().iterations;
      remove(k);
      notes.erase(notes.begin() + static_cast<std::ptrdiff_t>(k));
    } else {
      stretched |= notes[k].has(Note::kStretched);
    }
  }
  std::swap(u_, u_next_);
  std::swap(v_, v_next_);
  topology_.settle();
  if (check && active() > 0) record_and_finish(notes);
  if (stretched && active() > 0) absorb_all();
}

// Iterations between rounds, on what is known of the others. True if there were any.
bool AbsorbedSinkhorn::run_ahead() {
  const Options& options = monitor_.options();
  const std::vector<const double*> masses_b = masses();
  Stretch stretch;
  stretch.targets = active();
  stretch.b = masses_b;
  stretch.u = u_.data();
  stretch.v = v_.data();
  stretch.local_steps = options.local_steps;
  stretch.iteration = iteration_;
  stretch.last = options.max_iterations - 1;
  stretch.safe_scaling = safe_scaling_;
  claims_.begin_stretch(iteration_);
  stretch.observe = [&](std::int64_t iteration, double error_a, double error_b) {
    const double error = worse(error_a, error_b);
    if (std::isfinite(error) && monitor_.is_check(std::exchange(checked_, iteration), iteration)) {
      record(iteration, {error_a, error_b});
    }
    return monitor_.interrupted() || claims_.wants_round(iteration, error, options.tolerance);
  };
  const Ahead ahead = topology_.run_ahead(stretch);
  iteration_ += ahead.most;
  made_here_ += ahead.own;
  return ahead.most > 0;
}

Note AbsorbedSinkhorn::judge(std::size_t slot, bool with_errors) const {
  const double* q = q_.data() + slot * n_;
  const double* r = r_.data() + slot * m_;
  const Judgement row = judge_scalings({q, n_}, {u_next_.data() + slot * n_, n_}, problem_.a.data(), safe_scaling_);
  const Judgement column = judge_scalings({r, m_}, {v_next_.data() + slot * m_, m_}, b(slot), safe_scaling_);
  Note note;
  if (row.stretched || column.stretched) note.set(Note::kStretched);
  if (!row.usable || !column.usable) note.set(Note::kUnusable);
  if (with_errors) {
    const Norm norm = monitor_.options().norm;
    note.error_a = error_part(norm, u_.data() + slot * n_, q, problem_.a.data(), n_);
    note.error_b = error_part(norm, v_.data() + slot * m_, r, b(slot), m_);
  }
  return note;
}

// One round in logs for a target that is alone, from potentials f_old, g_old.
void AbsorbedSinkhorn::log_round(std::span<const double> f_old, std::span<const double> g_old, bool check) {
  const Rebuilding counted(traffic_);
  const double epsilon = problem_.epsilon;
  const Norm norm = monitor_.options().norm;
  std::vector<double> row_sums(n_);
  std::vector<double> log_a(n_);
  topology_.row_log_sums(g_old, row_sums);
  std::vector<double> seen(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    seen[i] = std::exp(f_old[i] / epsilon + row_sums[i]);
    phi_[i] = -epsilon * row_sums[i];
    log_a[i] = std::log(problem_.a[i]);
  }
  std::vector<Note> notes(1);
  notes[0].error_a = error_part(norm, seen.data(), problem_.a.data(), n_);
  std::vector<double> column_sums(m_);
  topology_.column_log_sums(phi_, log_a, column_sums);
  seen.resize(m_);
  for (std::size_t j = 0; j < m_; ++j) {
    seen[j] = b(0)[j] > 0 ? std::exp(g_old[j] / epsilon + column_sums[j]) : 0.0;
    psi_[j] = -epsilon * column_sums[j];
  }
  notes[0].error_b = error_part(norm, seen.data(), b(0), m_);
  std::array<ErrorPart, 2> errors = {notes[0].error_a, notes[0].error_b};
  combine_of_all(topology_.clients(), norm, errors);
  notes[0].error_a = errors[0];
  notes[0].error_b = errors[1];
  std::copy(problem_.a.begin(), problem_.a.end(), part(u_, 0, n_).begin());
  std::copy(b(0), b(0) + m_, part(v_, 0, m_).begin());
  absorb_all();  // brings phi and psi onto the grid
  if (check) record_and_finish(notes);
}

// ---------------------------------------------------------------------------------------------------------------------

// Moves the middle of log(u/a) and log(v/b) over all targets into phi and psi. Targets that are still far from their
// middle afterwards are set apart.
void AbsorbedSinkhorn::absorb_all() {
  const Rebuilding counted(traffic_);
  const Collectives& clients = topology_.clients();
  const double epsilon = problem_.epsilon;
  const std::size_t targets = active();
  const std::vector<const double*> masses_a(targets, problem_.a.data());
  const std::vector<const double*> masses_b = masses();
  Deviations rows(u_, n_, masses_a);
  Deviations columns(v_, m_, masses_b);
  std::vector<double> phi = rows.centre(phi_, epsilon);
  std::vector<double> psi = columns.centre(psi_, epsilon);
  const double grid = exact_grid(greatest_of_all(clients, std::max(largest_magnitude(phi), largest_magnitude(psi))));
  for (double& x : phi) x = round_to_grid(x, grid);
  for (double& x : psi) x = round_to_grid(x, grid);
  rows.move(phi_, phi, epsilon);
  columns.move(psi_, psi, epsilon);

  const double far = std::log(safe_scaling_) / 2;
  std::vector<bool> leaves(targets);
  for (std::size_t k = 0; k < targets; ++k) {
    leaves[k] = targets > 1 && (rows.any_beyond(k, far) || columns.any_beyond(k, far));
  }
  if (targets > 1) any_of_all(clients, leaves);
  for (std::size_t k = 0; k < targets; ++k) {
    if (leaves[k]) continue;
    rows.write_scalings(k, part(u_next_, k, n_));
    columns.write_scalings(k, part(v_next_, k, m_));
  }
  // The potentials of those who leave are still relative to the old base.
  for (std::size_t k = 0; k < targets; ++k) {
    if (leaves[k]) apart_.push_back(outcome(k, Status::iteration_limit, {}));
  }
  phi_ = std::move(phi);
  psi_ = std::move(psi);
  std::swap(u_, u_next_);
  std::swap(v_, v_next_);
  for (std::size_t k = targets; k-- > 0;) {
    if (leaves[k]) remove(k);
  }
  ++absorptions_;
  std::vector<Note> notes(active());
  if (active() > 0) rebuild(notes);
}

// Builds the kernel around phi and psi and shares v and the notes.
//
// Potentials of a feasible problem are bounded by the costs along a path of allowed pairs from any row to any other: a
// single pair where nothing is forbidden, at most all rows and columns otherwise.
void AbsorbedSinkhorn::rebuild(std::vector<Note>& notes) {
  topology_.absorb(phi_, psi_);
  const auto lines = static_cast<double>(problem_.rows.size() + problem_.columns.size());
  const double steps = problem_.has_forbidden_pairs ? lines : 4;
  const double per_step = problem_.largest_cost + problem_.epsilon * std::log(problem_.mass / problem_.least_mass);
  const double bound = 2 * steps * per_step + 2000 * problem_.epsilon;
  const auto outside = [bound](double x) { return !(std::abs(x) <= bound); };
  const bool runaway = std::any_of(phi_.begin(), phi_.end(), outside) || std::any_of(psi_.begin(), psi_.end(), outside);
  if (runaway) notes[0].set(Note::kRunaway);
  share(v_, notes);
  runaway_ = notes[0].has(Note::kRunaway);
}

std::vector<const double*> AbsorbedSinkhorn::masses() const {
  std::vector<const double*> result;
  for (std::size_t k = 0; k < active(); ++k) result.push_back(b(k));
  return result;
}

// A stop asked for anywhere is a stop for all.
void AbsorbedSinkhorn::share(const std::vector<double>& v, std::vector<Note>& notes) {
  if (monitor_.interrupted()) notes[0].set(Note::kStop);
  topology_.share(active(), v.data(), notes);
  stop_ = notes[0].has(Note::kStop);
}

// ---------------------------------------------------------------------------------------------------------------------

// The errors of a check, which are the same numbers on every client.
void AbsorbedSinkhorn::record_and_finish(std::span<const Note> notes) {
  const Norm norm = monitor_.options().norm;
  double worst_a = 0;
  double worst_b = 0;
  std::vector<double> errors_b;
  for (const Note& note : notes) {
    errors_b.push_back(error_of(norm, note.error_b));
    worst_a = worse(worst_a, error_of(norm, note.error_a));
    worst_b = worse(worst_b, errors_b.back());
  }
  record(iteration_, {worst_a, worst_b});
  claims_.end_round(iteration_, worst_b);
  finish_converged(errors_b);
}

void AbsorbedSinkhorn::record(std::int64_t iteration, MarginalErrors errors) {
  last_errors_ = errors;
  monitor_.record(iteration, errors.a, errors.b, active() + apart_.size());
}

// errors_b: of (u, old v), rows exact. In the L1 norm the update of v cannot make the row error larger than that; in
// other norms, and at the level of rounding, it can, so the claim is checked before it is made.
void AbsorbedSinkhorn::finish_converged(const std::vector<double>& errors_b) {
  std::vector<std::size_t> candidates;
  for (std::size_t k = 0; k < active(); ++k) {
    if (monitor_.small_enough(errors_b[k]) && iteration_ >= confirm_from_[k]) candidates.push_back(k);
  }
  if (candidates.empty()) return;
  std::vector<MarginalErrors> errors;
  measure(candidates, errors);
  for (std::size_t c = candidates.size(); c-- > 0;) {
    const std::size_t k = candidates[c];
    if (monitor_.small_enough(worse(errors[c].a, errors[c].b))) {
      finished_.push_back(outcome(k, Status::converged, errors[c]));
      remove(k);
    } else {
      // Ask again later, ever more rarely: each measurement costs an iteration.
      confirm_from_[k] = iteration_ + std::max<std::int64_t>(1, iteration_ / 16);
    }
  }
}

void AbsorbedSinkhorn::finish_all(Status status) {
  std::vector<std::size_t> all(active());
  for (std::size_t k = 0; k < all.size(); ++k) all[k] = k;
  std::vector<MarginalErrors> errors;
  measure(all, errors);
  for (std::size_t k = 0; k < all.size(); ++k) finished_.push_back(outcome(k, status, errors[k]));
  while (active() > 0) remove(active() - 1);
}

// Both marginals of the plans as they stand, at the price of one iteration.
void AbsorbedSinkhorn::measure(std::span<const std::size_t> slots, std::vector<MarginalErrors>& errors) {
  const Rebuilding counted(traffic_);
  const Norm norm = monitor_.options().norm;
  const std::size_t count = slots.size();
  std::vector<double> u(count * n_);
  std::vector<double> v(count * m_);
  std::vector<double> q(count * n_);
  std::vector<double> r(count * m_);
  for (std::size_t c = 0; c < count; ++c) {
    std::copy_n(u_.data() + slots[c] * n_, n_, u.data() + c * n_);
    std::copy_n(v_.data() + slots[c] * m_, m_, v.data() + c * m_);
  }
  topology_.row_products(count, v.data(), q.data());
  topology_.column_products(count, u.data(), r.data());
  std::vector<ErrorPart> parts(2 * count);
  for (std::size_t c = 0; c < count; ++c) {
    parts[2 * c] = error_part(norm, u.data() + c * n_, q.data() + c * n_, problem_.a.data(), n_);
    parts[2 * c + 1] = error_part(norm, v.data() + c * m_, r.data() + c * m_, b(slots[c]), m_);
  }
  combine_of_all(topology_.clients(), norm, parts);
  errors.resize(count);
  for (std::size_t c = 0; c < count; ++c) {
    errors[c] = {error_of(norm, parts[2 * c]), error_of(norm, parts[2 * c + 1])};
  }
}

std::vector<Outcome> AbsorbedSinkhorn::so_far() {
  std::vector<Outcome> outcomes = std::move(finished_);
  for (std::size_t slot = 0; slot < active(); ++slot) {
    outcomes.push_back(outcome(slot, Status::client_lost, last_errors_));
    outcomes.back().iterations = std::max(iteration_, checked_);
    if (!outcomes.back().whole && alone_) outcomes.back().whole = alone_->whole;
  }
  for (Outcome& left : apart_) {
    outcomes.push_back(std::move(left));
    outcomes.back().status = Status::client_lost;
  }
  std::sort(outcomes.begin(), outcomes.end(), [](const Outcome& x, const Outcome& y) { return x.target < y.target; });
  return outcomes;
}

Outcome AbsorbedSinkhorn::outcome(std::size_t slot, Status status, MarginalErrors error) const {
  Outcome result{ids_[slot],
                 status,
                 iteration_,
                 join(phi_, {u_.data() + slot * n_, n_}, problem_.epsilon),
                 join(psi_, {v_.data() + slot * m_, m_}, problem_.epsilon),
                 error,
                 std::nullopt};
  if (const auto known = topology_.known(slot)) {
    result.whole =
        WholePotentials{join(known->phi, known->u, problem_.epsilon), join(known->psi, known->v, problem_.epsilon)};
  }
  return result;
}

// Later slots move down by one in every array that lives on.
void AbsorbedSinkhorn::remove(std::size_t slot) {
  const auto drop = [slot](std::vector<double>& values, std::size_t size) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(slot * size);
    values.erase(first, first + static_cast<std::ptrdiff_t>(size));
  };
  for (auto* values : {&u_, &u_next_, &q_}) drop(*values, n_);
  for (auto* values : {&v_, &v_next_, &r_}) drop(*values, m_);
  topology_.remove(slot);
  ids_.erase(ids_.begin() + static_cast<std::ptrdiff_t>(slot));
  confirm_from_.erase(confirm_from_.begin() + static_cast<std::ptrdiff_t>(slot));
}

}  // namespace fedsinkhorn
