// The paper's Algorithm 1 as a class, which its asynchronous sibling builds upon.
#pragma once

#include "topology/topologies.hpp"

namespace fedsinkhorn {

/// q_I = K[I,:] v, u_I = a_I / q_I, gather u;  r_J = K[:,J]' u, v_J = b_J / r_J, gather v.
///
/// Each q_i is summed along a row that is the same wherever it lies, and each r_j over the rows in order, so the bits
/// do not depend on the number of clients. Nothing is computed while slices are under way: MPI moves large messages
/// only while both sides are in it, and a client that went on with its own slice kept the others waiting.
class AllToAll : public Topology {
 public:
  explicit AllToAll(const TopologyContext& context);

  [[nodiscard]] const Collectives& clients() const override { return everyone_; }
  void absorb(std::span<const double> phi, std::span<const double> psi) override;
  void set_epsilon(double epsilon) override;
  void share(std::size_t targets, const double* v, std::span<Note> notes) override;
  void mix(std::size_t slot, const Mixture& mixture, std::span<double> own) override;
  void rows(std::size_t targets, double* q, double* u) override;
  void columns(std::size_t targets, const double* u, double* r) override;
  double local_step(std::size_t targets, Masses b, double* u, double* v) override;
  void remove(std::size_t slot) override;
  void row_products(std::size_t targets, const double* v, double* q) override;
  void column_products(std::size_t targets, const double* u, double* r) override;
  void row_log_sums(std::span<const double> psi, std::span<double> sums) override;
  void column_log_sums(std::span<const double> phi, std::span<const double> log_weights,
                       std::span<double> sums) override;
  [[nodiscard]] std::vector<PlanSums> plan_sums(std::span<const double> phi, std::span<const double> psi,
                                                std::size_t targets, const double* u, const double* v) override;
  [[nodiscard]] Passes passes() const override { return Passes::two; }
  [[nodiscard]] double compute_seconds() const override { return compute_.seconds(); }
  /// u, and v when it is shared.
  [[nodiscard]] std::uint64_t exchanges_each_round() const override { return rows_.members() > 1 ? 2 : 0; }
  [[nodiscard]] std::uint64_t exchanges() const override { return exchanges_; }

 protected:
  [[nodiscard]] std::size_t me() const { return everyone_.rank(); }
  /// q = (K v)_I and r = (K' u)_J with all that is known of v and u.
  void apply(std::size_t targets, double* q) { row_block_.apply(targets, v_.data(), q); }
  void apply_transposed(std::size_t targets, double* r) { apply_transposed(targets, u_, r); }
  /// Makes u known to all.
  void share_u(std::size_t targets, const double* u) { gather(targets, u, u_); }

  const CheckedProblem& problem_;
  const Norm norm_;
  Collectives everyone_;
  SliceGroup rows_, columns_;
  Stopwatch compute_{everyone_.communicator()};
  std::uint64_t exchanges_ = 0;
  std::vector<double> phi_, psi_;  // absorbed, of all rows and columns
  std::vector<double> v_;          // targets x all columns
  std::vector<double> u_;          // one client after the other, each targets x its rows; empty: not known

 private:
  void gather(std::size_t targets, const double* u, std::vector<double>& slices);
  void apply_transposed(std::size_t targets, const std::vector<double>& slices, double* r);

  ImageHistory images_;     // of v_
  HeldBlock row_block_;     // K[I,:]
  HeldBlock column_block_;  // K[:,J]
};

}  // namespace fedsinkhorn
