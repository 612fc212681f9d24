// A block of costs on the device, and what is computed directly from it: kernels, log-domain sums, and the final
// evaluation of a plan. Slow and safe: float64 throughout.
#pragma once

#include <memory>
#include <variant>

#include "backend/cuda/dense_pass.hpp"
#include "backend/cuda/online.hpp"
#include "core/range.hpp"
#include "device/runtime.hpp"

namespace fedsinkhorn::cuda {

/// Rows x columns, without padding: its own, or the caller's, who keeps it.
class DeviceMatrix {
 public:
  template <class T>
  explicit DeviceMatrix(DeviceBuffer<T> own) : data_(static_cast<const T*>(own.data())), own_(std::move(own)) {}
  template <class T>
  explicit DeviceMatrix(const T* of_caller) : data_(of_caller) {}

  [[nodiscard]] std::variant<const double*, const float*> data() const { return data_; }

 private:
  std::variant<const double*, const float*> data_;
  std::variant<std::monostate, DeviceBuffer<double>, DeviceBuffer<float>> own_;
};
struct DevicePoints {
  DeviceBuffer<double> x, y;
  int dimension = 1;
  Metric metric = Metric::sqeuclidean;
  double unit = 1;  ///< of the coordinates (see BlockPoints)
};

/// Immutable. All verbs queue their work on the stream; all pointers are device memory. The order of summation depends
/// only on the number of summands.
class DeviceCosts {
 public:
  DeviceCosts(std::size_t rows, std::size_t columns, DeviceMatrix matrix)
      : rows_(rows), columns_(columns), source_(std::move(matrix)) {}
  DeviceCosts(std::size_t rows, std::size_t columns, DevicePoints points)
      : rows_(rows), columns_(columns), source_(std::move(points)) {}

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] const std::variant<DeviceMatrix, DevicePoints>& source() const { return source_; }

  /// to[(i - rows.first) * stride + j] = exp((phi_i + psi_j - C_ij) / epsilon) for the given rows.
  void fill_kernel(Range rows, const double* phi, const double* psi, double epsilon, Storage storage, void* to,
                   std::size_t stride, cudaStream_t stream) const;

  /// s_i = log sum_j exp((psi_j - C_ij) / epsilon); -inf if the sum is empty.
  void row_log_sums(const double* psi, double epsilon, double* scratch, double* sums, cudaStream_t stream) const;
  /// s_j = log sum_i exp((phi_i - C_ij) / epsilon + log_weights_i).
  void column_log_sums(const double* phi, const double* log_weights, double epsilon, double* scratch, double* sums,
                       cudaStream_t stream) const;

  /// With K_ij = exp(t_ij), t_ij = (phi_i + psi_j - C_ij) / epsilon, for each target: kPlanSums sums over j, of K_ij
  /// v_j, K_ij t_ij v_j, K_ij C_ij v_j and (K_ij t_ij - K_ij + 1) v_j, one after the other, each targets x rows; and
  /// the sum over i of K_ij u_i, targets x columns. targets <= kPlanTargets.
  static constexpr std::size_t kPlanTargets = 4;
  static constexpr std::size_t kPlanSums = 4;
  void plan_row_sums(const double* phi, const double* psi, double epsilon, std::size_t targets, const double* v,
                     double* scratch, double* sums, cudaStream_t stream) const;
  void plan_column_sums(const double* phi, const double* psi, double epsilon, std::size_t targets, const double* u,
                        double* scratch, double* sums, cudaStream_t stream) const;

  /// Size of the scratch memory that any verb needs, in numbers.
  [[nodiscard]] std::size_t scratch_size() const { return scratch_size(rows_, columns_); }
  [[nodiscard]] static std::size_t scratch_size(std::size_t rows, std::size_t columns);

 private:
  std::size_t rows_, columns_;
  std::variant<DeviceMatrix, DevicePoints> source_;
};

}  // namespace fedsinkhorn::cuda
