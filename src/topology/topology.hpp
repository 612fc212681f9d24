// The iteration as one client sees it: its part of the kernel, and its exchanges with the others.
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

/// Per target, the masses of this client's columns.
using Masses = std::span<const double* const>;

/// Iterations between two rounds, made without waiting for other clients.
struct Stretch {
  std::size_t targets = 1;
  Masses b;
  double* u = nullptr;  ///< own slices, updated
  double* v = nullptr;
  std::int64_t local_steps = 1;  ///< per exchange
  std::int64_t iteration = 0;    ///< iterations so far
  std::int64_t last = 0;         ///< a round must follow this iteration
  double safe_scaling = 1e100;   ///< beyond this a round is needed
  /// Called after each iteration with this client's estimate of the total errors. Returns whether it wants a round.
  std::function<bool(std::int64_t iteration, double error_a, double error_b)> observe;
  /// Whether a stop is requested: this client then makes no more iterations.
  std::function<bool()> interrupted;
  /// For a single client that may make whole rounds by itself; otherwise LoneRounds::most is 0.
  LoneRounds lone;
};

/// Number of iterations made: by the client that made most, and by this one.
struct Ahead {
  std::int64_t most = 0;
  std::int64_t own = 0;
  bool is_agreed = true;  ///< if false, `most` is a guess and the next round must correct it
};

/// Potentials of all rows and columns of one target, as far as one client knows.
struct KnownPotentials {
  std::vector<double> phi, psi;  ///< absorbed part
  std::vector<double> u, v;
};

/// A client owns some rows I and some columns J. All vectors here are its slices: a_I, u_I, q_I, phi_I, and b_J, v_J,
/// r_J, psi_J. Vectors of several targets are stored one target after the other. All verbs except set_epsilon, mix,
/// remove, local_step and known are collective: every client calls the same ones in the same order.
///
/// Shared by all topologies, on top of their Exchanges. Topologies whose clients do not wait for each other override
/// run_ahead.
class Topology {
 public:
  Topology(const TopologyContext& context, std::unique_ptr<Exchanges> exchanges);
  virtual ~Topology() = default;
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  /// All clients, for small agreements.
  [[nodiscard]] const Collectives& clients() const { return everyone_; }

  /// Applies to the kernel from the next absorb on, and to log-domain sums.
  void set_epsilon(double epsilon);
  /// Sets K_ij = exp((phi_i + psi_j - C_ij) / epsilon). v must be shared again; images of v are forgotten.
  void absorb(std::span<const double> phi, std::span<const double> psi);
  /// Whether this client can open() a kernel.
  [[nodiscard]] bool can_open() const { return is_fused_ && row_block_.can_open(); }
  /// Like absorb, but phi is found by the round that follows (see Kernel::open).
  void open(std::span<const double> psi, double grid);
  [[nodiscard]] std::span<const double> opened() const { return row_block_.opened(); }
  /// Whether the kernel stays valid after that round. If not, absorb must follow.
  [[nodiscard]] bool keeps_opened() const { return row_block_.keeps_opened(); }

  /// Sends v to the clients that need it, and the notes, one per target, to all. On return the notes are combined.
  void share(std::size_t targets, const double* v, std::span<Note> notes);
  /// Replaces the last shared v, wherever it is held, by a mixture of it and earlier ones. `own` receives this client's
  /// slice. No messages.
  void mix(std::size_t slot, const Mixture& mixture, std::span<double> own);
  /// First half of a round: q = (K v)_I with v as last shared, u = a / q.
  void rows(std::size_t targets, double* q, double* u);
  /// Second half: r = (K' u)_J. Follows rows().
  void columns(std::size_t targets, const double* u, double* r);
  /// Both halves without communication: updates the own u and v, with those of others as last received. Skips a target
  /// if its update would be zero, infinite or NaN. Returns the largest relative change.
  double local_step(std::size_t targets, Masses b, double* u, double* v);
  /// Iterates until the next round: local steps, or what the topology offers. Either all clients make iterations or
  /// none does, except after a stop request.
  [[nodiscard]] virtual Ahead run_ahead(const Stretch& stretch);
  /// The loop has adopted u and v as exchanged in the last round.
  virtual void settle() {}
  /// The target in that slot is finished; later ones move down.
  virtual void remove(std::size_t slot);

  /// q = (K v)_I and r = (K' u)_J alone, to measure the marginals of a finished plan. The shared v is unchanged.
  void row_products(std::size_t targets, const double* v, double* q);
  void column_products(std::size_t targets, const double* u, double* r);
  /// Both.
  void products(std::size_t targets, const double* u, const double* v, double* q, double* r);

  /// r = (K' (w . (K y)))_J, in one pass over K if every client has whole rows.
  void weighted(const double* w, const double* y, double* r);
  /// The part of it that the rows held here contribute; y and r are over all columns. Not collective.
  void own_weighted(const double* w, const double* y, double* r);
  /// Whether each row of K is held whole by one client, this one or another; the same at all clients.
  [[nodiscard]] bool holds_whole_rows() const { return exchange_->holds_whole_rows(); }
  /// Number of rows held here, and values of these rows from those of the clients that own them.
  [[nodiscard]] std::size_t held_rows() const { return row_block_.rows(); }
  [[nodiscard]] std::vector<double> held(const double* own) { return rows_of_row_block(Payload::slice, 1, own); }
  /// Rows [first, first + count) of those held here. Not collective.
  void copy_rows(std::size_t first, std::size_t count, double* to) { row_block_.copy_rows(first, count, to); }

  /// The same sums in the log domain, from the costs (see backend/cpu/log_sums.hpp).
  void row_log_sums(std::span<const double> psi, std::span<double> sums);
  void column_log_sums(std::span<const double> phi, std::span<const double> log_weights, std::span<double> sums);
  /// Row and column sums for the own slices. Sums over the whole plan are this client's share of them.
  [[nodiscard]] std::vector<PlanSums> plan_sums(std::span<const double> phi, std::span<const double> psi,
                                                std::size_t targets, const double* u, const double* v);

  // For private runs (src/mechanism). First without messages, for topologies whose clients hold their own rows whole:
  // psi and log-sums of all columns, phi of the own rows.
  void own_row_logs(std::span<const double> psi, std::span<double> sums) { row_block_.row_log_sums(psi, sums); }
  void own_column_logs(std::span<const double> phi, std::span<const double> log_weights, std::span<double> sums) {
    row_block_.column_log_sums(phi, log_weights, sums);
  }
  // Then with messages, of kind release: own slices to those who need them, and log-sums of what is known here to the
  // owners of rows and columns.
  [[nodiscard]] Exchanges::Known rows_known() const { return exchange_->rows(); }
  [[nodiscard]] Exchanges::Known columns_known() const { return exchange_->columns(); }
  [[nodiscard]] std::vector<double> release_rows(std::size_t targets, const double* own) {
    return known_rows(Payload::release, targets, own);
  }
  [[nodiscard]] std::vector<double> release_columns(std::size_t targets, const double* own) {
    return known_columns(Payload::release, targets, own);
  }
  void row_logs_of_released(std::span<const double> known_psi, std::span<double> sums);
  void column_logs_of_released(std::span<const double> known_phi, std::span<double> sums);

  /// Reads of the kernel per iteration.
  [[nodiscard]] Passes passes() const { return is_fused_ ? Passes::fused : Passes::two; }
  /// Describes how a pass goes over the rows of the kernel; empty if there is no choice.
  [[nodiscard]] std::string pass_plan() const { return is_fused_ ? row_block_.pass_plan() : std::string(); }
  /// Time spent on arithmetic.
  [[nodiscard]] double compute_seconds() const { return compute_.seconds(); }
  /// How often a round waits for slices of others.
  [[nodiscard]] std::uint64_t exchanges_each_round() const { return exchange_->each_round(); }
  /// How often rounds did so.
  [[nodiscard]] std::uint64_t exchanges() const { return exchanges_made_; }

  /// What this client would report if it had to end now without the others. Nothing if it does not know their slices.
  [[nodiscard]] virtual std::optional<KnownPotentials> known(std::size_t /*slot*/) const { return std::nullopt; }
  /// Age of slices when this client used them, if it can vary.
  [[nodiscard]] virtual const DelayTable* delays() const { return nullptr; }

 protected:
  /// q = (K v)_I and r = (K' u)_J, this client's own slices, from v and u as known here.
  void apply(std::size_t targets, double* q);
  void apply_transposed(std::size_t targets, double* r);
  /// Sends u to all.
  void share_u(std::size_t targets, const double* u);
  [[nodiscard]] Exchanges& exchange() { return *exchange_; }

  const CheckedProblem& problem_;
  const Norm norm_;
  Collectives everyone_;
  std::uint64_t exchanges_made_ = 0;
  std::vector<double> phi_, psi_;  // absorbed, as known here
  std::vector<double> v_;          // targets x columns known here
  std::vector<double> u_;          // targets x rows known here; empty if unknown

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
  HeldBlock row_block_;                        // forms K v, and K' u if there is no column block
  std::optional<HeldBlock> own_column_block_;  // K[:,J], if the layout has it
  const bool is_fused_;                        // one pass over K gives q, u and r
  const bool keeps_summands_;                  // for local steps
  const HalfStep row_step_;
  ImageHistory images_;           // of v_
  std::vector<double> q_part_;    // targets x rows of the block
  std::vector<double> r_part_;    // targets x columns of the block
  std::vector<double> r_others_;  // targets x own columns: the others' last share of r
};

}  // namespace fedsinkhorn
