// The iteration as one client sees it: its part of the kernel, and what it exchanges with the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/stopwatch.hpp"
#include "core/half_step.hpp"
#include "kernel/lone_rounds.hpp"
#include "kernel/plan_sums.hpp"
#include "topology/exchanges.hpp"
#include "topology/held_block.hpp"
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

/// The client owns some rows I and some columns J; all vectors here are its slices: a_I, u_I, q_I, phi_I, and b_J, v_J,
/// r_J, psi_J. Vectors of several targets lie one target after the other. All verbs but set_epsilon, mix, remove,
/// local_step and known are collective: every client calls the same ones in the same order.
///
/// Written once for all topologies, on top of their Exchanges. Those whose clients do not wait for each other also have
/// a run_ahead of their own.
class Topology {
 public:
  Topology(const TopologyContext& context, std::unique_ptr<Exchanges> exchanges);
  virtual ~Topology() = default;
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  /// Everyone: for small agreements.
  [[nodiscard]] const Collectives& clients() const { return everyone_; }

  /// Of the kernel from the next absorb on, and of the sums in the log domain.
  void set_epsilon(double epsilon);
  /// From now on K_ij = exp((phi_i + psi_j - C_ij) / epsilon). v must be shared anew; images of v are forgotten.
  void absorb(std::span<const double> phi, std::span<const double> psi);
  /// Whether this client can open() a kernel.
  [[nodiscard]] bool can_open() const { return is_fused_ && row_block_.can_open(); }
  /// The same as absorb where phi is still to be found, by the round that follows (see Kernel::open),
  void open(std::span<const double> psi, double grid);
  [[nodiscard]] std::span<const double> opened() const { return row_block_.opened(); }
  /// and whether absorb must follow that round.
  [[nodiscard]] bool keeps_opened() const { return row_block_.keeps_opened(); }

  /// Makes v known to whoever needs it, and the clients' notes, one a target, to all: on return they are combined.
  void share(std::size_t targets, const double* v, std::span<Note> notes);
  /// Replaces the v that was shared last, wherever it is held, by a mixture of it and earlier ones, of which `own` gets
  /// this client's slice. No messages.
  void mix(std::size_t slot, const Mixture& mixture, std::span<double> own);
  /// First half of a round: q = (K v)_I with v as last shared, u = a / q.
  void rows(std::size_t targets, double* q, double* u);
  /// Second half: r = (K' u)_J. Follows rows().
  void columns(std::size_t targets, const double* u, double* r);
  /// Both halves without asking anybody: own u and v are updated, those of others taken as last heard. A target of
  /// which an update would be zero, infinite or NaN is left alone. Returns the largest relative change.
  double local_step(std::size_t targets, Masses b, double* u, double* v);
  /// Iterations up to the next round: local steps, or what a topology has to offer. Either all clients make some, or
  /// none does, except after a stop was asked for.
  [[nodiscard]] virtual Ahead run_ahead(const Stretch& stretch);
  /// The loop has taken over u and v as they were exchanged in the last round.
  virtual void settle() {}
  /// The target in that slot is finished; those after it move down.
  virtual void remove(std::size_t slot);

  /// q = (K v)_I and r = (K' u)_J alone, to measure the marginals of a finished plan. Leave the shared v alone.
  void row_products(std::size_t targets, const double* v, double* q);
  void column_products(std::size_t targets, const double* u, double* r);
  /// Both.
  void products(std::size_t targets, const double* u, const double* v, double* q, double* r);

  /// The same sums in the log domain, from the costs (see backend/cpu/log_sums.hpp).
  void row_log_sums(std::span<const double> psi, std::span<double> sums);
  void column_log_sums(std::span<const double> phi, std::span<const double> log_weights, std::span<double> sums);
  /// Row and column sums of the own slices; the sums over the whole plan are this client's shares.
  [[nodiscard]] std::vector<PlanSums> plan_sums(std::span<const double> phi, std::span<const double> psi,
                                                std::size_t targets, const double* u, const double* v);

  /// Reads of the kernel an iteration.
  [[nodiscard]] Passes passes() const { return is_fused_ ? Passes::fused : Passes::two; }
  /// How a pass goes over the rows of the kernel, in words; empty where there is no choice.
  [[nodiscard]] std::string pass_plan() const { return is_fused_ ? row_block_.pass_plan() : std::string(); }
  /// Time spent on arithmetic.
  [[nodiscard]] double compute_seconds() const { return compute_.seconds(); }
  /// Times slices of others are waited for in a round.
  [[nodiscard]] std::uint64_t exchanges_each_round() const { return exchange_->each_round(); }
  /// Times they were, during rounds.
  [[nodiscard]] std::uint64_t exchanges() const { return exchanges_made_; }

  /// What this client would say if it had to end now without the others. Nothing where it does not know their slices.
  [[nodiscard]] virtual std::optional<KnownPotentials> known(std::size_t /*slot*/) const { return std::nullopt; }
  /// How old slices were when this client used them, where that can vary.
  [[nodiscard]] virtual const DelayTable* delays() const { return nullptr; }

 protected:
  /// q = (K v)_I and r = (K' u)_J with v and u as they are known here, the part of it that is this client's own.
  void apply(std::size_t targets, double* q);
  void apply_transposed(std::size_t targets, double* r);
  /// Makes u known to all.
  void share_u(std::size_t targets, const double* u);
  [[nodiscard]] Exchanges& exchange() { return *exchange_; }

  const CheckedProblem& problem_;
  const Norm norm_;
  Collectives everyone_;
  std::uint64_t exchanges_made_ = 0;
  std::vector<double> phi_, psi_;  // absorbed, as known here
  std::vector<double> v_;          // targets x columns known here
  std::vector<double> u_;          // targets x rows known here; empty: not known

 private:
  [[nodiscard]] HeldBlock& column_block() { return own_column_block_ ? *own_column_block_ : row_block_; }
  [[nodiscard]] std::vector<double> known_columns(Payload kind, std::size_t targets, const double* own);
  [[nodiscard]] std::vector<double> known_rows(Payload kind, std::size_t targets, const double* own);
  [[nodiscard]] std::vector<double> rows_of_row_block(Payload kind, std::size_t targets, const double* own);
  void columns_out(std::size_t targets, double* r);
  [[nodiscard]] bool has_heard(std::size_t targets) const;
  void forget();

  Stopwatch compute_;
  const std::unique_ptr<Exchanges> exchange_;
  HeldBlock row_block_;                        // forms K v, and K' u if there is no other
  std::optional<HeldBlock> own_column_block_;  // K[:,J], where the layout has it
  const bool is_fused_;                        // one pass over K gives q, u and r
  const bool keeps_summands_;                  // for local steps
  const HalfStep row_step_;
  ImageHistory images_;           // of v_
  std::vector<double> q_part_;    // targets x rows of the block
  std::vector<double> r_part_;    // targets x columns of the block
  std::vector<double> r_others_;  // targets x own columns: what the others last added to r
};

}  // namespace fedsinkhorn
