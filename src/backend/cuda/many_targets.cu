#include "backend/cuda/many_targets.hpp"

#include <algorithm>
#include <optional>

#include "backend/cuda/cublas.hpp"
#include "backend/cuda/finish_rounds.hpp"
#include "backend/cuda/own_product.hpp"

namespace fedsinkhorn::cuda {
namespace {

class Products final : public ManyTargets {
 public:
  explicit Products(std::unique_ptr<Cublas> cublas) : cublas_(std::move(cublas)) {
    if (!cublas_) own_.emplace();
  }

  void apply(const StoredKernel& kernel, std::size_t targets, const double* v, double* q,
             cudaStream_t stream) override {
    if (!cublas_) return own_->multiply(kernel, false, targets, v, q, stream);
    // Q' = K V': what is stored row by row here is transposed for cuBLAS.
    cublas_->multiply(kernel.rows, targets, kernel.columns, {entries(kernel), kernel.stride, true},
                      {v, kernel.columns, false}, q, kernel.rows, stream);
  }

  void apply_transposed(const StoredKernel& kernel, std::size_t targets, const double* u, double* r,
                        cudaStream_t stream) override {
    if (!cublas_) return own_->multiply(kernel, true, targets, u, r, stream);
    // R' = K' U'.
    cublas_->multiply(kernel.columns, targets, kernel.rows, {entries(kernel), kernel.stride, false},
                      {u, kernel.rows, false}, r, kernel.columns, stream);
  }

  void fused(const StoredKernel& kernel, std::size_t targets, const double* a, const double* v, double* q, double* u,
             double* r, cudaStream_t stream) override {
    apply(kernel, targets, v, q, stream);
    divide(kernel.rows, targets, a, q, u, stream);
    apply_transposed(kernel, targets, u, r, stream);
  }

  void rounds(const StoredKernel& kernel, const PlainRounds& rounds, cudaStream_t stream) override {
    finisher_.make_rounds(
        rounds, kernel.rows, kernel.columns,
        [&](const double* x) { apply(kernel, rounds.targets, x, rounds.q, stream); },
        [&] { apply_transposed(kernel, rounds.targets, rounds.u, rounds.r, stream); }, stream);
  }

  [[nodiscard]] const char* library() const override { return cublas_ ? "cublas" : "own"; }

 private:
  static const double* entries(const StoredKernel& kernel) { return static_cast<const double*>(kernel.data); }

  std::unique_ptr<Cublas> cublas_;
  std::optional<OwnProduct> own_;  ///< without cuBLAS
  RoundFinisher finisher_;
};

}  // namespace

std::unique_ptr<ManyTargets> make_many_targets(Storage storage, Multiplier multiplier) {
  // cuBLAS would need a kernel in fewer bits widened first; our own products read it as it is.
  const bool ask_cublas = multiplier != Multiplier::own && storage == Storage::float64;
  auto cublas = ask_cublas ? make_cublas() : nullptr;
  if (!cublas && multiplier == Multiplier::cublas) return nullptr;
  return std::make_unique<Products>(std::move(cublas));
}

double many_targets_bytes(Storage storage, std::size_t rows, std::size_t columns, std::size_t targets) {
  const double own = own_product_bytes(storage, rows, columns, targets);
  return storage == Storage::float64 ? std::max(own, static_cast<double>(kCublasWorkspaceBytes)) : own;
}

}  // namespace fedsinkhorn::cuda
