#include "topology/all_to_all.hpp"

#include <algorithm>
#include <cmath>

#include "topology/scalings.hpp"

namespace fedsinkhorn {

AllToAll::AllToAll(const TopologyContext& context)
    : problem_(context.problem),
      norm_(context.options.norm),
      everyone_(context.clients),
      rows_(everyone_, sizes_of(problem_.rows.slices)),
      columns_(everyone_, sizes_of(problem_.columns.slices)),
      row_block_(problem_.block(), context.block, compute_),
      column_block_(problem_.column_block(), context.block, compute_) {}

void AllToAll::absorb(std::span<const double> phi, std::span<const double> psi) {
  std::vector<double> all_psi = columns_.gathered(psi);
  std::vector<double> all_phi = rows_.gathered(phi);
  row_block_.absorb(phi, all_psi);
  column_block_.absorb(all_phi, psi);
  phi_ = std::move(all_phi);
  psi_ = std::move(all_psi);
  u_.clear();
  images_.forget();
}

void AllToAll::set_epsilon(double epsilon) {
  row_block_.set_epsilon(epsilon);
  column_block_.set_epsilon(epsilon);
}

void AllToAll::mix(std::size_t slot, const Mixture& mixture, std::span<double> own) {
  const Stopwatch::Scope timed(compute_);
  double* v = v_.data() + slot * columns_.whole_size();
  images_.mix(slot, mixture, {v, columns_.whole_size()});
  std::copy_n(v + columns_.own_slice().first, own.size(), own.begin());
}

void AllToAll::share(std::size_t targets, const double* v, std::span<Note> notes) {
  v_.resize(targets * columns_.whole_size());
  columns_.gather(targets, v, v_.data(), norm_, notes);
}

void AllToAll::rows(std::size_t targets, double* q, double* u) {
  apply(targets, q);
  divide_by(targets, problem_.a, q, u, compute_);
}

void AllToAll::columns(std::size_t targets, const double* u, double* r) {
  share_u(targets, u);
  apply_transposed(targets, r);
  exchanges_ += exchanges_each_round();
}

double AllToAll::local_step(std::size_t targets, Masses b, double* u, double* v) {
  const std::size_t n = problem_.n();
  const std::size_t m = problem_.m();
  const Range own = problem_.own_columns();
  if (u_.size() != targets * rows_.whole_size()) return 0;  // nothing heard yet
  std::vector<double> q(targets * n);
  std::vector<double> u_next(targets * n);
  std::vector<double> r(targets * m);
  rows(targets, q.data(), u_next.data());
  const bool usable = std::all_of(u_next.begin(), u_next.end(), [](double x) { return x > 0 && std::isfinite(x); });
  if (!usable) return 0;
  double change = 0;
  for (std::size_t i = 0; i < u_next.size(); ++i) change = std::max(change, relative_change(u[i], u_next[i]));
  std::copy(u_next.begin(), u_next.end(), u_.begin() + static_cast<std::ptrdiff_t>(targets * rows_.slice(me()).first));
  std::copy(u_next.begin(), u_next.end(), u);
  apply_transposed(targets, r.data());
  for (std::size_t k = 0; k < targets; ++k) {
    for (std::size_t j = 0; j < m; ++j) {
      const double next = b[k][j] / r[k * m + j];
      if (!(b[k][j] > 0 && next > 0 && std::isfinite(next))) continue;
      change = std::max(change, relative_change(v[k * m + j], next));
      v[k * m + j] = next;
      v_[k * columns_.whole_size() + own.first + j] = next;
    }
  }
  return change;
}

void AllToAll::remove(std::size_t slot) {
  images_.remove(slot);
  if (v_.empty()) return;  // nothing shared yet
  const auto size = static_cast<std::ptrdiff_t>(columns_.whole_size());
  const auto first = v_.begin() + static_cast<std::ptrdiff_t>(slot) * size;
  v_.erase(first, first + size);
  if (u_.empty()) return;
  const std::size_t targets = u_.size() / rows_.whole_size();
  for (std::size_t k = rows_.members(); k-- > 0;) {  // from behind: what lies before an erased part stays where it is
    const Range rows = rows_.slice(k);
    const auto of_client = u_.begin() + static_cast<std::ptrdiff_t>(targets * rows.first + slot * rows.size());
    u_.erase(of_client, of_client + static_cast<std::ptrdiff_t>(rows.size()));
  }
}

void AllToAll::row_products(std::size_t targets, const double* v, double* q) {
  std::vector<double> whole(targets * columns_.whole_size());
  columns_.gather(targets, v, whole.data());
  row_block_.apply(targets, whole.data(), q);
}

void AllToAll::column_products(std::size_t targets, const double* u, double* r) {
  std::vector<double> slices;
  gather(targets, u, slices);
  apply_transposed(targets, slices, r);
}

void AllToAll::row_log_sums(std::span<const double> psi, std::span<double> sums) {
  row_block_.row_log_sums(columns_.gathered(psi), sums);
}

void AllToAll::column_log_sums(std::span<const double> phi, std::span<const double> log_weights,
                               std::span<double> sums) {
  column_block_.column_log_sums(rows_.gathered(phi), rows_.gathered(log_weights), sums);
}

// Of the rows it holds; what they add to the columns of others goes to those.
std::vector<PlanSums> AllToAll::plan_sums(std::span<const double> phi, std::span<const double> psi, std::size_t targets,
                                          const double* u, const double* v) {
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

void AllToAll::gather(std::size_t targets, const double* u, std::vector<double>& slices) {
  slices.resize(targets * rows_.whole_size());
  std::vector<std::size_t> counts;
  for (std::size_t k = 0; k < rows_.members(); ++k) counts.push_back(targets * rows_.slice(k).size());
  std::copy_n(u, counts[me()], slices.begin() + static_cast<std::ptrdiff_t>(targets * rows_.slice(me()).first));
  everyone_.of(Payload::slice).allgather(slices, counts);
}

// r = K[:,J]' u. slices: u of all clients, one client after the other.
void AllToAll::apply_transposed(std::size_t targets, const std::vector<double>& slices, double* r) {
  if (targets == 1) return column_block_.apply_transposed(1, slices.data(), r);
  column_block_.begin_transposed(targets);
  for (std::size_t k = 0; k < rows_.members(); ++k) {
    const Range slice = rows_.slice(k);
    column_block_.add_transposed(targets, slice, slices.data() + targets * slice.first);
  }
  column_block_.end_transposed(targets, r);
}

Layout all_to_all_layout(std::size_t client, std::size_t clients, const Options& /*options*/) {
  Layout layout = own_rows(client, clients);
  layout.whole_columns = true;
  return layout;
}

std::unique_ptr<Topology> make_all_to_all(const TopologyContext& context) {
  return std::make_unique<AllToAll>(context);
}

}  // namespace fedsinkhorn
