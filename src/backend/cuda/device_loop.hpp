// Rounds of Sinkhorn on the device, plain or accelerated; the host only checks every so many rounds.
#pragma once

#include <memory>

#include "backend/cuda/anderson.hpp"
#include "backend/cuda/operator.hpp"
#include "backend/cuda/repeated_graph.hpp"
#include "device/runtime.hpp"
#include "kernel/lone_rounds.hpp"

namespace fedsinkhorn::cuda {

/// The device's criteria after every round, and what it reports to the host.
struct LoopControl {
  int limit = 0;         ///< maximum rounds
  double tolerance = 0;  ///< for errors as in RoundStatus; 0: no error is small enough
  double safe_scaling = 1e100;
  double goal_gain = -1;
  int made = 0;  ///< rounds so far
  bool wants_host = false;
  bool unusable = false;  ///< a plain round gave zero, infinity or NaN
};

class DeviceLoop {
 public:
  /// Both must outlive it.
  DeviceLoop(Operator& kernel, const Stream& stream) : kernel_(kernel), stream_(stream) {}

  /// Returns how many rounds were made. On return u and v are those of the last one that counts.
  [[nodiscard]] std::int64_t run(const LoneRounds& rounds);

  /// Call if more than the kernel's potentials has changed: rounds are recorded again.
  void forget() { graph_.clear(); }

  [[nodiscard]] static double bytes(std::size_t targets, std::size_t rows, std::size_t columns, std::size_t memory);

 private:
  void make_room(const LoneRounds& rounds);
  void load(const LoneRounds& rounds);
  void store(const LoneRounds& rounds);
  void upload(const double* from, std::size_t count, double* to);
  [[nodiscard]] PlainRounds plain_rounds(int count) const;
  void queue_round(cudaGraphConditionalHandle handle);
  LoopControl make_batch(const LoopControl& control);
  LoopControl make_batch_at_once(const LoopControl& control);
  LoopControl make_batch_by_graph(const LoopControl& control);

  Operator& kernel_;
  const Stream& stream_;
  std::size_t targets_ = 0;
  std::size_t memory_ = 0;  // differences; 0: plain
  Norm norm_ = Norm::l1;
  DeviceBuffer<double> a_, b_, u_, v_, x_, q_, r_;
  DeviceBuffer<double> u_next_;               // accelerated: from a round that may be rejected
  DeviceBuffer<double> u_before_, v_before_;  // plain: before a batch
  DeviceBuffer<RoundStatus> status_;
  DeviceBuffer<int> made_;
  DeviceBuffer<LoopControl> control_;
  DeviceBuffer<SeenRound> seen_;
  PinnedBuffer<double> staging_;
  PinnedBuffer<LoopControl> host_control_;
  PinnedBuffer<SeenRound> host_seen_;
  PinnedBuffer<RoundStatus> host_status_;
  PinnedBuffer<int> host_made_;
  std::unique_ptr<AndersonOnDevice> anderson_;
  RepeatedGraph graph_;
  bool has_decided_ = false;  // on the last round of a batch of many
  int batch_ = 1;             // rounds expected, from the last ones, to take no longer than the host may wait
};

}  // namespace fedsinkhorn::cuda
