#include "topology/block_topology.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "topology/scalings.hpp"

namespace fedsinkhorn {
namespace {

bool includes_others(const std::vector<std::size_t>& members) { return members.size() > 1; }

/// log(exp(x) + exp(y) + ...), element by element, over the members in their order.
void add_logs(std::span<const double> summands, std::span<double> sums) {
  constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
  const std::size_t members = sums.empty() ? 0 : summands.size() / sums.size();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    double greatest = minus_infinity;
    for (std::size_t k = 0; k < members; ++k) greatest = std::max(greatest, summands[k * sums.size() + i]);
    double sum = 0;
    for (std::size_t k = 0; k < members; ++k) {
      const double term = summands[k * sums.size() + i];
      sum += std::isinf(term) && term < 0 ? 0 : std::exp(term - greatest);
    }
    sums[i] = greatest == minus_infinity ? minus_infinity : greatest + std::log(sum);
  }
}

bool all_usable(std::span<const double> values, std::span<const double> masses) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (masses[i] > 0 && !(values[i] > 0 && std::isfinite(values[i]))) return false;
  }
  return true;
}

}  // namespace

BlockTopology::BlockTopology(const TopologyContext& context, const std::vector<std::size_t>& row_members,
                             const std::vector<std::size_t>& column_members)
    : problem_(context.problem),
      norm_(context.options.norm),
      fused_(!includes_others(row_members) && context.options.passes == Passes::fused),
      keeps_summands_(context.options.local_steps > 1),
      everyone_(context.clients),
      row_communicator_(make_group(context.clients.communicator(), row_members, 1)),
      column_communicator_(make_group(context.clients.communicator(), column_members, 2)),
      row_group_(Collectives(*row_communicator_), sizes_of(problem_.rows.slices, row_members)),
      column_group_(Collectives(*column_communicator_), sizes_of(problem_.columns.slices, column_members)),
      block_(problem_.block(), context.block, compute_) {}

void BlockTopology::absorb(std::span<const double> phi, std::span<const double> psi) {
  block_.absorb(row_group_.gathered(phi), column_group_.gathered(psi));
  forget();
}

void BlockTopology::open(std::span<const double> psi, double grid) {
  block_.open(column_group_.gathered(psi), grid);
  forget();
}

// What was for another K.
void BlockTopology::forget() {
  r_others_.clear();
  images_.forget();
}

void BlockTopology::mix(std::size_t slot, const Mixture& mixture, std::span<double> own) {
  const Stopwatch::Scope timed(compute_);
  double* v = v_.data() + slot * block_.columns();
  images_.mix(slot, mixture, {v, block_.columns()});
  std::copy_n(v + column_group_.own_slice().first, own.size(), own.begin());
}

void BlockTopology::share(std::size_t targets, const double* v, std::span<Note> notes) {
  v_.resize(targets * block_.columns());
  column_group_.gather(targets, v, v_.data(), norm_, notes);
  row_group_.share_notes(norm_, notes);
}

// q = K v, u = a / q; fused, also this client's summand of K' u.
void BlockTopology::rows(std::size_t targets, double* q, double* u) {
  r_part_.resize(targets * block_.columns());
  if (fused_) {
    block_.fused(targets, problem_.a.data(), v_.data(), q, u, r_part_.data());
    return;
  }
  q_part_.resize(targets * block_.rows());
  block_.apply(targets, v_.data(), q_part_.data());
  row_group_.sum(targets, q_part_.data(), q);
  if (row_group_.members() > 1) ++exchanges_;
  divide_by(targets, problem_.a, q, u, compute_);
}

void BlockTopology::columns(std::size_t targets, const double* u, double* r) {
  if (!fused_) {
    u_.resize(targets * block_.rows());
    row_group_.gather(targets, u, u_.data());
    block_.apply_transposed(targets, u_.data(), r_part_.data());
  }
  sum_columns(targets, r);
}

void BlockTopology::sum_columns(std::size_t targets, double* r) {
  if (column_group_.members() > 1) ++exchanges_;
  if (!keeps_summands_) {
    column_group_.sum(targets, r_part_.data(), r);
    return;
  }
  const std::vector<double> summands = column_group_.summands(targets, r_part_.data());
  const std::size_t own = targets * column_group_.own_size();
  r_others_.assign(own, 0.0);
  std::fill_n(r, own, 0.0);
  for (std::size_t member = 0; member < column_group_.members(); ++member) {
    for (std::size_t j = 0; j < own; ++j) {
      r[j] += summands[member * own + j];
      if (member != everyone_.rank()) r_others_[j] += summands[member * own + j];
    }
  }
}

// Own u from v as known here, own v from the own summand of K' u and what the others last added.
double BlockTopology::local_step(std::size_t targets, Masses b, double* u, double* v) {
  if (row_group_.members() > 1) throw std::logic_error("local steps need whole rows of the kernel");
  const std::size_t n = block_.rows();
  const std::size_t m = block_.columns();
  const Range own = column_group_.slice(everyone_.rank());
  if (r_others_.size() != targets * own.size()) return 0;  // nothing heard yet
  std::vector<double> q(targets * n);
  std::vector<double> u_next(targets * n);
  r_part_.resize(targets * m);
  block_.fused(targets, problem_.a.data(), v_.data(), q.data(), u_next.data(), r_part_.data());
  std::vector<double> v_next(own.size());
  double change = 0;
  for (std::size_t k = 0; k < targets; ++k) {
    for (std::size_t j = 0; j < own.size(); ++j) {
      const double share = b[k][j];
      const double r = r_others_[k * own.size() + j] + r_part_[k * m + own.first + j];
      v_next[j] = share > 0 ? share / r : 0.0;
    }
    const std::span<const double> u_new{u_next.data() + k * n, n};
    if (!all_usable(u_new, problem_.a) || !all_usable(v_next, {b[k], own.size()})) continue;
    for (std::size_t i = 0; i < n; ++i) change = std::max(change, relative_change(u[k * n + i], u_new[i]));
    for (std::size_t j = 0; j < own.size(); ++j) {
      if (v_next[j] > 0) change = std::max(change, relative_change(v[k * own.size() + j], v_next[j]));
    }
    std::copy(u_new.begin(), u_new.end(), u + k * n);
    std::copy(v_next.begin(), v_next.end(), v + k * own.size());
    std::copy(v_next.begin(), v_next.end(), v_.begin() + static_cast<std::ptrdiff_t>(k * m + own.first));
  }
  return change;
}

// A block that is all there is may have a way of its own.
Ahead BlockTopology::run_ahead(const Stretch& stretch) {
  if (!fused_ || everyone_.size() > 1 || stretch.lone.most <= 0) return Topology::run_ahead(stretch);
  const std::int64_t made = block_.run_alone(stretch.lone);
  if (made > 0) {
    v_.assign(stretch.v, stretch.v + stretch.targets * block_.columns());
    images_.forget();
  }
  return {made, made};
}

void BlockTopology::remove(std::size_t slot) {
  const auto drop = [slot](std::vector<double>& values, std::size_t size) {
    if (values.empty()) return;
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(slot * size);
    values.erase(first, first + static_cast<std::ptrdiff_t>(size));
  };
  drop(v_, block_.columns());
  drop(r_others_, column_group_.own_size());
  images_.remove(slot);
}

// ---------------------------------------------------------------------------------------------------------------------

void BlockTopology::row_products(std::size_t targets, const double* v, double* q) {
  std::vector<double> whole(targets * block_.columns());
  std::vector<double> part(targets * block_.rows());
  column_group_.gather(targets, v, whole.data());
  block_.apply(targets, whole.data(), part.data());
  row_group_.sum(targets, part.data(), q);
}

void BlockTopology::column_products(std::size_t targets, const double* u, double* r) {
  std::vector<double> whole(targets * block_.rows());
  std::vector<double> part(targets * block_.columns());
  row_group_.gather(targets, u, whole.data());
  block_.apply_transposed(targets, whole.data(), part.data());
  column_group_.sum(targets, part.data(), r);
}

// In one pass where every client has whole rows.
void BlockTopology::products(std::size_t targets, const double* u, const double* v, double* q, double* r) {
  if (!fused_) return Topology::products(targets, u, v, q, r);
  std::vector<double> whole(targets * block_.columns());
  std::vector<double> part(targets * block_.columns());
  column_group_.gather(targets, v, whole.data());
  block_.products(targets, u, whole.data(), q, part.data());
  column_group_.sum(targets, part.data(), r);
}

void BlockTopology::row_log_sums(std::span<const double> psi, std::span<double> sums) {
  const std::vector<double> whole = column_group_.gathered(psi);
  std::vector<double> part(block_.rows());
  block_.row_log_sums(whole, part);
  add_logs(row_group_.summands(1, part.data()), sums);
}

void BlockTopology::column_log_sums(std::span<const double> phi, std::span<const double> log_weights,
                                    std::span<double> sums) {
  const std::vector<double> whole_phi = row_group_.gathered(phi);
  const std::vector<double> whole_weights = row_group_.gathered(log_weights);
  std::vector<double> part(block_.columns());
  block_.column_log_sums(whole_phi, whole_weights, part);
  add_logs(column_group_.summands(1, part.data()), sums);
}

std::vector<PlanSums> BlockTopology::plan_sums(std::span<const double> phi, std::span<const double> psi,
                                               std::size_t targets, const double* u, const double* v) {
  std::vector<double> whole_u(targets * block_.rows());
  std::vector<double> whole_v(targets * block_.columns());
  row_group_.gather(targets, u, whole_u.data());
  column_group_.gather(targets, v, whole_v.data());
  std::vector<PlanSums> sums =
      block_.plan_sums(row_group_.gathered(phi), column_group_.gathered(psi), targets, whole_u.data(), whole_v.data());
  for (PlanSums& of_target : sums) {
    std::vector<double> rows(row_group_.own_size());
    std::vector<double> columns(column_group_.own_size());
    row_group_.sum(1, of_target.rows.data(), rows.data());
    column_group_.sum(1, of_target.columns.data(), columns.data());
    of_target.rows = std::move(rows);
    of_target.columns = std::move(columns);
  }
  return sums;
}

}  // namespace fedsinkhorn
