// Sinkhorn's iteration on a kernel with absorbed potentials: matrix-vector speed at any epsilon.
//
//   K_ij = exp((phi_i + psi_j - C_ij) / epsilon)        P_ij = u_i K_ij v_j
//   q = K v,  u = a / q,  r = K' u,  v = b / r          f = phi + epsilon log u,  g = psi + epsilon log v
//
// The first iteration builds K as it goes, phi being such that the largest entry of a row is 1. Where that cannot be
// done (two passes over K an iteration, devices) or gives numbers of no use, it is done by log-sum-exp, after which phi
// and psi are such that u = a and v = b exactly: K is then the density of the plan with respect to a x b, rows and
// columns averaging 1. While u/a = 1/q and v/b = 1/r stay
// within a safe range nothing can overflow, and what underflows is too small to matter. When they leave it, they are
// absorbed: moved into phi and psi, and K is built anew. Should a step go wrong in spite of that (masses hundreds of
// orders of magnitude apart), it is taken back and done by log-sum-exp.
//
// An acceleration may choose where a round starts (x, which else is the v of the last round), and reject it afterwards;
// u_ and v_ are those of the last round that counts. Epsilon may come down in levels, each starting from the last one's
// potentials by a round like the first.
//
// Several targets share one K as long as their potentials stay close enough to a common pair (phi, psi).
//
// Every client runs this loop on its own slices of the vectors. What is decided depends on all of them (is a step
// usable, has a target converged, must potentials be absorbed), so it is decided on numbers that all clients share.
#pragma once

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
#include "iteration/stopping.hpp"
#include "method/acceleration.hpp"
#include "problem/checked_problem.hpp"
#include "topology/topology.hpp"

namespace fedsinkhorn {

class AbsorbedSinkhorn {
 public:
  /// safe_scaling: the largest ratio u/a or v/b (and its inverse) left unabsorbed. traffic: what the topology's
  /// messages go through; it is told what they are for. stop: what the topology's blocks look at.
  AbsorbedSinkhorn(const CheckedProblem& problem, Topology& topology, CountingCommunicator& traffic, Monitor& monitor,
                   const Pacing& pacing, double safe_scaling, int threads, StopRequest& stop);

  /// All targets to the end: converged, limit reached, diverged or interrupted. Throws Interrupted if no iteration was
  /// finished.
  [[nodiscard]] std::vector<Outcome> run();

  /// After an interruption, the same on all clients: to evaluate the plans would take more than about a second. Their
  /// errors are then those of the last check, or NaN. If not, the stop request is ignored from then on.
  [[nodiscard]] bool is_cut_short() const { return is_cut_short_; }

  /// When run has thrown ClientLost: every target as this client knew it, if it knew anything.
  [[nodiscard]] std::vector<Outcome> so_far();

  /// By this client, of all targets.
  [[nodiscard]] std::int64_t iterations_made() const { return made_here_; }
  [[nodiscard]] std::int64_t absorptions() const { return absorptions_; }
  [[nodiscard]] std::size_t targets_solved_alone() const { return solved_alone_; }
  [[nodiscard]] std::int64_t rejected() const { return pace().rejected; }
  [[nodiscard]] std::int64_t levels() const { return levels_; }
  /// Rounds that built the kernel as they went.
  [[nodiscard]] std::int64_t openings() const { return openings_; }

 private:
  void run_together();
  void run_alone(const Outcome& start);
  void make_room(std::size_t targets);
  void iterate();

  void first_round();
  void first_round_in_logs();
  void start_from_given();

  /// A round that builds the kernel as it goes.
  struct Opening {
    bool is_usable = false;     ///< if not, only phi_, psi_ and x_ have changed
    bool is_stretched = false;  ///< it would be wise to absorb now
    double gain = 0;            ///< KL(b || columns) as it met it, of the worst target
    std::vector<Note> notes;
  };
  [[nodiscard]] double opening_grid(std::span<const double> psi) const;
  [[nodiscard]] Opening opening_round(double grid, std::span<const double> log_rows);
  [[nodiscard]] bool open_first_round();
  [[nodiscard]] std::optional<double> open_around(std::span<const double> psi, std::span<const double> phi,
                                                  Deviations columns);
  void round();
  void half_steps();
  /// Where the last iteration that counts has left a client.
  struct Standing {
    double epsilon = 0;
    std::int64_t iteration = 0, made_here = 0;
    std::vector<std::size_t> ids;
    std::vector<double> phi, psi, u, v;
  };
  [[nodiscard]] Standing standing() const { return {epsilon_, iteration_, made_here_, ids_, phi_, psi_, u_, v_}; }
  void stand_again(const Standing& standing);
  void log_round(std::span<const double> f_old, std::span<const double> g_old, bool check);
  /// What the log sums of both half-steps were.
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
  void mix();
  void build_around_scalings();
  [[nodiscard]] std::vector<bool> far_from_middle(const Deviations& rows, const Deviations& columns) const;
  void set_apart(const std::vector<bool>& leaves, Deviations& rows, Deviations& columns,
                 const std::function<Outcome(std::size_t)>& as_it_stands);
  /// What a level begins with.
  struct Arrival {
    double gain = 0;        ///< KL(b || columns) as it was met
    bool is_built = false;  ///< the kernel is there, and v is shared
  };
  /// in_spite_of_stop: what was asked to end is to have potentials all the same. A round that builds a kernel would be
  /// given up.
  Arrival relocate(Deviations& columns, double epsilon, bool in_spite_of_stop,
                   const std::function<Outcome(std::size_t)>& as_it_stands);
  Arrival relocate_in_logs(std::span<const double> psi, std::span<const double> phi, Deviations& rows,
                           Deviations& columns);
  Arrival change_epsilon(double epsilon, std::int64_t iterations, bool in_spite_of_stop);
  void anneal();
  Arrival open_level();
  void rebuild(std::vector<Note>& notes);
  void share(const std::vector<double>& v, std::vector<Note>& notes);

  void record_and_finish(std::span<const Note> notes);
  void record(std::int64_t iteration, MarginalErrors errors);
  [[nodiscard]] Pace pace() const;
  void finish_converged(const std::vector<double>& errors_b);
  void finish_all(Status status);
  void finish_interrupted();
  [[nodiscard]] double seconds_to_evaluate() const;
  void measure(std::span<const std::size_t> slots, std::vector<MarginalErrors>& errors);
  [[nodiscard]] Outcome outcome(std::size_t slot, Status status, MarginalErrors error) const;
  void remove(std::size_t slot);

  [[nodiscard]] std::size_t active() const { return ids_.size(); }
  [[nodiscard]] bool is_accelerated() const { return pacing_.method.make != nullptr; }
  [[nodiscard]] bool is_proposal(std::size_t slot) const {
    return is_accelerated() && accelerations_[slot]->is_proposal();
  }
  [[nodiscard]] double relaxation(std::size_t slot) const {
    return is_accelerated() ? accelerations_[slot]->relaxation() : 1;
  }
  [[nodiscard]] HalfStep row_step(std::size_t slot) const { return {problem_.a, {}, relaxation(slot)}; }
  [[nodiscard]] HalfStep column_step(std::size_t slot) const { return {{b(slot), m_}, {}, relaxation(slot)}; }
  /// a, once for every slot.
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
  double epsilon_;  // of the level

  std::vector<double> phi_, psi_;  // absorbed, on the grid
  std::vector<std::size_t> ids_;   // target solved in each slot
  std::vector<std::int64_t> confirm_from_;
  std::vector<bool> unchecked_;          // whether the plan that stands in a slot has come about since the last check
  std::vector<double> u_, v_;            // slots x n, slots x m
  std::vector<double> x_;                // slots x m: where the next round starts
  std::vector<double> u_next_, v_next_;  // written by a round; they become u_, v_ if it counts
  std::vector<double> q_, r_;
  std::int64_t iteration_ = 0;
  std::int64_t untold_steps_ = 0;                             // local steps that the others do not know of
  std::int64_t made_here_ = 0;                                // by this client
  std::int64_t checked_ = 0;                                  // iteration of the last round that could be a check
  std::vector<std::unique_ptr<Acceleration>> accelerations_;  // one a slot
  std::vector<Mixture> mixtures_;                             // decided on after a round, one a slot
  std::int64_t rejected_before_ = 0;                          // of targets that are finished
  std::int64_t levels_ = 0;
  std::int64_t openings_ = 0;
  SeenRound seen_ahead_;     // the last one of those being made ahead
  double start_spread_ = 0;  // of a g that was given: greatest less least

  bool stop_ = false;  // asked for at some client: what was made since the last iteration is void
  bool is_cut_short_ = false;
  bool started_in_spite_ = false;  // of a stop: see start_from_given()
  double log_seconds_ = 0;         // for a round in logs, at most so far, or what it might take
  double round_seconds_ = 0;       // for the half-steps of a round, at most so far
  bool is_kernel_new_ = false;     // no pass has been made over it
  bool runaway_ = false;           // see rebuild()

  Claims claims_;
  MarginalErrors last_errors_;  // as recorded last

  std::vector<Outcome> finished_;
  std::optional<Outcome> alone_;  // where the target that is solved alone started
  std::vector<Outcome> apart_;    // targets that left the common range, to be solved alone
  std::int64_t absorptions_ = 0;
  std::size_t solved_alone_ = 0;
};

}  // namespace fedsinkhorn
