#include "iteration/annealing.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fedsinkhorn {

Annealing::Annealing(double last, double largest_cost, double mass, std::int64_t most)
    : last_(last),
      epsilon_(last),
      first_(kFirst * largest_cost),
      mass_(mass),
      budget_(most / 3),
      rough_budget_(most / 3),
      thorough_budget_(most - most / 10) {
  is_trying_ = needs_levels();
}

void Annealing::start_high() {
  is_always_thorough_ = true;
  be_thorough();
  if (needs_levels()) epsilon_ = first_;
}

void Annealing::start_from_given() {
  epsilon_ = last_;
  is_given_ = is_unjudged_ = first_ > 0;
  given_.reset();
}

void Annealing::be_thorough() {
  is_trying_ = is_slow_ = false;
  budget_ = thorough_budget_;
  good_enough_ = is_coarse_ ? kAlmostSolvedCoarse : kAlmostSolved;
  ratio_ = kThoroughRatio;
  jump_ = 1;  // the level before was solved roughly: nothing to step back to
}

Move Annealing::after_round(std::int64_t iteration, double gain, double error, std::int64_t products) {
  if (watch(iteration, gain)) {
    if (!is_trying_) return step_back(iteration, products);
    resume(first_, iteration);
    return Move::onward;
  }
  if (is_last() || !is_done(iteration, gain, error, products)) return Move::stay;
  return descend(iteration, products);
}

Move Annealing::after_opening(std::int64_t iteration, double gain, std::int64_t products, double dual) {
  if (is_unjudged_) return judge_start(iteration, {gain, dual});
  if (jump_ > 1 && gain > kFar * mass_ && iteration + products < budget_) return step_back(iteration, products);
  if (!is_last() && is_done(iteration, gain, 0, products)) return descend(iteration, products);
  if (jump_ > 1) best_before_ = gain;
  return Move::stay;
}

bool Annealing::wants_to_move(std::int64_t iteration, double gain) {
  return watch(iteration, gain) || (!is_last() && is_done(iteration, gain, 0, 0));
}

// Whether progress is slow: the error has not halved for a while and is still large.
bool Annealing::watch(std::int64_t iteration, double gain) {
  if (!is_watching()) return false;
  best_ = std::min(best_, gain);
  if (is_slow_ || iteration < look_again_) return is_slow_;
  is_slow_ = best_ > goal() && best_ > kHalved * best_before_ && iteration < budget_;
  best_before_ = std::exchange(best_, kNothingYet);
  look_again_ = iteration + kPatience;
  return is_slow_;
}

void Annealing::start_over(std::int64_t iteration) {
  if (3 * iteration >= 2 * thorough_budget_ || !needs_levels() || std::exchange(has_started_over_, true)) return;
  be_thorough();
  is_trying_ = is_slow_ = true;
  is_given_ = false;
}

bool Annealing::is_done(std::int64_t iteration, double gain, double error, std::int64_t products) const {
  const double least_error = is_coarse_ ? kThoroughErrorCoarse : kThoroughError;
  return (gain <= goal() && error <= least_error * mass_) || iteration + products >= budget_;
}

// The round has raised the dual value by epsilon times the gain, a cost: about as much as the potentials are off. At
// that epsilon they are a good start. Unless it is near, the start from g = 0 is tried as well, for one iteration: the
// given one is used if it is ahead by more than it has still gained. (Methods that begin with the first level have
// nothing to compare with.)
Move Annealing::judge_start(std::int64_t iteration, const FirstRound& round) {
  const bool is_other = given_.has_value();  // this round was that from g = 0
  const FirstRound given = is_other ? *std::exchange(given_, std::nullopt) : round;
  const bool is_worse = is_other && !(given.dual - round.dual >= given.gain);
  const double off = epsilon_ * given.gain / mass_;
  const bool is_useless = is_worse || (given.gain > kFar * mass_ && off > kUseful * first_);
  if (is_useless) {
    is_given_ = is_unjudged_ = false;
    is_trying_ = needs_levels() && !is_always_thorough_;
    enter(needs_levels() && is_always_thorough_ ? first_ : last_, iteration);
    return is_other ? Move::stay : Move::drop;
  }
  if (!is_other && is_last() && !is_always_thorough_ && given.gain > kSure * mass_) {
    given_ = given;
    return Move::drop;
  }
  is_unjudged_ = given.gain > kNear * mass_;
  if (is_unjudged_) enter(std::max(off, epsilon_ / ratio_), iteration);
  return is_unjudged_ || is_other ? Move::again : Move::stay;
}

Move Annealing::descend(std::int64_t iteration, std::int64_t products) {
  const bool is_easy = iteration - entered_ <= kEasy;
  jump_ = is_easy ? std::min(was_too_far_ ? jump_ : 2 * jump_, kLongestJump) : 1;
  was_too_far_ = false;
  from_ = epsilon_;
  leap(iteration, products);
  return Move::onward;
}

// Takes the last jump back, and makes one half as long.
Move Annealing::step_back(std::int64_t iteration, std::int64_t products) {
  jump_ = std::max(1.0, std::floor(std::min(jump_, steps_) / 2));
  was_too_far_ = true;
  leap(iteration, products);
  return Move::again;
}

void Annealing::leap(std::int64_t iteration, std::int64_t products) {
  const double factor = last_ / from_;
  steps_ = std::max(1.0, std::ceil(std::log(factor) / std::log(ratio_) - 1e-9));
  const bool reaches_end = iteration + products >= budget_ || jump_ >= steps_;
  enter(reaches_end ? last_ : from_ * std::pow(factor, jump_ / steps_), iteration);
}

void Annealing::enter(double epsilon, std::int64_t iteration) {
  epsilon_ = epsilon;
  entered_ = iteration;
  is_slow_ = false;
  look_again_ = iteration + kPatience;
  best_ = best_before_ = kNothingYet;
}

void Annealing::resume(double epsilon, std::int64_t iteration) {
  enter(epsilon, iteration);
  jump_ = 1;
  was_too_far_ = false;
  is_trying_ = false;
}

void Annealing::begin_again(double epsilon, std::int64_t iteration) {
  resume(epsilon, iteration);
  has_started_over_ = is_given_ = is_unjudged_ = false;
  given_.reset();
  if (is_always_thorough_) return;
  is_trying_ = is_last() && needs_levels();
  budget_ = rough_budget_;
  good_enough_ = kGoodEnough;
  ratio_ = kRatio;
}

}  // namespace fedsinkhorn
