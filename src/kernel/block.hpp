// Everything a client does with one block of costs, whatever does the arithmetic.
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

/// The Gibbs kernel of a block, and sums straight from its costs in float64 (see backend/cpu/log_sums.hpp). All vectors
/// are host memory.
class Block : public Kernel {
 public:
  /// Of the kernel from the next absorb on, and of the sums below at once.
  void set_epsilon(double epsilon) override = 0;

  /// Whether a kernel that was opened may be used any further once phi is found: if not, absorb() follows.
  [[nodiscard]] virtual bool keeps_opened() const { return true; }

  virtual void row_log_sums(std::span<const double> psi, std::span<double> sums) = 0;
  virtual void column_log_sums(std::span<const double> phi, std::span<const double> log_weights,
                               std::span<double> sums) = 0;
  [[nodiscard]] virtual std::vector<PlanSums> plan_sums(std::span<const double> phi, std::span<const double> psi,
                                                        std::size_t targets, const double* u, const double* v) = 0;

  /// Rounds that this block makes by itself, being all there is of the problem; how many were made. None if it has no
  /// better way than verb by verb.
  [[nodiscard]] virtual std::int64_t run_alone(const LoneRounds& /*rounds*/) { return 0; }
};

struct BlockSettings;
using MakeBlock = std::unique_ptr<Block>(const CostBlock& block, const BlockSettings& settings);

/// How blocks are to be held and computed with; the table outlives all of them.
struct BlockSettings {
  KernelSpec kernel;
  const cpu::Simd& simd;
  MakeBlock* make_block;        ///< the kernel on the backend
  MakeBlock* make_empty_block;  ///< on the host: with nothing in it a block is no work for any other
  int device = -1;              ///< the number of the device, where the backend has such
  std::size_t targets = 1;      ///< at once, at most
};

/// What computes, by name. Its blocks are made by the kernels that it has (kernel_entry.hpp).
struct BackendEntry {
  std::string_view name;
  std::string_view missing;  ///< empty when it is in this build, else says why it is not
};
}  // namespace fedsinkhorn
