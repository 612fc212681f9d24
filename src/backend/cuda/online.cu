#include "backend/cuda/online.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "backend/cuda/finish_rounds.hpp"
#include "backend/cuda/online_direct.cuh"
#include "backend/cuda/online_tensor.cuh"
#include "backend/cuda/online_vectors.cuh"
#include "device/runtime.hpp"
#include "device/transfer.hpp"

namespace fedsinkhorn::cuda {
namespace {

using namespace online;

/// How sums are formed. direct: ordinary arithmetic in float64 or float32. tensor: tensor cores multiply coordinates.
enum class Way { direct64, direct32, tensor };

Way way_for(OnlineAccuracy accuracy, Metric metric, std::size_t dimension) {
  if (accuracy == OnlineAccuracy::float64) return Way::direct64;
  // Roots need accurate squared distances of close points, which only differences give. With more than a few
  // coordinates, close points are rare and can be recomputed one by one.
  if (metric == Metric::euclidean && dimension <= kDirectDimensions) return Way::direct32;
  return Way::tensor;
}

std::size_t targets_at_once(Way way) { return way == Way::tensor ? kTensorTargets : kDirectTargets; }

/// Number of targets of the kernel instance that serves that many.
std::size_t kernel_targets(Way way, std::size_t targets) { return targets == 1 ? 1 : targets_at_once(way); }

/// One side's points, with the absorbed potentials.
class Cloud {
 public:
  Cloud(const std::vector<double>& points, std::size_t dimension)
      : count_(points.size() / dimension),
        points_(on_device(points)),
        norms_(zeros_on_device<double>(padded(count_))),
        shift_(padded(count_)),
        rounded_shift_(padded(count_)),
        rest_(padded(count_)) {
    for (const double x : points) largest_ = std::max(largest_, std::abs(x));
  }

  [[nodiscard]] static double bytes(std::size_t count, std::size_t dimension) {
    return 8.0 * static_cast<double>(count * dimension) + (8.0 + 8.0 + 4.0 + 8.0) * static_cast<double>(padded(count));
  }
  [[nodiscard]] static double fragment_bytes(std::size_t count, const TensorPlan& plan) {
    return 32.0 * static_cast<double>(padded(count) * plan.slices) * (plan.deep ? 1 : 2);
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] double largest_coordinate() const { return largest_; }
  [[nodiscard]] const double* points() const { return points_.data(); }
  [[nodiscard]] const double* norms() const { return norms_.data(); }
  [[nodiscard]] const double* shift() const { return shift_.data(); }
  [[nodiscard]] const float* rounded_shift() const { return rounded_shift_.data(); }
  [[nodiscard]] const double* rest() const { return rest_.data(); }
  [[nodiscard]] const uint4* left() const { return reinterpret_cast<const uint4*>(left_.data()); }
  [[nodiscard]] const uint4* right() const {
    return reinterpret_cast<const uint4*>(right_.size() > 0 ? right_.data() : left_.data());
  }

  /// Shifts are only the potentials; the kernel computes the whole cost.
  void absorb_direct(std::size_t dimension, const double* potential, double scale, cudaStream_t stream) {
    squared_norms(points_.data(), count_, dimension, norms_.data(), stream);
    make_shifts(count_, potential, scale, 0, nullptr, 0, shift_.data(), rounded_shift_.data(), rest_.data(), stream);
  }

  /// The parts of the cost that depend on one point go into its shift. root: the factor of the coordinates.
  void absorb_tensor(const TensorPlan& plan, Metric metric, std::size_t dimension, const double* potential,
                     double scale, double root, cudaStream_t stream) {
    const std::size_t numbers = padded(count_) * plan.slices * 16;
    left_.reserve(numbers);
    if (!plan.deep) right_.reserve(numbers);
    if (metric != Metric::cosine) {
      rounded_norms(plan.form, points_.data(), count_, dimension, root, norms_.data(), stream);
    }
    // |x - y|^2 = |x|^2 - 2 x.y + |y|^2, and 1 - x.y = 1/2 - x.y + 1/2.
    const double offset = metric == Metric::cosine ? scale / 2 : 0;
    const double* norms = metric == Metric::sqeuclidean ? norms_.data() : nullptr;
    make_shifts(count_, potential, scale, offset, norms, 0.5, shift_.data(), rounded_shift_.data(), rest_.data(),
                stream);
    pack_points(plan.form, points_.data(), count_, dimension, root, plan.slices, rounded_shift_.data(), left_.data(),
                right_.data(), stream);
  }

 private:
  std::size_t count_;
  double largest_ = 0;
  DeviceBuffer<double> points_;
  DeviceBuffer<double> norms_;
  DeviceBuffer<double> shift_;
  DeviceBuffer<float> rounded_shift_;
  DeviceBuffer<double> rest_;
  DeviceBuffer<__half> left_;
  DeviceBuffer<__half> right_;
};

/// The factor of the coordinates for the tensor cores: their products are then the exponent's part 2 scale x.y of |x -
/// y|^2, its part scale x.y of 1 - x.y, or the square of scale |x - y|.
double root_for(Metric metric, double scale) {
  switch (metric) {
    case Metric::sqeuclidean: return std::sqrt(2 * scale);
    case Metric::cosine: return std::sqrt(scale);
    case Metric::euclidean: break;
  }
  return scale;
}

std::size_t partial_slots(const TensorPlan& plan, std::size_t columns) {
  return splits_for(columns).count * plan.slots_a_split;
}

class Online final : public Operator {
 public:
  Online(const Points& points, OnlineAccuracy accuracy)
      : dimension_(points.dimension),
        metric_(points.metric),
        unit_(points.unit),
        wanted_(way_for(accuracy, points.metric, points.dimension)),
        plan_(tensor_plan(accuracy == OnlineAccuracy::float32, points.metric, points.dimension)),
        x_(points.x, points.dimension),
        y_(points.y, points.dimension) {}

  [[nodiscard]] std::size_t rows() const override { return x_.count(); }
  [[nodiscard]] std::size_t columns() const override { return y_.count(); }

  void absorb(const double* phi, const double* psi, double epsilon, cudaStream_t stream) override {
    scale_ = std::numbers::log2e / epsilon;
    const double root = root_for(metric_, scale_ * unit_);
    // If epsilon is so small that coordinates do not fit a float16, float32 has no digits left for the exponents.
    const bool fits = root * std::max(x_.largest_coordinate(), y_.largest_coordinate()) <= kLargestCoordinate;
    way_ = fits ? wanted_ : Way::direct64;
    if (way_ == Way::tensor) {
      x_.absorb_tensor(plan_, metric_, dimension_, phi, scale_, root, stream);
      y_.absorb_tensor(plan_, metric_, dimension_, psi, scale_, root, stream);
    } else {
      x_.absorb_direct(dimension_, phi, scale_, stream);
      y_.absorb_direct(dimension_, psi, scale_, stream);
    }
  }

  void apply(std::size_t targets, const double* v, double* q, cudaStream_t stream) override {
    sums(x_, y_, targets, v, q, stream);
  }
  void apply_transposed(std::size_t targets, const double* u, double* r, cudaStream_t stream) override {
    sums(y_, x_, targets, u, r, stream);
  }
  void fused(std::size_t targets, const double* a, const double* v, double* q, double* u, double* r,
             cudaStream_t stream) override {
    apply(targets, v, q, stream);
    divide(rows(), targets, a, q, u, stream);
    apply_transposed(targets, u, r, stream);
  }
  void rounds(const PlainRounds& rounds, cudaStream_t stream) override {
    finisher_.make_rounds(
        rounds, rows(), columns(), [&](const double* x) { apply(rounds.targets, x, rounds.q, stream); },
        [&] { apply_transposed(rounds.targets, rounds.u, rounds.r, stream); }, stream);
  }

 private:
  /// out_i^k = sum_j K_ij values_j^k for points i of `of` and j of `over`.
  void sums(const Cloud& of, const Cloud& over, std::size_t targets, const double* values, double* out,
            cudaStream_t stream) {
    const std::size_t step = kernel_targets(way_, targets);
    for (std::size_t first = 0; first < targets; first += step) {
      const std::size_t count = std::min(step, targets - first);
      const double* in = values + first * over.count();
      double* to = out + first * of.count();
      if (way_ == Way::direct64) {
        sum_some(of, over, count, step, in, weights64_, nullptr, of.shift(), over.shift(), to, stream);
      } else {
        sum_some(of, over, count, step, in, weights32_, of.rest(), of.rounded_shift(), over.rounded_shift(), to,
                 stream);
      }
    }
  }

  /// For the targets of one launch. row_rest: the rounding factors of the rows' shifts; null in float64.
  template <class Real>
  void sum_some(const Cloud& of, const Cloud& over, std::size_t targets, std::size_t kernel, const double* values,
                DeviceBuffer<Real>& weights, const double* row_rest, const Real* row_shift, const Real* column_shift,
                double* out, cudaStream_t stream) {
    const Splits splits = splits_for(over.count());
    const std::size_t slots = way_ == Way::tensor ? partial_slots(plan_, over.count()) : splits.count;
    weights.reserve(kernel * padded(std::max(of.count(), over.count())));
    partial_.reserve(std::max(slots * padded(of.count()), other_slots(of) * padded(over.count())) * kernel);
    make_weights(over.count(), targets, kernel, values, row_rest != nullptr ? over.rest() : nullptr, weights.data(),
                 stream);
    Job<Real> job{};
    job.rows = of.count();
    job.columns = over.count();
    job.dimension = dimension_;
    job.metric = metric_;
    job.scale = scale_ * unit_;
    job.x = of.points();
    job.y = over.points();
    job.row_shift = row_shift;
    job.column_shift = column_shift;
    job.weights = weights.data();
    job.row_norms = of.norms();
    job.column_norms = over.norms();
    job.left = of.left();
    job.right = over.right();
    job.slices = plan_.slices;
    job.split_columns = splits.columns;
    job.partial = partial_.data();
    if constexpr (sizeof(Real) == sizeof(float)) {
      if (way_ == Way::tensor) {
        tensor_sums(plan_, job, kernel, splits.count, stream);
      } else {
        direct_sums(job, kernel, splits.count, stream);
      }
    } else {
      direct_sums(job, kernel, splits.count, stream);
    }
    join_partial(of.count(), targets, kernel, slots, job.partial, row_rest, out, stream);
  }

  /// Slots that the transposed product needs, so that memory is allocated the first time.
  [[nodiscard]] std::size_t other_slots(const Cloud& of) const { return partial_slots(plan_, of.count()); }

  std::size_t dimension_;
  Metric metric_;
  double unit_;
  Way wanted_;
  TensorPlan plan_;
  Cloud x_;
  Cloud y_;
  Way way_ = Way::direct64;  ///< since the last absorption
  double scale_ = 0;         ///< log2 e / epsilon
  DeviceBuffer<double> weights64_;
  DeviceBuffer<float> weights32_;
  DeviceBuffer<double> partial_;
  RoundFinisher finisher_;
};

}  // namespace

std::unique_ptr<Operator> make_online(const Points& points, OnlineAccuracy accuracy) {
  return std::make_unique<Online>(points, accuracy);
}

double online_bytes(std::size_t rows, std::size_t columns, std::size_t dimension, std::size_t targets,
                    OnlineAccuracy accuracy) {
  // The metric is not known here: use the largest requirement of any.
  const TensorPlan plan = tensor_plan(accuracy == OnlineAccuracy::float32, Metric::euclidean, dimension);
  const bool tensor = accuracy != OnlineAccuracy::float64;
  const Way way = tensor ? Way::tensor : Way::direct64;
  const std::size_t kernel = kernel_targets(way, targets);
  const std::size_t slots_a_split = tensor ? plan.slots_a_split : 1;
  const std::size_t partial = std::max(splits_for(columns).count * slots_a_split * padded(rows),
                                       splits_for(rows).count * slots_a_split * padded(columns));
  double bytes = Cloud::bytes(rows, dimension) + Cloud::bytes(columns, dimension);
  if (tensor) bytes += Cloud::fragment_bytes(rows, plan) + Cloud::fragment_bytes(columns, plan);
  bytes += static_cast<double>(kernel) * 8.0 * static_cast<double>(partial + padded(std::max(rows, columns)));
  return bytes;
}

}  // namespace fedsinkhorn::cuda
