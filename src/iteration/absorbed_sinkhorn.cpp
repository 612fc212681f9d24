#include "iteration/absorbed_sinkhorn.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "comm/agreement.hpp"
#include "comm/secure_sums.hpp"
#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "iteration/gauge.hpp"
#include "iteration/rebuilding.hpp"
#include "iteration/topology_kernel.hpp"
#include "problem/sums_account.hpp"
#include "topology/scalings.hpp"

namespace fedsinkhorn {
namespace {

/// Upper bound on one step of log v, in every precision.
constexpr double kLongestReach = 64;
/// So many targets may keep memory of their own between rounds.
constexpr std::size_t kFewTargets = 8;

}  // namespace

AbsorbedSinkhorn::AbsorbedSinkhorn(const CheckedProblem& problem, Topology& topology, CountingCommunicator& traffic,
                                   Monitor& monitor, const Pacing& pacing, double safe_scaling, int threads,
                                   StopRequest& stop)
    : problem_(problem),
      topology_(topology),
      traffic_(traffic),
      monitor_(monitor),
      stop_request_(stop),
      safe_scaling_(safe_scaling),
      threads_(threads),
      n_(problem.n()),
      m_(problem.m()),
      pacing_(pacing),
      // Levels begin in the same place whether clients know the largest cost or only its power of two.
      annealing_(pacing.method.anneals && std::min(problem.rows.size(), problem.columns.size()) > 1
                     ? Annealing(problem.epsilon, power_of_two_above(problem.largest_cost), problem.mass,
                                 monitor.options().max_iterations)
                     : Annealing(problem.epsilon)),
      epsilon_(problem.epsilon),
      phi_(n_),
      psi_(m_) {
  if (has_coarse_products(monitor.options().precision)) annealing_.be_coarse();
  if (pacing.method.is_thorough) annealing_.start_high();
  if (problem.has_initial_g) annealing_.start_from_given();
  epsilon_ = annealing_.epsilon();
}

std::vector<Outcome> AbsorbedSinkhorn::run() {
  traffic_.set_phase(Phase::rounds);
  run_together();
  while (!apart_.empty()) {
    alone_ = std::move(apart_.back());
    apart_.pop_back();
    run_alone(*alone_);
  }
  std::sort(finished_.begin(), finished_.end(), [](const Outcome& x, const Outcome& y) { return x.target < y.target; });
  if (is_accelerated()) {
    const Rebuilding counted(traffic_);
    fix_gauge(topology_.clients(), problem_, finished_);
  }
  return std::move(finished_);
}

void AbsorbedSinkhorn::run_together() {
  const std::size_t targets = problem_.targets;
  ids_.resize(targets);
  for (std::size_t k = 0; k < targets; ++k) ids_[k] = k;
  make_room(targets);
  topology_.set_epsilon(epsilon_);
  if (problem_.has_initial_g) {
    start_from_given();
  } else {
    first_round();
  }
  iterate();
}

void AbsorbedSinkhorn::make_room(std::size_t targets) {
  confirm_from_.assign(targets, 0);
  unchecked_.assign(targets, true);
  for (auto* values : {&u_, &u_next_, &q_}) values->resize(targets * n_);
  for (auto* values : {&v_, &v_next_, &r_, &x_}) values->resize(targets * m_);
  mixtures_.assign(targets, {});
  if (!is_accelerated()) return;
  accelerations_.clear();
  escalations_.assign(targets, {});
  for (Escalation& escalation : escalations_) {
    escalation.watch.begin(rounds());
    if (pacing_.method.is_thorough) escalation = {escalation.watch, std::max<std::int64_t>(1, rounds()), levels_};
  }
  for (std::size_t k = 0; k < targets; ++k) accelerations_.push_back(made(pacing_.method.make));
}

std::unique_ptr<Acceleration> AbsorbedSinkhorn::made(
    std::unique_ptr<Acceleration> (*make)(const MethodSettings&)) const {
  return make({pacing_.memory, pacing_.most_memory, longest_step(), problem_.mass, pacing_.ops, threads_,
               problem_.targets > kFewTargets});
}

double AbsorbedSinkhorn::longest_step() const { return std::min(kLongestReach, std::log(safe_scaling_) / 2); }

void AbsorbedSinkhorn::run_alone(const Outcome& start) {
  ++solved_alone_;
  ids_ = {start.target};
  iteration_ = start.iterations;
  products_before_ = newton_.products;
  make_room(1);
  epsilon_ = start.epsilon;
  annealing_.begin_again(epsilon_, rounds());
  level_before_ = level_ = {};
  topology_.set_epsilon(epsilon_);
  if (iteration_ == 0) {
    annealing_.start_from_given();
    start_from_given();
    return iterate();
  }
  {
    const Rebuilding counted(traffic_);
    const std::span<const double> b{problem_.target(start.target), m_};
    const double largest = greatest_of_all(
        topology_.clients(), std::max(largest_magnitude(start.f.value), largest_magnitude(start.g.value)));
    const double grid = exact_grid(2 * power_of_two_above(largest) + 1000 * epsilon_);
    split(start.f, problem_.a, epsilon_, grid, phi_, part(u_, 0, n_));
    split(start.g, b, epsilon_, grid, psi_, part(v_, 0, m_));
    std::vector<Note> notes(1);
    rebuild(notes);
  }
  iterate();
}

void AbsorbedSinkhorn::iterate() {
  while (active() > 0) {
    // Several clients stop once all have been told; a single client stops at once.
    const bool alone = topology_.clients().size() == 1;
    if (stop_ || (alone && monitor_.interrupted())) return finish_interrupted();
    if (runaway_) return finish_all(Status::diverged);
    if (iteration_ >= monitor_.options().max_iterations) return finish_all(Status::iteration_limit);
    if (!round_within_most_sums()) return finish_as_it_stands(Status::sums_limit);
  }
}

// Returns false if there is a limit of sums, and the round would go beyond it: then it is void.
bool AbsorbedSinkhorn::round_within_most_sums() {
  if (problem_.most_sums == 0) {
    round();
    return true;
  }
  const Standing before = standing();
  SecureSums& sums = *topology_.clients().sums();
  sums.show_at_most(problem_.most_sums - numbers_at_the_end(sums_shape(problem_)));
  bool is_within = true;
  try {
    round();
  } catch (const SumsSpent&) {
    stand_again(before);
    is_within = false;
  }
  sums.show_at_most(problem_.most_sums);
  return is_within;
}

// ---------------------------------------------------------------------------------------------------------------------

void AbsorbedSinkhorn::round() {
  const Stopwatch::Scope timed(monitor_.iterating());
  const bool ran_ahead = run_ahead();
  ++iteration_;
  ++made_here_;
  if (!is_accelerated()) x_ = v_;
  const Timer halves;
  half_steps();
  // The first pass over a kernel also writes it.
  if (!std::exchange(is_kernel_new_, false)) round_seconds_ = std::max(round_seconds_, halves.seconds());

  const bool check = ran_ahead || monitor_.is_check(checked_, iteration_);
  checked_ = iteration_;
  std::vector<Note> notes(active());
  // Only a few operations per scaling: threads pay off only when there are very many.
  const int threads = active() * (n_ + m_) < (std::size_t{1} << 17) ? 1 : threads_;
  parallel_chunks(threads, active(), [&](std::size_t k, std::size_t) {
    const HalfStep step = column_step(k);
    step.scale(part(r_, k, m_), part(v_next_, k, m_));
    step.shorten(part(v_, k, m_), part(v_next_, k, m_));
    notes[k] = judge(k, check || pacing_.method.make_if_slow != nullptr);
    if (!is_accelerated()) return;
    accelerations_[k]->describe({problem_.a,
                                 {b(k), m_},
                                 part(u_, k, n_),
                                 part(u_next_, k, n_),
                                 part(x_, k, m_),
                                 part(r_, k, m_),
                                 part(v_next_, k, m_)},
                                notes[k]);
  });
  share(v_next_, notes);
  if (stop_) {  // some client may have skipped part of the round
    --iteration_;
    --made_here_;
    return;
  }

  if (active() == 1 && notes[0].has(Note::kUnusable) && !is_proposal(0)) {
    const Potential f = join(phi_, part(u_, 0, n_), epsilon_);
    const Potential g = join(psi_, part(v_, 0, m_), epsilon_);
    return log_round(f.value, g.value, check);
  }
  set_unusable_apart(notes);
  decide(notes);
  std::vector<double> gains;
  double error = 0;
  for (const auto& acceleration : accelerations_) {
    gains.push_back(acceleration->gain());
    error = std::max(error, acceleration->error());
  }
  escalate(notes, gains);
  bool stretched = false;
  for (std::size_t k = 0; k < active(); ++k) {
    if (!mixtures_[k].keep_newest) continue;
    stretched |= notes[k].has(Note::kStretched);
    unchecked_[k] = !check;
  }
  topology_.settle();
  if (check && active() > 0) record_and_finish(notes);
  if (active() == 0) return;
  if (stretched) {
    build_around_scalings();
    ++absorptions_;
    (void)anneal(gains, error);
  } else if (!anneal(gains, error) && iteration_ < monitor_.options().max_iterations) {
    mix();  // a method may do a lot of work for its next point, so not at the end of a level
  }
}

// q = K x, u = a / q, r = K' u.
void AbsorbedSinkhorn::half_steps() {
  topology_.rows(active(), q_.data(), u_next_.data());
  for (std::size_t k = 0; k < active(); ++k) row_step(k).shorten(part(u_, k, n_), part(u_next_, k, n_));
  topology_.columns(active(), u_next_.data(), r_.data());
}

// Sets aside the targets that the common kernel can no longer serve. Their u and v are still those from before the
// round, so the round is undone for them.
void AbsorbedSinkhorn::set_unusable_apart(std::vector<Note>& notes) {
  for (std::size_t k = active(); k-- > 0;) {
    if (!notes[k].has(Note::kUnusable) || is_proposal(k)) continue;
    apart_.push_back(outcome(k, Status::iteration_limit, {}));
    --apart_.back().iterations;
    remove(k);
    notes.erase(notes.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

// Decides which rounds count and takes over their u and v.
void AbsorbedSinkhorn::decide(std::span<const Note> notes) {
  bool all_count = true;
  for (std::size_t k = 0; is_accelerated() && k < active(); ++k) {
    mixtures_[k] = accelerations_[k]->decide(notes[k]);
    all_count &= mixtures_[k].keep_newest;
  }
  if (all_count) {
    std::swap(u_, u_next_);
    std::swap(v_, v_next_);
    return;
  }
  for (std::size_t k = 0; k < active(); ++k) {
    if (!mixtures_[k].keep_newest) continue;
    std::ranges::copy(part(u_next_, k, n_), part(u_, k, n_).begin());
    std::ranges::copy(part(v_next_, k, m_), part(v_, k, m_).begin());
  }
}

// Chooses the start of the next round: a mixture that every holder of v forms by itself, or a point that the method
// proposes and that is then shared.
void AbsorbedSinkhorn::mix() {
  if (!is_accelerated()) return;
  bool is_chosen = false;
  for (std::size_t k = 0; k < active(); ++k) {
    topology_.mix(k, mixtures_[k], part(x_, k, m_));
    if (!accelerations_[k]->wants_plan()) continue;
    // A product takes as long as an iteration, and as many messages. At least one iteration is left for the round.
    const std::int64_t left = monitor_.options().max_iterations - iteration_ - 1;
    TopologyKernel kernel(topology_, problem_, left, monitor_.options().share_matrices);
    const std::int64_t before = accelerations_[k]->products();
    accelerations_[k]->propose(kernel, part(x_, k, m_));
    matrices_added_up_ += kernel.matrices_added_up();
    const std::int64_t products = accelerations_[k]->products() - before;
    iteration_ += products;
    made_here_ += products;
    newton_.products += products;
    is_chosen = true;
  }
  if (is_chosen) topology_.share(active(), x_.data(), {});
}

// Iterates between rounds on what is known of the other clients. Returns true if any iterations were made.
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
    return monitor_.interrupted() || claims_.wants_round(iteration, error, monitor_.tolerance());
  };
  stretch.interrupted = [&] { return monitor_.interrupted(); };
  stretch.lone = lone_rounds();
  std::int64_t seen_alone = 0;
  stretch.lone.observe = [&](const SeenRound& seen) {
    seen_ahead_ = seen;
    const std::int64_t iteration = iteration_ + ++seen_alone;
    if (monitor_.is_check(std::exchange(checked_, iteration), iteration)) {
      record(iteration, {seen.error_a, seen.error_b});
    }
    return annealing_.wants_to_move(iteration, seen.gain) || is_worst_slow(iteration, seen);
  };
  stretch.lone.interrupted = [&] { return monitor_.interrupted(); };
  stretch.lone.b = masses_b;
  const Ahead ahead = topology_.run_ahead(stretch);
  if (ahead.is_agreed) {
    iteration_ += ahead.most;
  } else {
    untold_steps_ = ahead.own;
  }
  made_here_ += ahead.own;
  rejected_before_ += std::exchange(seen_ahead_, {}).rejected;
  if (ahead.most == 0) return false;
  // The history belongs to rounds before these iterations.
  x_ = v_;
  for (const auto& acceleration : accelerations_) acceleration->restart();
  return true;
}

// Whole rounds, except the last one: the caller makes it to measure the errors.
LoneRounds AbsorbedSinkhorn::lone_rounds() {
  const Options& options = monitor_.options();
  LoneRounds rounds;
  rounds.targets = active();
  rounds.a = problem_.a;
  rounds.u = u_.data();
  rounds.v = v_.data();
  rounds.norm = options.norm;
  // Virtual time is only counted for the verbs of a round.
  const bool one_by_one = options.local_steps > 1 || topology_.clients().communicator().clock_is_virtual() ||
                          !pacing_.method.on_device || newton_.targets > 0 || iteration_ < watch_closely_until_;
  rounds.most = one_by_one ? 0 : options.max_iterations - 1 - iteration_;
  rounds.look_every = annealing_.patience();
  rounds.tolerance = annealing_.is_last() ? monitor_.tolerance() : 0;
  if (active() == 1 && iteration_ < confirm_from_[0]) {
    // A check has just failed, so there is nothing to look for until the next one.
    rounds.tolerance = 0;
    rounds.most = std::min(rounds.most, confirm_from_[0] - 1 - iteration_);
  }
  rounds.safe_scaling = safe_scaling_;
  if (!annealing_.is_last()) rounds.goal_gain = annealing_.goal();
  if (is_accelerated()) rounds.acceleration = {pacing_.memory, longest_step(), problem_.mass};
  return rounds;
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
    note.error_b = error_part(norm, x_.data() + slot * m_, r, b(slot), m_);
  }
  return note;
}

// ---------------------------------------------------------------------------------------------------------------------

std::vector<const double*> AbsorbedSinkhorn::masses() const {
  std::vector<const double*> result;
  for (std::size_t k = 0; k < active(); ++k) result.push_back(b(k));
  return result;
}

// A stop request at any client stops all of them. The count of local steps is the largest of any client.
void AbsorbedSinkhorn::share(const std::vector<double>& v, std::vector<Note>& notes) {
  const std::int64_t most = monitor_.options().local_steps - 1;
  if (monitor_.interrupted()) notes[0].set(Note::kStop);
  if (most > 0) notes[0].maxima.push_back(static_cast<double>(std::exchange(untold_steps_, 0)));
  topology_.share(active(), v.data(), notes);
  stop_ = notes[0].has(Note::kStop);
  if (most == 0) return;
  const double steps = notes[0].maxima.back();
  notes[0].maxima.pop_back();
  if (steps > 0) iteration_ += std::min(static_cast<std::int64_t>(std::min(steps, 1e18)), most);
}

}  // namespace fedsinkhorn
