#include <algorithm>
#include <cmath>

#include "topology/topologies.hpp"

namespace fedsinkhorn {
namespace {

/// q_I = K[I,:] v, u_I = a_I / q_I, gather u;  r_J = K[:,J]' u, v_J = b_J / r_J, gather v.
///
/// Each q_i is summed along a row that is the same wherever it lies, and each r_j over the rows in order, so the bits
/// do not depend on the number of clients. Nothing is computed while slices are under way: MPI moves large messages
/// only while both sides are in it, and a client that went on with its own slice kept the others waiting.
class AllToAll final : public Topology {
 public:
  explicit AllToAll(const TopologyContext& context)
      : problem_(context.problem),
        norm_(context.options.norm),
        everyone_(context.clients),
        rows_(everyone_, sizes_of(problem_.rows.slices)),
        columns_(everyone_, sizes_of(problem_.columns.slices)),
        row_block_(problem_.block(), context.block, compute_),
        column_block_(problem_.column_block(), context.block, compute_) {}

  [[nodiscard]] const Collectives& clients() const override { return everyone_; }

  void absorb(std::span<const double> phi, std::span<const double> psi) override {
    row_block_.absorb(phi, columns_.gathered(psi));
    column_block_.absorb(rows_.gathered(phi), psi);
    u_.clear();
  }

  void share(std::size_t targets, const double* v, std::span<Note> notes) override {
    v_.resize(targets * columns_.whole_size());
    columns_.gather(targets, v, v_.data(), norm_, notes);
  }

  void rows(std::size_t targets, double* q, double* u) override {
    row_block_.apply(targets, v_.data(), q);
    divide_by(targets, problem_.a, q, u, compute_);
  }

  void columns(std::size_t targets, const double* u, double* r) override {
    gather_and_apply(targets, u, u_, r);
    if (rows_.members() > 1) exchanges_ += 2;  // u, and v when it is shared
  }

  void local_step(std::size_t targets, const double* b, double* u, double* v) override {
    const std::size_t n = problem_.n();
    const std::size_t m = problem_.m();
    const Range own = problem_.own_columns();
    if (u_.size() != targets * rows_.whole_size()) return;  // nothing heard yet
    std::vector<double> q(targets * n);
    std::vector<double> u_next(targets * n);
    std::vector<double> r(targets * m);
    row_block_.apply(targets, v_.data(), q.data());
    divide_by(targets, problem_.a, q.data(), u_next.data(), compute_);
    const bool usable = std::all_of(u_next.begin(), u_next.end(), [](double x) { return x > 0 && std::isfinite(x); });
    if (!usable) return;
    std::copy(u_next.begin(), u_next.end(),
              u_.begin() + static_cast<std::ptrdiff_t>(targets * rows_.slice(me()).first));
    std::copy(u_next.begin(), u_next.end(), u);
    apply_transposed(targets, u_, r.data());
    for (std::size_t k = 0; k < targets; ++k) {
      for (std::size_t j = 0; j < m; ++j) {
        const double next = b[k * m + j] / r[k * m + j];
        if (!(b[k * m + j] > 0 && next > 0 && std::isfinite(next))) continue;
        v[k * m + j] = next;
        v_[k * columns_.whole_size() + own.first + j] = next;
      }
    }
  }

  void remove(std::size_t slot) override {
    const auto size = static_cast<std::ptrdiff_t>(columns_.whole_size());
    const auto first = v_.begin() + static_cast<std::ptrdiff_t>(slot) * size;
    v_.erase(first, first + size);
    u_.clear();  // one client after the other, so the target is in many places; the next exchange brings it anew
  }

  void row_products(std::size_t targets, const double* v, double* q) override {
    std::vector<double> whole(targets * columns_.whole_size());
    columns_.gather(targets, v, whole.data());
    row_block_.apply(targets, whole.data(), q);
  }

  void column_products(std::size_t targets, const double* u, double* r) override {
    std::vector<double> slices;
    gather_and_apply(targets, u, slices, r);
  }

  void row_log_sums(std::span<const double> psi, std::span<double> sums) override {
    row_block_.row_log_sums(columns_.gathered(psi), sums);
  }

  void column_log_sums(std::span<const double> phi, std::span<const double> log_weights,
                       std::span<double> sums) override {
    column_block_.column_log_sums(rows_.gathered(phi), rows_.gathered(log_weights), sums);
  }

  // Of the rows it holds; what they add to the columns of others goes to those.
  [[nodiscard]] std::vector<PlanSums> plan_sums(std::span<const double> phi, std::span<const double> psi,
                                                std::size_t targets, const double* u, const double* v) override {
    std::vector<double> whole(targets * columns_.whole_size());
    columns_.gather(targets, v, whole.data());
    std::vector<PlanSums> sums = row_block_.plan_sums(phi, columns_.gathered(psi), targets, u, whole.data());
    for (PlanSums& of_target : sums) {
      std::vector<double> own(problem_.m());
      columns_.sum(1, of_target.columns.data(), own.data());
      of_target.columns = std::move(own);
    }
    return sums;
  }

  [[nodiscard]] Passes passes() const override { return Passes::two; }
  [[nodiscard]] double compute_seconds() const override { return compute_.seconds(); }
  [[nodiscard]] std::uint64_t exchanges() const override { return exchanges_; }

 private:
  [[nodiscard]] std::size_t me() const { return everyone_.rank(); }

  // r = K[:,J]' u. slices: u of all clients, one client after the other.
  void apply_transposed(std::size_t targets, const std::vector<double>& slices, double* r) {
    column_block_.begin_transposed(targets);
    for (std::size_t k = 0; k < rows_.members(); ++k) {
      const Range slice = rows_.slice(k);
      column_block_.add_transposed(targets, slice, slices.data() + targets * slice.first);
    }
    column_block_.end_transposed(targets, r);
  }

  // The same from this client's own u; those of the others are gathered into slices.
  void gather_and_apply(std::size_t targets, const double* u, std::vector<double>& slices, double* r) {
    slices.resize(targets * rows_.whole_size());
    std::vector<std::size_t> counts;
    for (std::size_t k = 0; k < rows_.members(); ++k) counts.push_back(targets * rows_.slice(k).size());
    std::copy_n(u, counts[me()], slices.begin() + static_cast<std::ptrdiff_t>(targets * rows_.slice(me()).first));
    everyone_.allgather(slices, counts);
    apply_transposed(targets, slices, r);
  }

  const CheckedProblem& problem_;
  const Norm norm_;
  Collectives everyone_;
  SliceGroup rows_, columns_;
  Stopwatch compute_{everyone_.communicator()};
  HeldBlock row_block_;     // K[I,:]
  HeldBlock column_block_;  // K[:,J]
  std::uint64_t exchanges_ = 0;
  std::vector<double> v_;  // targets x all columns
  std::vector<double> u_;  // one client after the other, each targets x its rows
};

}  // namespace

Layout all_to_all_layout(std::size_t client, std::size_t clients, const Options& /*options*/) {
  Layout layout = own_rows(client, clients);
  layout.whole_columns = true;
  return layout;
}

std::unique_ptr<Topology> make_all_to_all(const TopologyContext& context) {
  return std::make_unique<AllToAll>(context);
}

}  // namespace fedsinkhorn
