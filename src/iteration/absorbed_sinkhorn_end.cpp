// How targets end: converged, at the limit, interrupted or lost; and the state of those that have not ended.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "comm/agreement.hpp"
#include "iteration/absorbed_sinkhorn.hpp"
#include "iteration/rebuilding.hpp"
#include "topology/scalings.hpp"

namespace fedsinkhorn {

// Records the errors of a check, which are the same on every client.
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
  if (epsilon_ == problem_.epsilon) finish_converged(errors_b);
}

void AbsorbedSinkhorn::record(std::int64_t iteration, MarginalErrors errors) {
  last_errors_ = errors;
  monitor_.record(iteration, errors, active() + apart_.size(), pace());
}

Pace AbsorbedSinkhorn::pace() const {
  Pace pace{epsilon_, !annealing_.is_last(), rejected_before_ + seen_ahead_.rejected, seen_ahead_.history,
            1,        newton_.steps};
  for (const auto& acceleration : accelerations_) {
    pace.rejected += acceleration->rejected();
    pace.history = std::max(pace.history, acceleration->history());
    pace.omega = std::max(pace.omega, acceleration->relaxation());
    pace.newton += acceleration->newton_steps();
  }
  return pace;
}

NewtonReport AbsorbedSinkhorn::newton() const {
  NewtonReport report = newton_;
  report.steps = pace().newton;
  return report;
}

// errors_b: for (u, old v), where the rows are exact. In the L1 norm the update of v cannot make the row error larger
// than that. In other norms, and at rounding level, it can, so convergence is verified before it is declared. A round
// that does not count says nothing about the current plan; if no check has seen that plan yet, it is measured.
void AbsorbedSinkhorn::finish_converged(const std::vector<double>& errors_b) {
  std::vector<std::size_t> candidates;
  for (std::size_t k = 0; k < active(); ++k) {
    const bool counts = mixtures_[k].keep_newest;
    const bool may_be_done =
        counts ? monitor_.small_enough(errors_b[k]) : unchecked_[k] && monitor_.options().tolerance > 0;
    if (may_be_done && iteration_ >= confirm_from_[k]) candidates.push_back(k);
    unchecked_[k] = false;
  }
  if (candidates.empty()) return;
  std::vector<MarginalErrors> errors;
  const std::vector<double> q = measure(candidates, errors);
  for (std::size_t c = candidates.size(); c-- > 0;) {
    const std::size_t k = candidates[c];
    if (monitor_.small_enough(worse(errors[c].a, errors[c].b))) {
      finished_.push_back(outcome(k, Status::converged, errors[c]));
      take_along(k, {q.data() + c * n_, n_}, finished_.back().f);
      remove(k);
    } else if (mixtures_[k].keep_newest) {
      // Try again later and ever more rarely: each measurement costs an iteration.
      confirm_from_[k] = iteration_ + std::max<std::int64_t>(1, iteration_ / 16);
    }
  }
}

// One more half-step of the rows that the others have left behind. q: products with the final v.
void AbsorbedSinkhorn::take_along(std::size_t slot, std::span<const double> q, Potential& f) const {
  for (std::size_t i = 0; i < n_; ++i) {
    if (!is_left_behind(u_[slot * n_ + i] * q[i], problem_.a[i], problem_.mass) || !is_usable(q[i])) continue;
    f.value[i] = phi_[i] + problem_.rule.potential(epsilon_, problem_.a[i], std::log(q[i]));
    f.rest[i] = 0;
  }
}

// Seconds to evaluate the current plans: about one round in the log domain, plus one to reach the last level. With many
// targets most of the time goes into the products of each with the plan, which are not formed as in a round.
double AbsorbedSinkhorn::seconds_to_evaluate() const {
  constexpr std::size_t kManyTargets = 3;
  constexpr double kSlowerThanARound = 12;
  const bool are_many = problem_.targets > kManyTargets;
  return (epsilon_ == problem_.epsilon ? 1 : 2) * log_seconds_ + (are_many ? kSlowerThanARound : 1) * round_seconds_;
}

// Reports the last finished iteration, and what can be computed about it in about a second. Kernels cannot be used any
// more: they may be half-built.
void AbsorbedSinkhorn::finish_interrupted() {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  const Rebuilding counted(traffic_);
  const double furthest = greatest_of_known(topology_.clients(), static_cast<double>(iteration_));
  const double longest = greatest_of_all(topology_.clients(), seconds_to_evaluate());
  // Clients report their iteration counts; cap them at the limit.
  const auto most = static_cast<double>(monitor_.options().max_iterations);
  iteration_ = std::max(iteration_, static_cast<std::int64_t>(std::min(furthest, std::min(most, 0x1p62))));
  is_cut_short_ = longest > kPatience;
  if (!is_cut_short_) stop_request_.ignore();
  finish_as_it_stands(Status::interrupted);
  if (!is_cut_short_) return;
  // Targets waiting to be solved alone keep their state, if they have started.
  for (Outcome& waiting : apart_) {
    if (waiting.iterations == 0) continue;
    finished_.push_back(std::move(waiting));
    finished_.back().status = Status::interrupted;
    finished_.back().error = {unknown, unknown};
  }
  std::erase_if(apart_, [](const Outcome& waiting) { return waiting.iterations != 0; });
}

// With the errors of the last check, until those of the result are known; unknown ones if epsilon has yet to come down.
void AbsorbedSinkhorn::finish_as_it_stands(Status status) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  const Rebuilding counted(traffic_);
  const bool is_on_the_way = epsilon_ != problem_.epsilon;
  if (is_on_the_way && !is_cut_short_) (void)change_epsilon(problem_.epsilon, iteration_, true);
  const MarginalErrors errors = is_on_the_way ? MarginalErrors{unknown, unknown} : last_errors_;
  for (std::size_t k = 0; k < active(); ++k) finished_.push_back(outcome(k, status, errors));
  while (active() > 0) remove(active() - 1);
}

// Targets that were set apart in the meantime stay apart.
void AbsorbedSinkhorn::stand_again(const Standing& standing) {
  epsilon_ = standing.epsilon;
  iteration_ = standing.iteration;
  made_here_ = standing.made_here;
  phi_ = standing.phi;
  psi_ = standing.psi;
  std::size_t slot = 0;
  for (std::size_t k = 0; k < standing.ids.size() && slot < active(); ++k) {
    if (standing.ids[k] != ids_[slot]) continue;
    std::copy_n(standing.u.data() + k * n_, n_, part(u_, slot, n_).begin());
    std::copy_n(standing.v.data() + k * m_, m_, part(v_, slot, m_).begin());
    ++slot;
  }
  topology_.set_epsilon(epsilon_);
  monitor_.forget_after(iteration_);
}

void AbsorbedSinkhorn::finish_all(Status status) {
  if (seconds_to_evaluate() <= kPatience) stop_request_.ignore();
  if (!annealing_.is_last()) {
    const Rebuilding counted(traffic_);
    annealing_.resume(problem_.epsilon, rounds());
    (void)change_epsilon(problem_.epsilon, iteration_, true);
    std::vector<Note> notes(active());
    if (active() > 0) rebuild(notes);
  }
  std::vector<std::size_t> all(active());
  for (std::size_t k = 0; k < all.size(); ++k) all[k] = k;
  std::vector<MarginalErrors> errors;
  (void)measure(all, errors);
  for (std::size_t k = 0; k < all.size(); ++k) {
    // The last round may have been good enough: its own errors are those of the plan before.
    const bool is_enough = status == Status::iteration_limit && monitor_.small_enough(worse(errors[k].a, errors[k].b));
    finished_.push_back(outcome(k, is_enough ? Status::converged : status, errors[k]));
  }
  while (active() > 0) remove(active() - 1);
}

// Measures both marginals of the current plans, at the cost of one iteration. Returns q = K v.
std::vector<double> AbsorbedSinkhorn::measure(std::span<const std::size_t> slots, std::vector<MarginalErrors>& errors) {
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
  topology_.products(count, u.data(), v.data(), q.data(), r.data());
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
  return q;
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
                 epsilon_,
                 join(phi_, {u_.data() + slot * n_, n_}, epsilon_),
                 join(psi_, {v_.data() + slot * m_, m_}, epsilon_),
                 error,
                 std::nullopt};
  if (const auto known = topology_.known(slot)) {
    result.whole =
        WholePotentials{join(known->phi, known->u, problem_.epsilon), join(known->psi, known->v, problem_.epsilon)};
  }
  return result;
}

// Later slots move down by one in every array that is kept.
void AbsorbedSinkhorn::remove(std::size_t slot) {
  const auto drop = [slot](std::vector<double>& values, std::size_t size) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(slot * size);
    values.erase(first, first + static_cast<std::ptrdiff_t>(size));
  };
  for (auto* values : {&u_, &u_next_, &q_}) drop(*values, n_);
  for (auto* values : {&v_, &v_next_, &r_, &x_}) drop(*values, m_);
  topology_.remove(slot);
  const auto at = static_cast<std::ptrdiff_t>(slot);
  mixtures_.erase(mixtures_.begin() + at);
  if (is_accelerated()) {
    rejected_before_ += accelerations_[slot]->rejected();
    newton_.steps += accelerations_[slot]->newton_steps();
    accelerations_.erase(accelerations_.begin() + at);
    escalations_.erase(escalations_.begin() + at);
  }
  ids_.erase(ids_.begin() + at);
  confirm_from_.erase(confirm_from_.begin() + at);
  unchecked_.erase(unchecked_.begin() + at);
}

}  // namespace fedsinkhorn
