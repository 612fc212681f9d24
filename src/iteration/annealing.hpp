// Annealing of epsilon: a large epsilon is easy, and its solution is a good start for the next smaller one.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace fedsinkhorn {

/// What to do after a round: stay at this level, or open that of epsilon().
enum class Move {
  stay,
  onward,  ///< from here
  again,   ///< from where the last move began: from the level before, or from the given start
  drop     ///< from g = 0: the given start is of no use
};

/// Decides whether levels are needed, which ones, and when to leave one, from numbers that all clients share.
/// `iteration` counts rounds, `products` iterations that were no rounds. gain: KL(b || columns) of the worst target.
class Annealing {
 public:
  /// Stays at `last`.
  explicit Annealing(double last) : last_(last), epsilon_(last) {}
  /// Stays at `last` while that goes well; otherwise starts again at a tenth of the largest cost. most: rounds in all.
  Annealing(double last, double largest_cost, double mass, std::int64_t most);

  /// Products have the digits of float32: levels are not to be solved further than these can tell.
  void be_coarse() { is_coarse_ = true; }
  /// Is thorough with every target, and without a given start begins with the first level.
  void start_high();
  /// Begins at `last`, from a start that may be good for that or not. Call it for every target that begins so.
  void start_from_given();

  [[nodiscard]] double epsilon() const { return epsilon_; }
  [[nodiscard]] bool is_last() const { return epsilon_ == last_; }
  /// Whether a given start is still what this run continues from.
  [[nodiscard]] bool is_from_given() const { return is_given_; }

  /// Whether it is not yet decided where a given start leads.
  [[nodiscard]] bool is_judging_start() const { return is_unjudged_; }

  /// Rounds at this level.
  [[nodiscard]] std::int64_t rounds_here(std::int64_t iteration) const { return iteration - entered_; }
  /// Call after every round of a level but the first. error: the L1 error, if it is known.
  [[nodiscard]] Move after_round(std::int64_t iteration, double gain, double error = 0, std::int64_t products = 0);
  /// Call after the first round of a level that is opened after a move, or from a given start. dual: the dual value
  /// then in units of epsilon, up to a constant; while is_judging_start().
  [[nodiscard]] Move after_opening(std::int64_t iteration, double gain, std::int64_t products = 0, double dual = 0);
  /// For rounds of which after_round() is not told one by one. Returns whether it should be.
  [[nodiscard]] bool wants_to_move(std::int64_t iteration, double gain);
  /// Whether a level that goes slowly may still be left for another.
  [[nodiscard]] bool may_move(double gain) const { return is_watching() && gain > goal(); }
  /// Levels shall begin (again): this one takes too long. Only once, and only if enough of the budget is left for them.
  void start_over(std::int64_t iteration);
  /// Number of rounds between calls of wants_to_move().
  [[nodiscard]] std::int64_t patience() const { return is_watching() ? kPatience : kNoHurry; }
  /// The gain at which a level has served its purpose.
  [[nodiscard]] double goal() const { return good_enough_ * mass_; }
  /// From now on, fewer levels that are solved almost to the end: for methods that converge fast at the end.
  [[nodiscard]] bool is_thorough() const { return ratio_ == kThoroughRatio; }
  void be_thorough();

  /// Continues from a level. If that is the last one, it stays there for good.
  void resume(double epsilon, std::int64_t iteration);
  /// Continues with another target, which has reached that level by itself.
  void begin_again(double epsilon, std::int64_t iteration);

 private:
  [[nodiscard]] bool needs_levels() const { return last_ < first_ / 2; }
  [[nodiscard]] bool is_watching() const { return is_trying_ || jump_ > 1; }
  [[nodiscard]] bool is_done(std::int64_t iteration, double gain, double error, std::int64_t products) const;
  [[nodiscard]] bool watch(std::int64_t iteration, double gain);
  struct FirstRound {
    double gain = 0, dual = 0;
  };
  [[nodiscard]] Move judge_start(std::int64_t iteration, const FirstRound& round);
  Move descend(std::int64_t iteration, std::int64_t products);
  Move step_back(std::int64_t iteration, std::int64_t products);
  void leap(std::int64_t iteration, std::int64_t products);
  void enter(double epsilon, std::int64_t iteration);

  static constexpr double kNothingYet = std::numeric_limits<double>::infinity();
  static constexpr double kFirst = 0.1;
  static constexpr double kRatio = 0.25;
  static constexpr double kThoroughRatio = 1.0 / 3;
  /// Corresponds to an L1 error of about 0.002: KL is at least half its square.
  static constexpr double kGoodEnough = 2e-6;
  /// For methods that do not know their error, which is about 4e-6 then, and for those that do. Less mass than this may
  /// be on the wrong side of a gap that hardly any mass crosses.
  static constexpr double kAlmostSolved = 1e-11;
  static constexpr double kThoroughError = 1e-8;
  static constexpr double kAlmostSolvedCoarse = 2e-7;
  static constexpr double kThoroughErrorCoarse = 1e-6;
  /// Rounds within which the error should halve, and KL fall with its square.
  static constexpr std::int64_t kPatience = 8;
  static constexpr std::int64_t kNoHurry = 64;
  static constexpr double kHalved = 0.25;
  /// A level of so few rounds is easy; the jump after it is twice as long, up to so many steps.
  static constexpr std::int64_t kEasy = 3;
  static constexpr double kLongestJump = 8;
  /// If the first round after a long jump gains more, relative to the mass, the jump was too long.
  static constexpr double kFar = 0.1;
  /// From a given start whose first round gains no more, the level is within reach.
  static constexpr double kNear = 1;
  /// One that gains no more is not compared with g = 0.
  static constexpr double kSure = 1e-3;
  /// A given start that is further off than this share of the first level saves too few levels.
  static constexpr double kUseful = 0.03;

  double last_;
  double epsilon_;
  double first_ = 0;
  double mass_ = 1;
  std::int64_t budget_ = 0;  // rounds that may be spent before `last` is reached (again)
  std::int64_t rough_budget_ = 0, thorough_budget_ = 0;

  double good_enough_ = kGoodEnough;
  double ratio_ = kRatio;

  bool is_trying_ = false;  // still trying to do without levels
  bool is_slow_ = false;
  bool has_started_over_ = false;
  bool is_always_thorough_ = false;
  bool is_coarse_ = false;
  bool is_given_ = false;            // the start, and it is in use
  bool is_unjudged_ = false;         // so far
  std::optional<FirstRound> given_;  // while g = 0 is tried
  std::int64_t look_again_ = kPatience;
  double best_ = kNothingYet;  // smallest gain since the last look
  double best_before_ = kNothingYet;

  std::int64_t entered_ = 0;
  double from_ = 0;           // the level before
  double steps_ = 1;          // from there to the last one
  double jump_ = 1;           // from there to this one
  bool was_too_far_ = false;  // the jump tried before
};

}  // namespace fedsinkhorn
