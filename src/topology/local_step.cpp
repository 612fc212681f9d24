// Steps that a client makes without communication.
#include <algorithm>
#include <cmath>

#include "topology/scalings.hpp"
#include "topology/topology.hpp"

namespace fedsinkhorn {
namespace {

bool all_usable(std::span<const double> scalings, std::span<const double> masses) {
  for (std::size_t i = 0; i < scalings.size(); ++i) {
    if (masses[i] > 0 && !is_usable(scalings[i])) return false;
  }
  return true;
}

double largest_change(std::span<const double> before, std::span<const double> after) {
  double change = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i] > 0) change = std::max(change, relative_change(before[i], after[i]));
  }
  return change;
}

}  // namespace

// Whether an earlier round delivered the others' share of r, or their u.
bool Topology::has_heard(std::size_t targets) const {
  return exchange_->rows_stay() ? r_others_.size() == targets * problem_.m()
                                : u_.size() == targets * exchange_->rows().size;
}

// Own u from v as known here. Own v from u as known here, or from the own summand of K' u plus the others' last share.
double Topology::local_step(std::size_t targets, Masses b, double* u, double* v) {
  if (!exchange_->takes_local_steps() || !has_heard(targets)) return 0;
  const std::size_t n = problem_.n();
  const std::size_t m = problem_.m();
  const Exchanges::Known rows = exchange_->rows();
  const Exchanges::Known columns = exchange_->columns();
  std::vector<double> q(targets * n);
  std::vector<double> u_next(targets * n);
  std::vector<double> r(targets * m);
  const auto of = [](auto* values, std::size_t k, std::size_t size) { return std::span(values + k * size, size); };

  if (exchange_->rows_stay()) {
    r_part_.resize(targets * row_block_.columns());
    row_block_.fused(targets, row_step_, v_.data(), q.data(), u_next.data(), r_part_.data());
    for (std::size_t k = 0; k < targets; ++k) {
      for (std::size_t j = 0; j < m; ++j) {
        r[k * m + j] = r_others_[k * m + j] + r_part_[k * columns.size + columns.own.first + j];
      }
    }
  } else {
    apply(targets, q.data());
    for (std::size_t k = 0; k < targets; ++k) {
      row_step_.scale(of(q.data(), k, n), of(u_next.data(), k, n));
      if (all_usable(of(u_next.data(), k, n), problem_.a)) {
        std::copy_n(u_next.data() + k * n, n, u_.data() + k * rows.size + rows.own.first);
      }
    }
    apply_transposed(targets, r.data());
  }

  double change = 0;
  std::vector<double> v_next(m);
  for (std::size_t k = 0; k < targets; ++k) {
    const HalfStep column_step{{b[k], m}, problem_.rule};
    column_step.scale(of(r.data(), k, m), v_next);
    const std::span<const double> u_new = of(u_next.data(), k, n);
    if (!all_usable(u_new, problem_.a) || !all_usable(v_next, column_step.masses)) continue;
    change = std::max({change, largest_change(of(u, k, n), u_new), largest_change(of(v, k, m), v_next)});
    std::copy_n(u_new.data(), n, u + k * n);
    std::copy_n(v_next.data(), m, v + k * m);
    std::copy_n(v_next.data(), m, v_.data() + k * columns.size + columns.own.first);
  }
  return change;
}

}  // namespace fedsinkhorn
