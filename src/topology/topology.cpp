#include "topology/topology.hpp"

#include <algorithm>
#include <stdexcept>

#include "topology/local_progress.hpp"
#include "topology/scalings.hpp"

namespace fedsinkhorn {
namespace {

/// Copies this client's slice for every target.
void copy_slice(std::size_t targets, const Exchanges::Known& known, const double* from, double* own) {
  for (std::size_t k = 0; k < targets; ++k) {
    std::copy_n(from + k * known.size + known.own.first, known.own.size(), own + k * known.own.size());
  }
}

void drop(std::vector<double>& values, std::size_t slot, std::size_t size) {
  if (values.empty()) return;
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(slot * size);
  values.erase(first, first + static_cast<std::ptrdiff_t>(size));
}

}  // namespace

Topology::Topology(const TopologyContext& context, std::unique_ptr<Exchanges> exchanges)
    : problem_(context.problem),
      norm_(context.options.norm),
      everyone_(context.clients),
      compute_(everyone_.communicator()),
      exchange_(std::move(exchanges)),
      row_block_(problem_.block(), context.block, compute_),
      is_fused_(exchange_->rows_stay() && context.options.passes == Passes::fused),
      keeps_summands_(context.options.local_steps > 1),
      row_step_{problem_.a, problem_.rule} {
  if (problem_.layout.whole_columns) own_column_block_.emplace(problem_.column_block(), context.block, compute_);
}

void Topology::set_epsilon(double epsilon) {
  row_block_.set_epsilon(epsilon);
  if (own_column_block_) own_column_block_->set_epsilon(epsilon);
}

void Topology::absorb(std::span<const double> phi, std::span<const double> psi) {
  phi_ = known_rows(Payload::potential, 1, phi.data());
  psi_ = known_columns(Payload::potential, 1, psi.data());
  if (own_column_block_) {
    row_block_.absorb(phi, psi_);
    own_column_block_->absorb(phi_, psi);
  } else {
    row_block_.absorb(phi_, std::span(psi_).first(row_block_.columns()));
  }
  u_.clear();
  forget();
}

void Topology::open(std::span<const double> psi, double grid) {
  row_block_.open(known_columns(Payload::potential, 1, psi.data()), grid);
  forget();
}

// Drops what belongs to another K.
void Topology::forget() {
  r_others_.clear();
  images_.forget();
}

void Topology::share(std::size_t targets, const double* v, std::span<Note> notes) {
  v_.resize(targets * exchange_->columns().size);
  exchange_->columns_in(Payload::slice, targets, v, v_.data(), notes);
}

void Topology::mix(std::size_t slot, const Mixture& mixture, std::span<double> own) {
  const Stopwatch::Scope timed(compute_);
  const Exchanges::Known columns = exchange_->columns();
  double* v = v_.data() + slot * columns.size;
  images_.mix(slot, mixture, {v, columns.size});
  std::copy_n(v + columns.own.first, own.size(), own.begin());
}

// q = K v, u = a / q; if fused, also this client's summand of K' u.
void Topology::rows(std::size_t targets, double* q, double* u) {
  if (is_fused_) {
    r_part_.resize(targets * row_block_.columns());
    row_block_.fused(targets, row_step_, v_.data(), q, u, r_part_.data());
    return;
  }
  q_part_.resize(targets * row_block_.rows());
  row_block_.apply(targets, v_.data(), q_part_.data());
  exchange_->rows_out(Payload::slice, targets, q_part_.data(), q);
  const Stopwatch::Scope timed(compute_);
  const std::size_t n = problem_.n();
  for (std::size_t k = 0; k < targets; ++k) row_step_.scale({q + k * n, n}, {u + k * n, n});
}

void Topology::columns(std::size_t targets, const double* u, double* r) {
  if (!is_fused_) {
    share_u(targets, u);
    r_part_.resize(targets * column_block().columns());
    column_block().apply_transposed(targets, u_.data(), r_part_.data());
  }
  columns_out(targets, r);
  exchanges_made_ += exchanges_each_round();
}

void Topology::columns_out(std::size_t targets, double* r) {
  const auto summands =
      keeps_summands_ ? exchange_->column_summands(Payload::slice, targets, r_part_.data()) : std::nullopt;
  if (!summands) {
    if (keeps_summands_ && exchange_->rows_stay()) throw std::logic_error("local steps need the summands of columns");
    return exchange_->columns_out(Payload::slice, targets, r_part_.data(), v_.data(), r);
  }
  const std::size_t own = targets * problem_.m();
  r_others_.assign(own, 0.0);
  std::fill_n(r, own, 0.0);
  for (std::size_t member = 0; member * own < summands->size(); ++member) {
    for (std::size_t j = 0; j < own; ++j) {
      r[j] += (*summands)[member * own + j];
      if (member != everyone_.rank()) r_others_[j] += (*summands)[member * own + j];
    }
  }
}

void Topology::share_u(std::size_t targets, const double* u) {
  u_.resize(targets * exchange_->rows().size);
  exchange_->rows_in(Payload::slice, targets, u, u_.data());
}

void Topology::remove(std::size_t slot) {
  drop(v_, slot, exchange_->columns().size);
  drop(u_, slot, exchange_->rows().size);
  drop(r_others_, slot, problem_.m());
  images_.remove(slot);
}

// ---------------------------------------------------------------------------------------------------------------------

void Topology::apply(std::size_t targets, double* q) {
  q_part_.resize(targets * row_block_.rows());
  row_block_.apply(targets, v_.data(), q_part_.data());
  const Range own = own_column_block_ ? Range{0, row_block_.rows()} : exchange_->rows().own;
  copy_slice(targets, {row_block_.rows(), own}, q_part_.data(), q);
}

void Topology::apply_transposed(std::size_t targets, double* r) {
  HeldBlock& block = column_block();
  r_part_.resize(targets * block.columns());
  block.apply_transposed(targets, u_.data(), r_part_.data());
  const Range own = own_column_block_ ? Range{0, block.columns()} : exchange_->columns().own;
  copy_slice(targets, {block.columns(), own}, r_part_.data(), r);
}

Ahead Topology::run_ahead(const Stretch& stretch) {
  // A block that holds everything may have its own way to iterate.
  if (is_fused_ && everyone_.size() == 1 && stretch.lone.most > 0) {
    const std::int64_t made = row_block_.run_alone(stretch.lone);
    if (made > 0) {
      v_.assign(stretch.v, stretch.v + stretch.targets * row_block_.columns());
      images_.forget();
    }
    return {made, made};
  }
  const std::int64_t steps =
      std::max<std::int64_t>(0, std::min(stretch.local_steps - 1, stretch.last - stretch.iteration));
  LocalProgress progress;
  std::int64_t made = 0;
  for (bool goes_on = true; goes_on && made < steps && !stretch.interrupted(); ++made) {
    goes_on = progress.goes_on(local_step(stretch.targets, stretch.b, stretch.u, stretch.v));
    everyone_.communicator().look_up();
  }
  return {made, made, false};
}

// ---------------------------------------------------------------------------------------------------------------------

std::vector<double> Topology::known_columns(Payload kind, std::size_t targets, const double* own) {
  std::vector<double> known(targets * exchange_->columns().size);
  exchange_->columns_in(kind, targets, own, known.data(), {});
  return known;
}

std::vector<double> Topology::known_rows(Payload kind, std::size_t targets, const double* own) {
  std::vector<double> known(targets * exchange_->rows().size);
  exchange_->rows_in(kind, targets, own, known.data());
  return known;
}

// If another block forms K' u, the rows of the block that forms K v are the own ones.
std::vector<double> Topology::rows_of_row_block(Payload kind, std::size_t targets, const double* own) {
  if (own_column_block_) return {own, own + targets * problem_.n()};
  return known_rows(kind, targets, own);
}

void Topology::row_products(std::size_t targets, const double* v, double* q) {
  const std::vector<double> known = known_columns(Payload::slice, targets, v);
  std::vector<double> part(targets * row_block_.rows());
  row_block_.apply(targets, known.data(), part.data());
  exchange_->rows_out(Payload::slice, targets, part.data(), q);
}

void Topology::column_products(std::size_t targets, const double* u, double* r) {
  const std::vector<double> known = known_rows(Payload::slice, targets, u);
  std::vector<double> part(targets * column_block().columns());
  column_block().apply_transposed(targets, known.data(), part.data());
  exchange_->columns_out(Payload::slice, targets, part.data(), nullptr, r);
}

// In one pass if every client has whole rows.
void Topology::products(std::size_t targets, const double* u, const double* v, double* q, double* r) {
  if (!is_fused_) {
    row_products(targets, v, q);
    return column_products(targets, u, r);
  }
  const std::vector<double> known = known_columns(Payload::slice, targets, v);
  std::vector<double> part(targets * row_block_.columns());
  row_block_.products(targets, u, known.data(), q, part.data());
  exchange_->columns_out(Payload::slice, targets, part.data(), known.data(), r);
}

void Topology::weighted(const double* w, const double* y, double* r) {
  exchanges_made_ += exchanges_each_round();
  if (!is_fused_) {
    std::vector<double> q(problem_.n());
    row_products(1, y, q.data());
    for (std::size_t i = 0; i < q.size(); ++i) q[i] *= w[i];
    return column_products(1, q.data(), r);
  }
  const std::vector<double> known = known_columns(Payload::slice, 1, y);
  std::vector<double> part(row_block_.columns());
  row_block_.weighted(w, known.data(), part.data());
  exchange_->columns_out(Payload::slice, 1, part.data(), nullptr, r);
}

void Topology::own_weighted(const double* w, const double* y, double* r) {
  exchanges_made_ += exchanges_each_round();
  row_block_.weighted(w, y, r);
}

void Topology::row_log_sums(std::span<const double> psi, std::span<double> sums) {
  const std::vector<double> known = known_columns(Payload::potential, 1, psi.data());
  std::vector<double> part(row_block_.rows());
  row_block_.row_log_sums(std::span(known).first(row_block_.columns()), part);
  exchange_->row_logs_out(part.data(), sums.data());
}

void Topology::column_log_sums(std::span<const double> phi, std::span<const double> log_weights,
                               std::span<double> sums) {
  const std::vector<double> known_phi = known_rows(Payload::potential, 1, phi.data());
  const std::vector<double> known_weights = known_rows(Payload::potential, 1, log_weights.data());
  std::vector<double> part(column_block().columns());
  column_block().column_log_sums(known_phi, known_weights, part);
  exchange_->column_logs_out(part.data(), sums.data());
}

void Topology::row_logs_of_released(std::span<const double> known_psi, std::span<double> sums) {
  std::vector<double> part(row_block_.rows());
  row_block_.row_log_sums(known_psi.first(row_block_.columns()), part);
  exchange_->rows_out(Payload::release, 1, part.data(), sums.data());
}

void Topology::column_logs_of_released(std::span<const double> known_phi, std::span<double> sums) {
  const std::vector<double> no_weights(known_phi.size());
  std::vector<double> part(column_block().columns());
  column_block().column_log_sums(known_phi, no_weights, part);
  exchange_->columns_out(Payload::release, 1, part.data(), nullptr, sums.data());
}

// Sums over the rows of the block that forms K v. Their part of other clients' columns is sent to those clients.
std::vector<PlanSums> Topology::plan_sums(std::span<const double> phi, std::span<const double> psi, std::size_t targets,
                                          const double* u, const double* v) {
  const std::vector<double> rows_u = rows_of_row_block(Payload::result, targets, u);
  const std::vector<double> rows_phi = rows_of_row_block(Payload::result, 1, phi.data());
  const std::vector<double> known_v = known_columns(Payload::result, targets, v);
  const std::vector<double> known_psi = known_columns(Payload::result, 1, psi.data());
  std::vector<PlanSums> sums = row_block_.plan_sums(rows_phi, std::span(known_psi).first(row_block_.columns()), targets,
                                                    rows_u.data(), known_v.data());
  for (PlanSums& of_target : sums) {
    std::vector<double> rows(problem_.n());
    std::vector<double> columns(problem_.m());
    exchange_->rows_out(Payload::result, 1, of_target.rows.data(), rows.data());
    exchange_->columns_of_rows_out(Payload::result, of_target.columns.data(), columns.data());
    of_target.rows = std::move(rows);
    of_target.columns = std::move(columns);
  }
  return sums;
}

}  // namespace fedsinkhorn
