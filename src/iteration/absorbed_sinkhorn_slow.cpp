// Targets that acceleration is slow with: when they take to the method for slow ones, and why.
//
// Acceleration costs hardly more than a plain round, Newton's method many times as much, but it needs few rounds
// whatever the problem. All decisions are based on counts of rounds and on errors that all clients share.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "iteration/absorbed_sinkhorn.hpp"
#include "method/newton_system.hpp"

namespace fedsinkhorn {
namespace {

/// Rounds that acceleration may take at the last level. A Newton step takes the time of about s / 15 rounds, s the
/// shorter side, and there are about ten to make; but rounds are also exchanges, and their number is to be limited. A
/// device makes a thousand rounds in the time that the host takes for a step.
double patience_with(const CheckedProblem& problem, bool is_alone_on_device) {
  if (is_alone_on_device) return 8000;
  const auto side = static_cast<double>(std::min(problem.rows.size(), problem.columns.size()));
  return std::clamp(side, 50.0, 240.0);
}
/// Shares of that: for a level on the way, where a rough result is enough, and before a level can be called slow.
constexpr double kOnTheWay = 0.2;
constexpr double kAllOnTheWay = 0.65;  // all levels together
constexpr double kGrace = 1.0 / 6;
/// From a given start that is good, Newton's method needs only a few steps.
constexpr double kFromGiven = 1.0 / 3;
/// Rounds that Newton's method may take at the level where it begins: this level may be too far from the solution,
/// since the ones before were solved roughly.
constexpr std::int64_t kPatienceWithNewton = 20;
/// Rounds made one by one after a device has seen that some target is slow.
constexpr std::int64_t kWatchClosely = 80;

}  // namespace

// Whether acceleration makes too little progress with a target. Far from the solution at the first try, levels are
// still to come.
bool AbsorbedSinkhorn::is_slow(StallWatch& watch, std::int64_t iteration, double error, double gain) const {
  const bool is_last = annealing_.is_last();
  const double goal = is_last ? monitor_.tolerance() : std::sqrt(2 * annealing_.goal() * problem_.mass);
  const double patience = patience_at_the_end();
  const bool is_slow_here =
      watch.is_slow_to(goal, iteration, error, is_last ? patience : kOnTheWay * patience, kGrace * patience);
  const bool may_wait = annealing_.may_move(gain) && !annealing_.is_from_given();
  return (is_slow_here || is_slow_in_all(watch, iteration)) && !may_wait;
}

double AbsorbedSinkhorn::patience_at_the_end() const {
  return patience_with(problem_, pacing_.is_alone_on_device) *
         (annealing_.is_from_given() && topology_.clients().sums() == nullptr ? kFromGiven : 1);
}

// The same for all levels on the way together.
bool AbsorbedSinkhorn::is_slow_in_all(const StallWatch& watch, std::int64_t iteration) const {
  const double patience = patience_at_the_end();
  return !annealing_.is_last() && watch.has_seen_enough() && static_cast<double>(iteration) > kAllOnTheWay * patience;
}

// Targets that are slow continue with the method for slow ones, from the last image. If that does not end soon either,
// all go through levels that are solved almost to the end. gains: of the targets, in this round.
void AbsorbedSinkhorn::escalate(std::span<const Note> notes, std::span<const double> gains) {
  if (!is_accelerated()) return;
  bool starts_over = false;
  for (std::size_t k = 0; k < active(); ++k) {
    Escalation& escalation = escalations_[k];
    if (!mixtures_[k].keep_newest) continue;
    if (escalation.at > 0) {
      const bool began_here = levels_ == escalation.level && !(pacing_.method.is_thorough && !annealing_.is_last());
      const std::int64_t taken = std::min(rounds() - escalation.at, annealing_.rounds_here(rounds()));
      starts_over |= (began_here || annealing_.is_from_given()) && taken > kPatienceWithNewton;
      continue;
    }
    if (!can_escalate()) continue;
    const double error = error_of(monitor_.options().norm, notes[k].error_b);
    if (!is_slow(escalation.watch, rounds(), error, gains[k])) continue;
    if (newton_.targets++ == 0) {
      newton_.from = iteration_;
      newton_.reason = is_slow_in_all(escalation.watch, rounds())
                           ? fmt::format("levels down to epsilon {:g} took {} rounds", epsilon_, rounds())
                           : escalation.watch.reason(epsilon_);
    }
    escalation.at = std::max<std::int64_t>(1, rounds());
    escalation.level = levels_;
    rejected_before_ += accelerations_[k]->rejected();
    accelerations_[k] = made(pacing_.method.make_if_slow);
    mixtures_[k] = {};
    annealing_.be_thorough();
  }
  if (starts_over) annealing_.start_over(iteration_);
}

// The same for rounds made ahead by a device, of which only the worst target is known. If there are several, rounds are
// made one by one for a while, so that all of them are seen.
bool AbsorbedSinkhorn::is_worst_slow(std::int64_t iteration, const SeenRound& seen) {
  if (!can_escalate()) return false;
  if (active() == 1) return is_slow(escalations_[0].watch, iteration, seen.error_b, seen.gain);
  if (!is_slow(worst_watch_, iteration, seen.error_b, seen.gain)) return false;
  worst_watch_.begin(iteration);
  watch_closely_until_ = iteration + kWatchClosely;
  return true;
}

bool AbsorbedSinkhorn::can_escalate() const {
  return pacing_.method.make_if_slow != nullptr && topology_.holds_whole_rows() && monitor_.options().tolerance > 0 &&
         problem_.rows.size() + problem_.columns.size() <= kMostLines;
}

}  // namespace fedsinkhorn
