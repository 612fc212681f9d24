// Clients that each hold one block of the kernel and add up what they have. The blocks form a grid: those in a row of
// it share their rows of K, those in a column of it their columns.
//
//   q_I: the clients of a grid row add up their K v          u_I = a_I / q_I, made known in the grid row
//   r_J: the clients of a grid column add up their K' u      v_J = b_J / r_J, made known in the grid column
//
// With a single grid column every client has whole rows: q needs nobody, and one pass over K gives both q and the
// client's summand of K' u. That is row-reduce; a single block is the centralized solver.
#pragma once

#include <memory>
#include <optional>

#include "problem/checked_problem.hpp"
#include "topology/held_block.hpp"
#include "topology/slice_group.hpp"
#include "topology/topology.hpp"

namespace fedsinkhorn {

/// Everything a topology is made of. All of it outlives the topology.
struct TopologyContext {
  const CheckedProblem& problem;
  const Options& options;
  const Collectives& clients;
  BlockSettings block;
};

class BlockTopology final : public Topology {
 public:
  /// row_members, column_members: ranks of the clients of this one's grid row and grid column, in order.
  BlockTopology(const TopologyContext& context, const std::vector<std::size_t>& row_members,
                const std::vector<std::size_t>& column_members);

  [[nodiscard]] const Collectives& clients() const override { return everyone_; }
  void absorb(std::span<const double> phi, std::span<const double> psi) override;
  [[nodiscard]] bool can_open() const override { return fused_ && block_.can_open(); }
  void open(std::span<const double> psi, double grid) override;
  [[nodiscard]] std::span<const double> opened() const override { return block_.opened(); }
  [[nodiscard]] bool keeps_opened() const override { return block_.keeps_opened(); }
  void set_epsilon(double epsilon) override { block_.set_epsilon(epsilon); }
  void share(std::size_t targets, const double* v, std::span<Note> notes) override;
  void mix(std::size_t slot, const Mixture& mixture, std::span<double> own) override;
  void rows(std::size_t targets, double* q, double* u) override;
  void columns(std::size_t targets, const double* u, double* r) override;
  double local_step(std::size_t targets, Masses b, double* u, double* v) override;
  [[nodiscard]] Ahead run_ahead(const Stretch& stretch) override;
  void remove(std::size_t slot) override;
  void row_products(std::size_t targets, const double* v, double* q) override;
  void column_products(std::size_t targets, const double* u, double* r) override;
  void products(std::size_t targets, const double* u, const double* v, double* q, double* r) override;
  void row_log_sums(std::span<const double> psi, std::span<double> sums) override;
  void column_log_sums(std::span<const double> phi, std::span<const double> log_weights,
                       std::span<double> sums) override;
  [[nodiscard]] std::vector<PlanSums> plan_sums(std::span<const double> phi, std::span<const double> psi,
                                                std::size_t targets, const double* u, const double* v) override;
  [[nodiscard]] Passes passes() const override { return fused_ ? Passes::fused : Passes::two; }
  [[nodiscard]] std::string pass_plan() const override { return fused_ ? block_.pass_plan() : std::string(); }
  [[nodiscard]] double compute_seconds() const override { return compute_.seconds(); }
  [[nodiscard]] std::uint64_t exchanges_each_round() const override {
    return (row_group_.members() > 1 ? 1 : 0) + (column_group_.members() > 1 ? 1 : 0);
  }
  [[nodiscard]] std::uint64_t exchanges() const override { return exchanges_; }

 private:
  void sum_columns(std::size_t targets, double* r);
  void forget();

  const CheckedProblem& problem_;
  const Norm norm_;
  const bool fused_;
  const bool keeps_summands_;  // for local steps
  Collectives everyone_;
  std::unique_ptr<Communicator> row_communicator_, column_communicator_;
  SliceGroup row_group_, column_group_;
  Stopwatch compute_{everyone_.communicator()};
  HeldBlock block_;
  std::uint64_t exchanges_ = 0;

  std::vector<double> v_;         // targets x columns of the block
  ImageHistory images_;           // of v_
  std::vector<double> u_;         // targets x rows of the block; unused if fused
  std::vector<double> q_part_;    // targets x rows of the block
  std::vector<double> r_part_;    // targets x columns of the block
  std::vector<double> r_others_;  // targets x own columns: what the others last added to r
};

}  // namespace fedsinkhorn
