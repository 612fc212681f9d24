// Who holds which part of the kernel, and how a round is done.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/collectives.hpp"
#include "kernel/lone_rounds.hpp"
#include "kernel/plan_sums.hpp"
#include "topology/local_progress.hpp"
#include "topology/mixture.hpp"
#include "topology/note.hpp"

namespace fedsinkhorn {

class DelayTable;

/// Of each target, those of the own columns.
using Masses = std::span<const double* const>;

/// Iterations between two rounds, which clients make without waiting for each other.
struct Stretch {
  std::size_t targets = 1;
  Masses b;
  double* u = nullptr;  ///< own slices, which are updated
  double* v = nullptr;
  std::int64_t local_steps = 1;  ///< from one exchange to the next
  std::int64_t iteration = 0;    ///< made so far
  std::int64_t last = 0;         ///< a round must follow that one
  double safe_scaling = 1e100;   ///< beyond that a round is needed
  /// Called after each iteration with what this client takes for the errors of all; returns whether it wants a round.
  std::function<bool(std::int64_t iteration, double error_a, double error_b)> observe;
  /// Whether a stop is asked for: this client then makes no more of them.
  std::function<bool()> interrupted;
  /// For a client that is alone and may make whole rounds by itself; LoneRounds::most is 0 if it may not.
  LoneRounds lone;
};

/// How many that were: at the client that made most, and here.
struct Ahead {
  std::int64_t most = 0;
  std::int64_t own = 0;
  bool is_agreed = true;  ///< else `most` is this client's guess, and the round that follows must tell
};

/// Potentials of all rows and columns of one target, as far as one client has heard.
struct KnownPotentials {
  std::vector<double> phi, psi;  ///< what is absorbed
  std::vector<double> u, v;
};

/// The iteration as one client's loop sees it. The client owns some rows I and some columns J; all vectors here are its
/// slices: a_I, u_I, q_I, phi_I, and b_J, v_J, r_J, psi_J. Vectors of several targets lie one target after the other.
/// All verbs but set_epsilon, mix, remove, local_step and known are collective: every client calls the same ones in the
/// same order.
class Topology {
 public:
  virtual ~Topology() = default;
  Topology() = default;
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  /// Everyone: for small agreements.
  [[nodiscard]] virtual const Collectives& clients() const = 0;

  /// Of the kernel from the next absorb on, and of the sums in the log domain.
  virtual void set_epsilon(double epsilon) = 0;
  /// From now on K_ij = exp((phi_i + psi_j - C_ij) / epsilon). v must be shared anew; images of v are forgotten.
  virtual void absorb(std::span<const double> phi, std::span<const double> psi) = 0;
  /// Whether this client can open() a kernel.
  [[nodiscard]] virtual bool can_open() const { return false; }
  /// The same as absorb where phi is still to be found, by the round that follows (see Kernel::open),
  virtual void open(std::span<const double> /*psi*/, double /*grid*/) {}
  [[nodiscard]] virtual std::span<const double> opened() const { return {}; }
  /// and whether absorb must follow that round.
  [[nodiscard]] virtual bool keeps_opened() const { return true; }

  /// Makes v known to whoever needs it, and the clients' notes, one a target, to all: on return they are combined.
  virtual void share(std::size_t targets, const double* v, std::span<Note> notes) = 0;
  /// Replaces the v that was shared last, wherever it is held, by a mixture of it and earlier ones, of which `own` gets
  /// this client's slice. No messages.
  virtual void mix(std::size_t slot, const Mixture& mixture, std::span<double> own) = 0;
  /// First half of a round: q = (K v)_I with v as last shared, u = a / q.
  virtual void rows(std::size_t targets, double* q, double* u) = 0;
  /// Second half: r = (K' u)_J. Follows rows().
  virtual void columns(std::size_t targets, const double* u, double* r) = 0;
  /// Both halves without asking anybody: own u and v are updated, those of others taken as last heard.
  /// An update that gives zero, infinity or NaN is not made. Returns the largest relative change.
  virtual double local_step(std::size_t targets, Masses b, double* u, double* v) = 0;
  /// Iterations up to the next round: local steps, or what a topology has to offer. Either all clients make some, or
  /// none does, except after a stop was asked for.
  [[nodiscard]] virtual Ahead run_ahead(const Stretch& stretch) {
    const std::int64_t steps =
        std::max<std::int64_t>(0, std::min(stretch.local_steps - 1, stretch.last - stretch.iteration));
    LocalProgress progress;
    std::int64_t made = 0;
    for (bool goes_on = true; goes_on && made < steps && !stretch.interrupted(); ++made) {
      goes_on = progress.goes_on(local_step(stretch.targets, stretch.b, stretch.u, stretch.v));
      clients().communicator().look_up();
    }
    return {made, made, false};
  }
  /// The loop has taken over u and v as they were exchanged in the last round.
  virtual void settle() {}
  /// The target in that slot is finished; those after it move down.
  virtual void remove(std::size_t slot) = 0;

  /// q = (K v)_I and r = (K' u)_J alone, to measure the marginals of a finished plan. Leave the shared v alone.
  virtual void row_products(std::size_t targets, const double* v, double* q) = 0;
  virtual void column_products(std::size_t targets, const double* u, double* r) = 0;
  /// Both.
  virtual void products(std::size_t targets, const double* u, const double* v, double* q, double* r) {
    row_products(targets, v, q);
    column_products(targets, u, r);
  }

  /// The same sums in the log domain, from the costs (see backend/cpu/log_sums.hpp).
  virtual void row_log_sums(std::span<const double> psi, std::span<double> sums) = 0;
  virtual void column_log_sums(std::span<const double> phi, std::span<const double> log_weights,
                               std::span<double> sums) = 0;
  /// Row and column sums of the own slices; the sums over the whole plan are this client's shares.
  [[nodiscard]] virtual std::vector<PlanSums> plan_sums(std::span<const double> phi, std::span<const double> psi,
                                                        std::size_t targets, const double* u, const double* v) = 0;

  /// Reads of the kernel an iteration.
  [[nodiscard]] virtual Passes passes() const = 0;
  /// How a pass goes over the rows of the kernel, in words; empty where there is no choice.
  [[nodiscard]] virtual std::string pass_plan() const { return {}; }
  /// Time spent on arithmetic.
  [[nodiscard]] virtual double compute_seconds() const = 0;
  /// Times slices of others are waited for in a round.
  [[nodiscard]] virtual std::uint64_t exchanges_each_round() const = 0;
  /// Times they were, during rounds.
  [[nodiscard]] virtual std::uint64_t exchanges() const = 0;

  /// What this client would say if it had to end now without the others. Nothing where it does not know their slices.
  [[nodiscard]] virtual std::optional<KnownPotentials> known(std::size_t /*slot*/) const { return std::nullopt; }
  /// How old slices were when this client used them, where that can vary.
  [[nodiscard]] virtual const DelayTable* delays() const { return nullptr; }
};

}  // namespace fedsinkhorn
