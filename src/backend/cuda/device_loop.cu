#include "backend/cuda/device_loop.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace fedsinkhorn::cuda {
namespace {

/// Maximum rounds between checks by the host; fewer if rounds are slow, so that a stop request is noticed.
constexpr int kBatch = 64;
constexpr double kBatchSeconds = 0.3;
constexpr double kGrowth = 8;
constexpr int kThreads = 128;

/// The larger one; NaN is larger than any number.
__host__ __device__ double worse(double x, double y) { return x >= y || x != x ? x : y; }

/// All targets of a round combined.
struct Together {
  SeenRound seen;
  int converged = 0;
  bool stretched = false;
  bool unusable = false;

  __host__ __device__ void add(const RoundStatus& status, const LoopControl& control, bool counts) {
    seen.error_a = worse(seen.error_a, status.error_a);
    seen.error_b = worse(seen.error_b, status.error_b);
    if (!counts) return;
    if (control.tolerance > 0 && status.error_b <= control.tolerance) ++converged;
    const bool is_safe = status.least >= 1 / control.safe_scaling && status.greatest <= control.safe_scaling;
    stretched = stretched || !is_safe;
  }
  __host__ __device__ void add_plain(const RoundStatus& status, const LoopControl& control) {
    add(status, control, true);
    const double infinity = HUGE_VAL;
    unusable = unusable || !(status.least > 0 && status.greatest < infinity);
  }
  __device__ void add(const AndersonRound& round, const LoopControl& control) {
    add(round.status, control, round.accepted);
    unusable = unusable || round.unusable;
    seen.gain = worse(seen.gain, round.gain);
    seen.rejected += round.rejected;
    seen.history = max(seen.history, static_cast<std::size_t>(round.history));
  }
  __device__ void add(const Together& other) {
    seen.error_a = worse(seen.error_a, other.seen.error_a);
    seen.error_b = worse(seen.error_b, other.seen.error_b);
    seen.gain = worse(seen.gain, other.seen.gain);
    seen.rejected += other.seen.rejected;
    seen.history = max(seen.history, other.seen.history);
    converged += other.converged;
    stretched = stretched || other.stretched;
    unusable = unusable || other.unusable;
  }
  /// Whether the host should check.
  [[nodiscard]] __host__ __device__ bool wants_host(int targets, const LoopControl& control) const {
    const bool half_done = converged > 0 && 2 * converged >= targets;
    return unusable || stretched || half_done || seen.gain <= control.goal_gain;
  }
};

/// After a round: records it and decides whether to continue. One block.
__global__ void __launch_bounds__(kThreads)
    end_round(cudaGraphConditionalHandle handle, int targets, const RoundStatus* plain,
              const AndersonRound* accelerated, LoopControl* control, SeenRound* seen) {
  __shared__ Together of_threads[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  Together own;
  for (int k = t; k < targets; k += kThreads) {
    if (accelerated != nullptr) {
      own.add(accelerated[k], *control);
    } else {
      own.add_plain(plain[k], *control);
    }
  }
  of_threads[t] = own;
  __syncthreads();
  if (t != 0) return;
  for (int k = 1; k < min(targets, kThreads); ++k) own.add(of_threads[k]);
  if (accelerated == nullptr) own.seen.gain = HUGE_VAL;
  seen[control->made++] = own.seen;
  control->unusable = own.unusable;
  control->wants_host = own.wants_host(targets, *control);
  const bool goes_on = !control->wants_host && control->made < control->limit;
  if (handle != 0) cudaGraphSetConditional(handle, goes_on ? 1 : 0);
}

void copy_on_device(const DeviceBuffer<double>& from, DeviceBuffer<double>& to, std::size_t count,
                    cudaStream_t stream) {
  check(cudaMemcpyAsync(to.data(), from.data(), count * sizeof(double), cudaMemcpyDeviceToDevice, stream),
        "copying on the device");
}

template <class T>
void download(const T* from, std::size_t count, T* to, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream), "copying from the device");
}

}  // namespace

double DeviceLoop::bytes(std::size_t targets, std::size_t rows, std::size_t columns, std::size_t memory) {
  const auto count = static_cast<double>(targets);
  const double vectors =
      sizeof(double) * (static_cast<double>(rows) * (3 * count + 1) + static_cast<double>(columns) * (5 * count));
  const double status = kBatch * (count * sizeof(RoundStatus) + sizeof(SeenRound));
  return vectors + status + (memory > 0 ? AndersonOnDevice::bytes(targets, rows, columns, memory) : 0);
}

// Memory stays in place until the number of targets or the method changes: the graph contains the addresses.
void DeviceLoop::make_room(const LoneRounds& rounds) {
  const std::size_t n = kernel_.rows();
  const std::size_t m = kernel_.columns();
  if (rounds.targets == targets_ && rounds.acceleration.memory == memory_ && rounds.norm == norm_) return;
  graph_.clear();
  anderson_.reset();
  targets_ = rounds.targets;
  memory_ = rounds.acceleration.memory;
  norm_ = rounds.norm;
  a_.reserve(n);
  for (auto* rows : {&u_, &q_}) rows->reserve(targets_ * n);
  for (auto* columns : {&b_, &v_, &x_, &r_}) columns->reserve(targets_ * m);
  staging_.reserve(targets_ * std::max(n, m));
  status_.reserve(targets_ * kBatch);
  seen_.reserve(kBatch);
  control_.reserve(1);
  made_.reserve(1);
  host_control_.reserve(1);
  host_made_.reserve(1);
  host_seen_.reserve(kBatch);
  host_status_.reserve(targets_ * kBatch);
  if (memory_ > 0) {
    u_next_.reserve(targets_ * n);
    anderson_ = std::make_unique<AndersonOnDevice>(targets_, n, m, memory_);
  } else {
    u_before_.reserve(targets_ * n);
    v_before_.reserve(targets_ * m);
  }
}

void DeviceLoop::upload(const double* from, std::size_t count, double* to) {
  if (count == 0) return;
  stream_.wait();  // the staging memory is free again
  std::copy_n(from, count, staging_.data());
  check(cudaMemcpyAsync(to, staging_.data(), count * sizeof(double), cudaMemcpyHostToDevice, stream_.get()),
        "copying to the device");
}

void DeviceLoop::load(const LoneRounds& rounds) {
  const std::size_t n = kernel_.rows();
  const std::size_t m = kernel_.columns();
  has_decided_ = false;
  upload(rounds.a.data(), n, a_.data());
  upload(rounds.u, targets_ * n, u_.data());
  upload(rounds.v, targets_ * m, v_.data());
  for (std::size_t k = 0; k < targets_; ++k) upload(rounds.b[k], m, b_.data() + k * m);
  if (!anderson_) return;
  copy_on_device(v_, x_, targets_ * m, stream_.get());
  anderson_->restart(rounds.acceleration, stream_.get());
}

void DeviceLoop::store(const LoneRounds& rounds) {
  const std::size_t n = kernel_.rows();
  const std::size_t m = kernel_.columns();
  download(u_.data(), targets_ * n, staging_.data(), stream_.get());
  stream_.wait();
  std::copy_n(staging_.data(), targets_ * n, rounds.u);
  download(v_.data(), targets_ * m, staging_.data(), stream_.get());
  stream_.wait();
  std::copy_n(staging_.data(), targets_ * m, rounds.v);
}

PlainRounds DeviceLoop::plain_rounds(int count) const {
  PlainRounds plain;
  plain.targets = targets_;
  plain.a = a_.data();
  plain.b = b_.data();
  plain.x = v_.data();
  plain.u = u_.data();
  plain.v = v_.data();
  plain.q = q_.data();
  plain.r = r_.data();
  plain.norm = norm_;
  plain.count = count;
  plain.status = status_.data();
  plain.made = made_.data();
  return plain;
}

// q = K x, u = a / q, r = K' u, and what follows from them.
void DeviceLoop::queue_round(cudaGraphConditionalHandle handle) {
  const cudaStream_t stream = stream_.get();
  if (anderson_) {
    kernel_.fused(targets_, a_.data(), x_.data(), q_.data(), u_next_.data(), r_.data(), stream);
    anderson_->step({a_.data(), b_.data(), u_.data(), v_.data(), x_.data(), q_.data(), u_next_.data(), r_.data()},
                    norm_, stream);
  } else {
    kernel_.rounds(plain_rounds(1), stream);
  }
  end_round<<<1, kThreads, 0, stream>>>(handle, static_cast<int>(targets_), status_.data(),
                                        anderson_ ? anderson_->rounds() : nullptr, control_.data(), seen_.data());
  check(cudaGetLastError(), "ending a round");
}

LoopControl DeviceLoop::make_batch_by_graph(const LoopControl& control) {
  const cudaStream_t stream = stream_.get();
  *host_control_.data() = control;
  check(cudaMemcpyAsync(control_.data(), host_control_.data(), sizeof(LoopControl), cudaMemcpyHostToDevice, stream),
        "copying to the device");
  if (graph_.is_built()) {
    graph_.launch(stream);
  } else {
    // The first round runs outside the graph, so that everything is allocated when the graph is recorded.
    queue_round(cudaGraphConditionalHandle{});
    stream_.wait();
    graph_.build(stream, [this](cudaGraphConditionalHandle handle) { queue_round(handle); });
  }
  download(control_.data(), 1, host_control_.data(), stream);
  download(seen_.data(), static_cast<std::size_t>(control.limit), host_seen_.data(), stream);
  stream_.wait();
  return *host_control_.data();
}

// The device decides on a round while it makes the next one. The deciding round is always followed by one more, so that
// the count does not depend on where batches end.
LoopControl DeviceLoop::make_batch_at_once(const LoopControl& control) {
  const cudaStream_t stream = stream_.get();
  PlainRounds plain = plain_rounds(has_decided_ ? 1 : control.limit);
  plain.tolerance = control.tolerance;
  plain.safe_scaling = control.safe_scaling;
  kernel_.rounds(plain, stream);
  download(made_.data(), 1, host_made_.data(), stream);
  download(status_.data(), targets_ * static_cast<std::size_t>(control.limit), host_status_.data(), stream);
  stream_.wait();
  LoopControl after = control;
  for (after.made = 0; after.made < *host_made_.data(); ++after.made) {
    Together together;
    for (std::size_t k = 0; k < targets_; ++k) {
      together.add_plain(host_status_.data()[static_cast<std::size_t>(after.made) * targets_ + k], control);
    }
    together.seen.gain = HUGE_VAL;
    host_seen_.data()[after.made] = together.seen;
    after.unusable = after.unusable || together.unusable;
    after.wants_host = has_decided_ || after.unusable;
    has_decided_ = has_decided_ || together.wants_host(static_cast<int>(targets_), control);
  }
  return after;
}

LoopControl DeviceLoop::make_batch(const LoopControl& control) {
  if (anderson_) return make_batch_by_graph(control);
  const std::size_t n = targets_ * kernel_.rows();
  const std::size_t m = targets_ * kernel_.columns();
  copy_on_device(u_, u_before_, n, stream_.get());
  copy_on_device(v_, v_before_, m, stream_.get());
  LoopControl after = kernel_.makes_many_rounds(targets_) ? make_batch_at_once(control) : make_batch_by_graph(control);
  if (after.unusable) {  // back to the last usable state
    copy_on_device(u_before_, u_, n, stream_.get());
    copy_on_device(v_before_, v_, m, stream_.get());
    after.made = 0;
  }
  return after;
}

std::int64_t DeviceLoop::run(const LoneRounds& rounds) {
  make_room(rounds);
  load(rounds);
  LoopControl control;
  control.tolerance = norm_ == Norm::l2 ? rounds.tolerance * rounds.tolerance : rounds.tolerance;
  control.safe_scaling = rounds.safe_scaling;
  control.goal_gain = rounds.goal_gain;
  std::int64_t made = 0;
  bool look_wanted = false;
  bool goes_on = true;
  while (goes_on && made < rounds.most) {
    // Checks come at fixed rounds, however long these take: decisions must not depend on the clock.
    const std::int64_t to_look = rounds.look_every - made % rounds.look_every;
    control.limit = static_cast<int>(std::min({std::int64_t{batch_}, to_look, rounds.most - made}));
    const auto start = std::chrono::steady_clock::now();
    const LoopControl after = make_batch(control);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    const double affordable = kBatchSeconds * std::max(after.made, 1) / std::max(taken.count(), 1e-9);
    batch_ = static_cast<int>(std::clamp(std::min(kGrowth * batch_, affordable), 1.0, double{kBatch}));
    // The caller makes an unusable round in another way.
    const int counted = after.unusable && anderson_ ? after.made - 1 : after.made;
    for (int k = 0; k < counted; ++k) {
      SeenRound seen = host_seen_.data()[k];
      if (norm_ == Norm::l2) {
        seen.error_a = std::sqrt(seen.error_a);
        seen.error_b = std::sqrt(seen.error_b);
      }
      look_wanted = rounds.observe(seen) || look_wanted;
    }
    made += counted;
    const bool looks = look_wanted && made % rounds.look_every == 0;
    goes_on = !after.wants_host && !looks && !rounds.interrupted();
  }
  store(rounds);
  return made;
}

}  // namespace fedsinkhorn::cuda
