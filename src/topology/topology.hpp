// Who holds which part of the kernel, and how a round is done.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "fedsinkhorn/result.hpp"
#include "kernel/log_sums.hpp"

namespace fedsinkhorn {

/// The iteration as the solver sees it. Vectors of several targets lie one target after the other.
class Topology {
 public:
  virtual ~Topology() = default;
  Topology() = default;
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  /// From now on K_ij = exp((phi_i + psi_j - C_ij) / epsilon).
  virtual void absorb(std::span<const double> phi, std::span<const double> psi) = 0;

  /// One round: q = K v, u = a / q, r = K' u.
  virtual void round(std::size_t targets, const double* v, double* q, double* u, double* r) = 0;

  /// q = K v and r = K' u alone, to measure the marginals of a finished plan.
  virtual void row_products(std::size_t targets, const double* v, double* q) = 0;
  virtual void column_products(std::size_t targets, const double* u, double* r) = 0;

  /// The same sums in the log domain, from the costs (see kernel/log_sums.hpp).
  virtual void row_log_sums(std::span<const double> psi, std::span<double> sums) = 0;
  virtual void column_log_sums(std::span<const double> phi, std::span<const double> log_weights,
                               std::span<double> sums) = 0;
  [[nodiscard]] virtual std::vector<PlanSums> plan_sums(std::span<const double> phi, std::span<const double> psi,
                                                        std::size_t targets, const double* u, const double* v) = 0;

  /// What each client held and spent so far.
  [[nodiscard]] virtual std::vector<ClientReport> reports() const = 0;
};

}  // namespace fedsinkhorn
