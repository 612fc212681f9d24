#include "backend/cuda/cuda_block.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "backend/cuda/dense_operator.hpp"
#include "backend/cuda/device_loop.hpp"
#include "backend/cuda/online.hpp"
#include "backend/cuda/upload.hpp"
#include "cost/block_points.hpp"
#include "device/transfer.hpp"

namespace fedsinkhorn::cuda {
namespace {

Storage storage_of(Precision precision) {
  switch (precision) {
    case Precision::float32: return Storage::float32;
    case Precision::mixed: return Storage::mixed;
    case Precision::bfloat16: return Storage::bfloat16;
    case Precision::float64: return Storage::float64;
    case Precision::tf32:
    case Precision::digits50: break;
  }
  throw std::logic_error("a precision that no stored kernel has on a device");
}

OnlineAccuracy accuracy_of(Precision precision) {
  switch (precision) {
    case Precision::float32: return OnlineAccuracy::float32;
    case Precision::tf32: return OnlineAccuracy::tf32;
    case Precision::mixed:
    case Precision::float64: return OnlineAccuracy::float64;
    case Precision::bfloat16:
    case Precision::digits50: break;
  }
  throw std::logic_error("a precision that no kernel from points has on a device");
}

/// The costs stay where they are while the operator is used.
using MakeOperator = std::unique_ptr<Operator>(const CostBlock& block, const DeviceCosts& costs,
                                               const BlockSettings& settings);

std::unique_ptr<Operator> dense_operator(const CostBlock& /*block*/, const DeviceCosts& costs,
                                         const BlockSettings& settings) {
  return make_dense_operator(costs, storage_of(settings.kernel.precision), settings.targets);
}

std::unique_ptr<Operator> online_operator(const CostBlock& block, const DeviceCosts& /*costs*/,
                                          const BlockSettings& settings) {
  BlockPoints points = block_points(block, Centring::distances);
  return make_online({std::move(points.x), std::move(points.y), points.dimension, points.metric, points.unit},
                     accuracy_of(settings.kernel.precision));
}

/// Makes the device current in the calling thread.
class OnDevice {
 public:
  explicit OnDevice(int device) { check(cudaSetDevice(device), "choosing a device"); }
};

/// Rows of K copied to the host at a time.
constexpr std::size_t kRowsAtOnce = 64;

/// Host memory outside, one device inside; every verb waits for its result.
class CudaBlock final : public Block {
 public:
  CudaBlock(const CostBlock& block, const BlockSettings& settings, MakeOperator* make_operator)
      : device_(settings.device),
        chosen_(settings.device),
        targets_(settings.targets),
        epsilon_(settings.kernel.epsilon),
        costs_(upload_costs(block, settings.simd, settings.kernel.threads, stream_)),
        kernel_(make_operator(block, costs_, settings)),
        loop_(*kernel_, stream_),
        phi_(rows()),
        psi_(columns()),
        on_rows_(targets_ * rows()),
        on_columns_(targets_ * columns()),
        more_on_rows_(std::max(targets_, DeviceCosts::kPlanTargets) * rows()),
        a_(rows()),
        scratch_(costs_.scratch_size()),
        staging_(std::max(targets_, DeviceCosts::kPlanTargets) * std::max(rows(), columns())) {}
  ~CudaBlock() override { cudaSetDevice(device_); }

  [[nodiscard]] std::size_t rows() const override { return costs_.rows(); }
  [[nodiscard]] std::size_t columns() const override { return costs_.columns(); }

  void set_epsilon(double epsilon) override { epsilon_ = epsilon; }

  void absorb(std::span<const double> phi, std::span<const double> psi) override {
    const OnDevice current(device_);
    upload(phi.data(), rows(), phi_);
    upload(psi.data(), columns(), psi_);
    if (epsilon_ != absorbed_epsilon_) loop_.forget();
    absorbed_epsilon_ = epsilon_;
    kernel_->absorb(phi_.data(), psi_.data(), epsilon_, stream_.get());
    stream_.wait();
  }

  void apply(std::size_t targets, const double* v, double* q) override {
    const OnDevice current(device_);
    upload(v, targets * columns(), on_columns_);
    kernel_->apply(targets, on_columns_.data(), on_rows_.data(), stream_.get());
    download(on_rows_, targets * rows(), q);
  }

  void apply_transposed(std::size_t targets, const double* u, double* r) override {
    const OnDevice current(device_);
    upload(u, targets * rows(), on_rows_);
    kernel_->apply_transposed(targets, on_rows_.data(), on_columns_.data(), stream_.get());
    download(on_columns_, targets * columns(), r);
  }

  // Kernels construct their own rule: once it has members, it must be passed to them.
  static_assert(std::is_empty_v<ScalingRule>);
  void fused(std::size_t targets, const HalfStep& row_step, const double* v, double* q, double* u, double* r) override {
    const OnDevice current(device_);
    upload(row_step.masses.data(), rows(), a_);
    upload(v, targets * columns(), on_columns_);
    more_on_columns_.reserve(targets * columns());
    kernel_->fused(targets, a_.data(), on_columns_.data(), on_rows_.data(), more_on_rows_.data(),
                   more_on_columns_.data(), stream_.get());
    download(on_rows_, targets * rows(), q);
    download(more_on_rows_, targets * rows(), u);
    download(more_on_columns_, targets * columns(), r);
  }

  // From the costs in float64, whatever K is stored in.
  void copy_rows(std::size_t first, std::size_t count, double* to) override {
    const OnDevice current(device_);
    some_rows_.reserve(std::min(count, kRowsAtOnce) * columns());
    for (std::size_t i = 0; i < count; i += kRowsAtOnce) {
      const std::size_t some = std::min(kRowsAtOnce, count - i);
      costs_.fill_kernel({first + i, first + i + some}, phi_.data(), psi_.data(), absorbed_epsilon_, Storage::float64,
                         some_rows_.data(), columns(), stream_.get());
      stream_.wait();
      copy_to_host(some_rows_.data(), std::span(to + i * columns(), some * columns()));
    }
  }

  std::int64_t run_alone(const LoneRounds& rounds) override {
    const OnDevice current(device_);
    return loop_.run(rounds);
  }

  void row_log_sums(std::span<const double> psi, std::span<double> sums) override {
    const OnDevice current(device_);
    upload(psi.data(), columns(), on_columns_);
    costs_.row_log_sums(on_columns_.data(), epsilon_, scratch_.data(), on_rows_.data(), stream_.get());
    download(on_rows_, rows(), sums.data());
  }

  void column_log_sums(std::span<const double> phi, std::span<const double> log_weights,
                       std::span<double> sums) override {
    const OnDevice current(device_);
    upload(phi.data(), rows(), on_rows_);
    upload(log_weights.data(), rows(), more_on_rows_);
    costs_.column_log_sums(on_rows_.data(), more_on_rows_.data(), epsilon_, scratch_.data(), on_columns_.data(),
                           stream_.get());
    download(on_columns_, columns(), sums.data());
  }

  [[nodiscard]] std::vector<PlanSums> plan_sums(std::span<const double> phi, std::span<const double> psi,
                                                std::size_t targets, const double* u, const double* v) override {
    const OnDevice current(device_);
    // The absorbed potentials stay unchanged; these are different ones.
    DeviceBuffer<double> plan_phi(rows());
    DeviceBuffer<double> plan_psi(columns());
    DeviceBuffer<double> weights(DeviceCosts::kPlanTargets * std::max(rows(), columns()));
    DeviceBuffer<double> sums(DeviceCosts::kPlanTargets * std::max(DeviceCosts::kPlanSums * rows(), columns()));
    upload(phi.data(), rows(), plan_phi);
    upload(psi.data(), columns(), plan_psi);
    std::vector<PlanSums> result(targets);
    for (std::size_t first = 0; first < targets; first += DeviceCosts::kPlanTargets) {
      const std::size_t count = std::min(DeviceCosts::kPlanTargets, targets - first);
      const std::size_t size = count * rows();
      std::vector<double> by_rows(DeviceCosts::kPlanSums * size);
      std::vector<double> by_columns(count * columns());
      upload(v + first * columns(), count * columns(), weights);
      costs_.plan_row_sums(plan_phi.data(), plan_psi.data(), epsilon_, count, weights.data(), scratch_.data(),
                           sums.data(), stream_.get());
      for (std::size_t which = 0; which < DeviceCosts::kPlanSums; ++which) {
        download(sums.data() + which * size, size, by_rows.data() + which * size);
      }
      upload(u + first * rows(), count * rows(), weights);
      costs_.plan_column_sums(plan_phi.data(), plan_psi.data(), epsilon_, count, weights.data(), scratch_.data(),
                              sums.data(), stream_.get());
      download(sums, count * columns(), by_columns.data());
      for (std::size_t k = 0; k < count; ++k) {
        PlanSums& plan = result[first + k];
        plan.rows.resize(rows());
        plan.columns.resize(columns());
        for (std::size_t i = 0; i < rows(); ++i) {
          const double ui = u[(first + k) * rows() + i];
          const double* of_row = by_rows.data() + k * rows() + i;
          plan.rows[i] = ui * of_row[0];
          plan.logarithm.add(ui * of_row[size]);
          plan.cost.add(ui * of_row[2 * size]);
          plan.divergence.add(ui * of_row[3 * size]);
        }
        for (std::size_t j = 0; j < columns(); ++j) {
          plan.columns[j] = v[(first + k) * columns() + j] * by_columns[k * columns() + j];
        }
      }
    }
    return result;
  }

 private:
  void upload(const double* from, std::size_t count, DeviceBuffer<double>& to) {
    if (count == 0) return;
    stream_.wait();  // the staging memory is free again
    std::copy_n(from, count, staging_.data());
    check(cudaMemcpyAsync(to.data(), staging_.data(), count * sizeof(double), cudaMemcpyHostToDevice, stream_.get()),
          "copying to the device");
  }
  void download(const DeviceBuffer<double>& from, std::size_t count, double* to) { download(from.data(), count, to); }
  void download(const double* from, std::size_t count, double* to) {
    if (count == 0) return;
    check(cudaMemcpyAsync(staging_.data(), from, count * sizeof(double), cudaMemcpyDeviceToHost, stream_.get()),
          "copying from the device");
    stream_.wait();
    std::copy_n(staging_.data(), count, to);
  }

  int device_;
  OnDevice chosen_;
  std::size_t targets_;
  double epsilon_;
  double absorbed_epsilon_ = 0;
  Stream stream_;
  DeviceCosts costs_;
  std::unique_ptr<Operator> kernel_;
  DeviceLoop loop_;
  DeviceBuffer<double> phi_, psi_;
  DeviceBuffer<double> on_rows_, on_columns_;  // targets x rows, targets x columns
  DeviceBuffer<double> more_on_rows_, more_on_columns_;
  DeviceBuffer<double> some_rows_;  // of K, on their way to the host
  DeviceBuffer<double> a_;
  DeviceBuffer<double> scratch_;
  PinnedBuffer<double> staging_;
};

/// kernel: what it takes of that.
double block_bytes(const BlockShape& shape, double kernel) {
  const auto lines = static_cast<double>(shape.rows) + static_cast<double>(shape.columns);
  const auto targets = static_cast<double>(std::max(shape.targets, DeviceCosts::kPlanTargets));
  const double vectors = sizeof(double) * ((4 * targets + 4) * lines + DeviceCosts::kPlanSums * targets * lines);
  const double scratch = sizeof(double) * static_cast<double>(DeviceCosts::scratch_size(shape.rows, shape.columns));
  const double some_rows = sizeof(double) * static_cast<double>(kRowsAtOnce) * static_cast<double>(shape.columns);
  return uploaded_bytes(shape.rows, shape.columns, shape.dimension, shape.entry_bytes) + kernel + vectors + scratch +
         some_rows + DeviceLoop::bytes(shape.targets, shape.rows, shape.columns, shape.differences);
}

}  // namespace

std::unique_ptr<Block> make_dense_block(const CostBlock& block, const BlockSettings& settings) {
  return std::make_unique<CudaBlock>(block, settings, dense_operator);
}
double dense_block_bytes(const KernelSpec& spec, const BlockShape& shape) {
  return block_bytes(shape, dense_operator_bytes(storage_of(spec.precision), shape.rows, shape.columns, shape.targets));
}

std::unique_ptr<Block> make_online_block(const CostBlock& block, const BlockSettings& settings) {
  return std::make_unique<CudaBlock>(block, settings, online_operator);
}
double online_block_bytes(const KernelSpec& spec, const BlockShape& shape) {
  return block_bytes(
      shape, online_bytes(shape.rows, shape.columns, shape.dimension, shape.targets, accuracy_of(spec.precision)));
}

}  // namespace fedsinkhorn::cuda
