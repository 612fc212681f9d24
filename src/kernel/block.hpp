// Everything a client does with one block of costs, independent of the backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cost/cost_block.hpp"
#include "kernel/kernel.hpp"
#include "kernel/lone_rounds.hpp"
#include "kernel/plan_sums.hpp"

namespace fedsinkhorn {

namespace cpu {
struct Simd;
}  // namespace cpu

/// The Gibbs kernel of a block, and sums computed directly from its costs in float64 (see backend/cpu/log_sums.hpp).
/// All vectors are in host memory.
class Block : public Kernel {
 public:
  /// Applies to the kernel from the next absorb on, and to the sums below at once.
  void set_epsilon(double epsilon) override = 0;

  /// Whether an opened kernel stays valid once phi is found. If not, absorb() must follow.
  [[nodiscard]] virtual bool keeps_opened() const { return true; }

  virtual void row_log_sums(std::span<const double> psi, std::span<double> sums) = 0;
  virtual void column_log_sums(std::span<const double> phi, std::span<const double> log_weights,
                               std::span<double> sums) = 0;
  [[nodiscard]] virtual std::vector<PlanSums> plan_sums(std::span<const double> phi, std::span<const double> psi,
                                                        std::size_t targets, const double* u, const double* v) = 0;

  /// Makes rounds by itself, if this block is the whole problem. Returns how many: 0 if verb by verb is as fast.
  [[nodiscard]] virtual std::int64_t run_alone(const LoneRounds& /*rounds*/) { return 0; }
};

struct BlockSettings;
using MakeBlock = std::unique_ptr<Block>(const CostBlock& block, const BlockSettings& settings);

/// How blocks are stored and computed with; the table must outlive all of them.
struct BlockSettings {
  KernelSpec kernel;
  const cpu::Simd& simd;
  MakeBlock* make_block;        ///< the kernel on the backend
  MakeBlock* make_empty_block;  ///< on the host: an empty block needs no backend
  int device = -1;              ///< device number, if the backend has devices
  std::size_t targets = 1;      ///< maximum at once
};

/// A backend by name. Its blocks are made by the kernels that it has (kernel_entry.hpp).
struct BackendEntry {
  std::string_view name;
  std::string_view missing;  ///< empty if it is in this build, else the reason why not
};
}  // namespace fedsinkhorn
