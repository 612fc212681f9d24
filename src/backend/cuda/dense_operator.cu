#include "backend/cuda/dense_operator.hpp"

#include <cstddef>

#include "backend/cuda/many_targets.hpp"
#include "device/transfer.hpp"

namespace fedsinkhorn::cuda {
namespace {

class DenseOperator final : public Operator {
 public:
  DenseOperator(const DeviceCosts& costs, Storage storage, std::size_t targets)
      : costs_(costs),
        stride_(dense_stride(storage, costs.columns())),
        values_(zeros_on_device<std::byte>(costs.rows() * stride_ * bytes_of(storage))),  // the padding stays 0
        kernel_{storage, values_.data(), costs.rows(), costs.columns(), stride_},
        one_(make_dense_pass(storage, costs.rows(), costs.columns())),
        many_(targets > 1 ? make_many_targets(storage) : nullptr) {}

  [[nodiscard]] std::size_t rows() const override { return costs_.rows(); }
  [[nodiscard]] std::size_t columns() const override { return costs_.columns(); }

  void absorb(const double* phi, const double* psi, double epsilon, cudaStream_t stream) override {
    costs_.fill_kernel({0, rows()}, phi, psi, epsilon, kernel_.storage, values_.data(), stride_, stream);
  }
  void apply(std::size_t targets, const double* v, double* q, cudaStream_t stream) override {
    if (targets == 1) return one_->apply(kernel_, v, q, stream);
    many_->apply(kernel_, targets, v, q, stream);
  }
  void apply_transposed(std::size_t targets, const double* u, double* r, cudaStream_t stream) override {
    if (targets == 1) return one_->apply_transposed(kernel_, u, r, stream);
    many_->apply_transposed(kernel_, targets, u, r, stream);
  }
  void fused(std::size_t targets, const double* a, const double* v, double* q, double* u, double* r,
             cudaStream_t stream) override {
    if (targets == 1) return one_->fused(kernel_, a, v, q, u, r, stream);
    many_->fused(kernel_, targets, a, v, q, u, r, stream);
  }
  void rounds(const PlainRounds& rounds, cudaStream_t stream) override {
    if (rounds.targets == 1) return one_->rounds(kernel_, rounds, stream);
    many_->rounds(kernel_, rounds, stream);
  }
  [[nodiscard]] bool makes_many_rounds(std::size_t targets) const override {
    return targets == 1 && one_->reads_once();
  }

 private:
  const DeviceCosts& costs_;
  std::size_t stride_;
  DeviceBuffer<std::byte> values_;
  StoredKernel kernel_;
  std::unique_ptr<DensePass> one_;
  std::unique_ptr<ManyTargets> many_;
};

}  // namespace

std::unique_ptr<Operator> make_dense_operator(const DeviceCosts& costs, Storage storage, std::size_t targets) {
  return std::make_unique<DenseOperator>(costs, storage, targets);
}

double dense_operator_bytes(Storage storage, std::size_t rows, std::size_t columns, std::size_t targets) {
  const auto stride = static_cast<double>(dense_stride(storage, columns));
  const double values = static_cast<double>(rows) * stride * static_cast<double>(bytes_of(storage));
  return values + dense_pass_bytes(storage, rows, columns) +
         (targets > 1 ? many_targets_bytes(storage, rows, columns, targets) : 0);
}

}  // namespace fedsinkhorn::cuda
