// Sinkhorn's iteration on a kernel with absorbed potentials: matrix-vector speed at any epsilon.
//
//   K_ij = exp((phi_i + psi_j - C_ij) / epsilon)        P_ij = u_i K_ij v_j
//   q = K v,  u = a / q,  r = K' u,  v = b / r          f = phi + epsilon log u,  g = psi + epsilon log v
//
// The first iteration builds K on the fly, with phi such that the largest entry of each row is 1. If that is impossible
// (two passes over K per iteration, devices) or the numbers are unusable, it uses log-sum-exp instead. Then phi and psi
// are such that u = a and v = b exactly: K is the density of the plan with respect to a x b, and its rows and columns
// average 1. While u/a = 1/q and v/b = 1/r stay within a safe range, nothing can overflow, and what underflows is too
// small to matter. When they leave it, they are absorbed: moved into phi and psi, and K is rebuilt. If a step still
// fails (masses hundreds of orders of magnitude apart), it is undone and repeated by log-sum-exp.
//
// An acceleration may choose where a round starts (x; otherwise the v of the last round) and may reject the round
// afterwards. u_ and v_ belong to the last round that counts. Epsilon may decrease in levels; each level starts from
// the potentials of the one before, with a round like the first.
//
// Several targets share one K as long as their potentials stay close enough to a common pair (phi, psi).
//
// Every client runs this loop on its own slices. Decisions concern all clients (is a step usable, has a target
// converged, must potentials be absorbed), so they are based on numbers that all clients share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/counting.hpp"
#include "core/half_step.hpp"
#include "core/stop_request.hpp"
#include "iteration/annealing.hpp"
#include "iteration/claims.hpp"
#include "iteration/deviations.hpp"
#include "iteration/outcome.hpp"
#include "iteration/pacing.hpp"
#include "iteration/stall_watch.hpp"
#include "iteration/stopping.hpp"
#include "method/acceleration.hpp"
#include "problem/checked_problem.hpp"
#include "topology/topology.hpp"

namespace fedsinkhorn {

class AbsorbedSinkhorn {
 public:
  /// safe_scaling: the largest ratio u/a or v/b (or its inverse) that is not absorbed. traffic: carries the topology's
  /// messages and is told their phase. stop: the request that the topology's blocks watch.
  AbsorbedSinkhorn(const CheckedProblem& problem, Topology& topology, CountingCommunicator& traffic, Monitor& monitor,
                   const Pacing& pacing, double safe_scaling, int threads, StopRequest& stop);

  /// Runs all targets until they converge, reach the limit, diverge or are interrupted. Throws Interrupted if no
  /// iteration was finished.
  [[nodiscard]] std::vector<Outcome> run();

  /// True after an interruption if evaluating the plans would take more than about a second; the same on all clients.
  /// The errors are then those of the last check, or NaN. If false, the stop request is ignored from then on.
  [[nodiscard]] bool is_cut_short() const { return is_cut_short_; }

  /// After run has thrown ClientLost: every target as far as this client knows it, if it knows anything.
  [[nodiscard]] std::vector<Outcome> so_far();

  /// Made by this client, over all targets.
  [[nodiscard]] std::int64_t iterations_made() const { return made_here_; }
  /// Those made when `iteration` is checked, which may be ahead of the last round.
  [[nodiscard]] std::int64_t iterations_made(std::int64_t iteration) const {
    return made_here_ + std::max<std::int64_t>(0, iteration - iteration_);
  }
  [[nodiscard]] std::int64_t absorptions() const { return absorptions_; }
  [[nodiscard]] std::size_t targets_solved_alone() const { return solved_alone_; }
  [[nodiscard]] std::int64_t rejected() const { return pace().rejected; }
  [[nodiscard]] std::int64_t levels() const { return levels_; }
  [[nodiscard]] NewtonReport newton() const;
  /// Matrices that Newton's method has added up over clients.
  [[nodiscard]] std::uint64_t matrices_added_up() const { return matrices_added_up_; }
  /// Rounds that built the kernel on the fly.
  [[nodiscard]] std::int64_t openings() const { return openings_; }

 private:
  void run_together();
  void run_alone(const Outcome& start);
  void make_room(std::size_t targets);
  void iterate();

  void first_round();
  void first_round_in_logs();
  void start_from_given();

  /// A round that builds the kernel on the fly.
  struct Opening {
    bool is_usable = false;     ///< if false, only phi_, psi_ and x_ have changed
    bool is_stretched = false;  ///< absorbing now is advisable
    double gain = 0;            ///< KL(b || columns) before the column half-step, worst target
    double dual = 0;            ///< see Arrival; of all targets
    std::vector<Note> notes;
  };
  [[nodiscard]] double opening_grid(std::span<const double> psi) const;
  [[nodiscard]] Opening opening_round(double grid, std::span<const double> log_rows);
  [[nodiscard]] ExactSum dual_value(std::span<const double> u, std::span<const double> v, const double* b) const;
  [[nodiscard]] bool open_first_round();
  /// The state at the start of a level.
  struct Arrival {
    double gain = 0;        ///< KL(b || columns) before the column half-step
    double dual = 0;        ///< <f, a> + <g, b> after it, in units of epsilon; while a given start is judged
    bool is_built = false;  ///< the kernel is built and v is shared
  };
  [[nodiscard]] std::optional<Arrival> open_around(std::span<const double> psi, std::span<const double> phi,
                                                   Deviations columns);
  void round();
  [[nodiscard]] bool round_within_most_sums();
  void half_steps();
  /// The state after the last iteration that counts.
  struct Standing {
    double epsilon = 0;
    std::int64_t iteration = 0, made_here = 0;
    std::vector<std::size_t> ids;
    std::vector<double> phi, psi, u, v;
  };
  [[nodiscard]] Standing standing() const { return {epsilon_, iteration_, made_here_, ids_, phi_, psi_, u_, v_}; }
  void stand_again(const Standing& standing);
  void log_round(std::span<const double> f_old, std::span<const double> g_old, bool check);
  /// The log sums of both half-steps.
  struct LogSums {
    std::vector<double> rows, columns;
  };
  LogSums log_half_steps(std::span<const double> psi);
  void to_right_mass(std::vector<double>& logs) const;
  void move_to_grid(std::vector<double>& phi, std::vector<double>& psi, Deviations& rows, Deviations& columns) const;
  void take(std::vector<double> phi, std::vector<double> psi, const Deviations& rows, const Deviations& columns);
  void adopt(Deviations& rows, Deviations& columns);
  [[nodiscard]] bool run_ahead();
  [[nodiscard]] LoneRounds lone_rounds();
  [[nodiscard]] double longest_step() const;
  [[nodiscard]] Note judge(std::size_t slot, bool with_errors) const;
  void set_unusable_apart(std::vector<Note>& notes);
  void decide(std::span<const Note> notes);
  void escalate(std::span<const Note> notes, std::span<const double> gains);
  [[nodiscard]] bool can_escalate() const;
  [[nodiscard]] bool is_slow(StallWatch& watch, std::int64_t iteration, double error, double gain) const;
  [[nodiscard]] double patience_at_the_end() const;
  [[nodiscard]] bool is_slow_in_all(const StallWatch& watch, std::int64_t iteration) const;
  [[nodiscard]] bool is_worst_slow(std::int64_t iteration, const SeenRound& seen);
  [[nodiscard]] std::unique_ptr<Acceleration> made(std::unique_ptr<Acceleration> (*make)(const MethodSettings&)) const;
  void mix();
  void build_around_scalings();
  [[nodiscard]] std::vector<bool> far_from_middle(const Deviations& rows, const Deviations& columns) const;
  void set_apart(const std::vector<bool>& leaves, Deviations& rows, Deviations& columns,
                 const std::function<Outcome(std::size_t)>& as_it_stands);
  /// in_spite_of_stop: potentials are needed even though a stop was requested. The round is then done in the log
  /// domain, since a round that builds a kernel would be abandoned.
  Arrival relocate(std::span<const double> psi, Deviations& columns, double epsilon, bool in_spite_of_stop,
                   const std::function<Outcome(std::size_t)>& as_it_stands);
  Arrival relocate_in_logs(std::span<const double> psi, std::span<const double> phi, Deviations& rows,
                           Deviations& columns);
  void follow_path(std::vector<double>& psi, double epsilon) const;
  Arrival change_epsilon(double epsilon, std::int64_t iterations, bool in_spite_of_stop, bool from_here = true);
  bool anneal(std::span<const double> gains, double error);
  Arrival open_level(Move move);
  Arrival start_at_level(bool is_given);
  void rebuild(std::vector<Note>& notes);
  void share(const std::vector<double>& v, std::vector<Note>& notes);

  void record_and_finish(std::span<const Note> notes);
  void record(std::int64_t iteration, MarginalErrors errors);
  [[nodiscard]] Pace pace() const;
  void finish_converged(const std::vector<double>& errors_b);
  void finish_all(Status status);
  void finish_interrupted();
  void finish_as_it_stands(Status status);
  [[nodiscard]] double seconds_to_evaluate() const;
  std::vector<double> measure(std::span<const std::size_t> slots, std::vector<MarginalErrors>& errors);
  void take_along(std::size_t slot, std::span<const double> q, Potential& f) const;
  [[nodiscard]] Outcome outcome(std::size_t slot, Status status, MarginalErrors error) const;
  void remove(std::size_t slot);

  [[nodiscard]] std::size_t active() const { return ids_.size(); }
  /// Iterations without the products of methods that propose points.
  [[nodiscard]] std::int64_t rounds() const { return iteration_ - products_here(); }
  [[nodiscard]] std::int64_t products_here() const { return newton_.products - products_before_; }
  [[nodiscard]] bool is_accelerated() const { return pacing_.method.make != nullptr; }
  [[nodiscard]] bool is_proposal(std::size_t slot) const {
    return is_accelerated() && accelerations_[slot]->is_proposal();
  }
  [[nodiscard]] double relaxation(std::size_t slot) const {
    return is_accelerated() ? accelerations_[slot]->relaxation() : 1;
  }
  [[nodiscard]] HalfStep row_step(std::size_t slot) const { return {problem_.a, problem_.rule, relaxation(slot)}; }
  [[nodiscard]] HalfStep column_step(std::size_t slot) const {
    return {{b(slot), m_}, problem_.rule, relaxation(slot)};
  }
  /// a, repeated for every slot.
  [[nodiscard]] std::vector<const double*> masses_a() const { return {active(), problem_.a.data()}; }
  /// b of every slot.
  [[nodiscard]] std::vector<const double*> masses() const;
  [[nodiscard]] const double* b(std::size_t slot) const { return problem_.target(ids_[slot]); }
  [[nodiscard]] static std::span<double> part(std::vector<double>& values, std::size_t slot, std::size_t size) {
    return {values.data() + slot * size, size};
  }

  const CheckedProblem& problem_;
  Topology& topology_;
  CountingCommunicator& traffic_;
  Monitor& monitor_;
  StopRequest& stop_request_;
  const double safe_scaling_;
  const int threads_;
  const std::size_t n_;  // own rows
  const std::size_t m_;  // own columns

  const Pacing pacing_;
  Annealing annealing_;
  double epsilon_;  // of the current level

  std::vector<double> phi_, psi_;  // absorbed, on the grid
  std::vector<std::size_t> ids_;   // target solved in each slot
  std::vector<std::int64_t> confirm_from_;
  std::vector<bool> unchecked_;          // whether the slot's plan is newer than the last check
  std::vector<double> u_, v_;            // slots x n, slots x m
  std::vector<double> x_;                // slots x m: start of the next round
  std::vector<double> u_next_, v_next_;  // written by a round; become u_, v_ if it counts
  std::vector<double> q_, r_;
  std::int64_t iteration_ = 0;
  std::int64_t untold_steps_ = 0;                             // local steps not yet reported to the others
  std::int64_t made_here_ = 0;                                // iterations made by this client
  std::int64_t checked_ = 0;                                  // iteration of the last round that could be a check
  std::vector<std::unique_ptr<Acceleration>> accelerations_;  // one per slot
  /// How a slot's target was escalated to the method for slow ones.
  struct Escalation {
    StallWatch watch;
    std::int64_t at = 0;     // iteration; 0: not
    std::int64_t level = 0;  // number of levels begun then
  };
  std::vector<Escalation> escalations_;
  StallWatch worst_watch_;                // of all targets, in rounds made by a device
  std::int64_t watch_closely_until_ = 0;  // until this iteration, rounds are made one by one
  std::vector<Mixture> mixtures_;         // decided after a round, one per slot
  std::int64_t rejected_before_ = 0;      // of finished targets
  NewtonReport newton_;                   // steps: of finished targets
  std::uint64_t matrices_added_up_ = 0;
  std::int64_t products_before_ = 0;  // of targets before the one being solved alone
  std::int64_t levels_ = 0;
  std::int64_t openings_ = 0;
  /// The centre of the column potentials at the end of a level.
  struct LevelEnd {
    double epsilon = 0;
    std::vector<double> psi;
  };
  LevelEnd level_before_, level_;
  SeenRound seen_ahead_;     // the last round made ahead so far
  double start_spread_ = 0;  // range of a given g: maximum minus minimum

  bool stop_ = false;  // requested at some client: all work since the last iteration is void
  bool is_cut_short_ = false;
  bool started_in_spite_ = false;  // started despite a stop: see start_from_given()
  double log_seconds_ = 0;         // longest log-domain round so far, or an estimate
  double round_seconds_ = 0;       // longest half-steps of a round so far
  bool is_kernel_new_ = false;     // no pass over it yet
  bool runaway_ = false;           // see rebuild()

  Claims claims_;
  MarginalErrors last_errors_;  // last recorded

  std::vector<Outcome> finished_;
  std::optional<Outcome> alone_;  // start of the target being solved alone
  std::vector<Outcome> apart_;    // targets that left the common range, to be solved alone
  std::int64_t absorptions_ = 0;
  std::size_t solved_alone_ = 0;
};

}  // namespace fedsinkhorn
