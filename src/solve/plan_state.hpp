// What a plan is computed from, and one target of it ready to be computed block by block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "backend/cpu/gibbs_rows.hpp"
#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "core/range.hpp"
#include "cost/cost_input.hpp"
#include "fedsinkhorn/solve.hpp"

namespace fedsinkhorn {

struct Plan::State {
  const Result& result;
  double epsilon;
  CostBlock with_mass;  ///< rows and columns that have a potential in some target, as they had in the solve
  const cpu::Simd& simd;
  std::unique_ptr<CostSource> cost;
  int threads;

  /// Rows that the result has.
  [[nodiscard]] std::size_t rows_here() const { return result.f.size() / result.targets; }
};

/// P_ij = 2^exponent u_i K_ij v_j, over the lines with mass.
class PlanTarget {
 public:
  PlanTarget(const Plan::State& state, std::size_t target);

  [[nodiscard]] const std::vector<double>& u() const { return u_; }
  [[nodiscard]] const std::vector<double>& v() const { return v_; }  ///< padded with 0
  [[nodiscard]] int exponent() const { return exponent_; }
  [[nodiscard]] std::size_t stride() const { return blocks_.stride(); }

  /// Calls body(line, count, kernel, thread) for blocks of up to cpu::kRowBlock of these lines, on several threads.
  /// kernel: count rows of K, stride() apart.
  template <class Body>
  void for_blocks(Range lines, const Body& body) const {
    const std::size_t chunks = (lines.size() + cpu::kRowBlock - 1) / cpu::kRowBlock;
    std::vector<Scratch> scratch(static_cast<std::size_t>(state_.threads));
    parallel_chunks(state_.threads, chunks, [&](std::size_t chunk, std::size_t thread) {
      const std::size_t line = lines.first + chunk * cpu::kRowBlock;
      const std::size_t count = std::min(cpu::kRowBlock, lines.last - line);
      body(line, count, fill(line, count, scratch[thread]), thread);
      state_.cost->rows_done(line, count);
    });
  }

  /// Room for one block, made when it is first used.
  struct Scratch {
    Buffer<double> costs;
    Buffer<double> kernel;
  };
  [[nodiscard]] double* fill(std::size_t line, std::size_t count, Scratch& scratch) const;

 private:
  const Plan::State& state_;
  int exponent_;
  std::vector<double> u_;
  std::vector<double> v_;
  GibbsBlocks<double> blocks_;
};

/// What an entry of the plan counts in a product.
enum class EntryWeight {
  one,
  inverse_cost  ///< 1 / C_ij, 0 where the cost is 0
};

// Plan::apply and Plan::apply_transposed with weights. Shapes must be right.
void multiply(const Plan::State& state, std::size_t target, EntryWeight weight, MatrixView<double> values,
              std::span<double> out);
void multiply_transposed(const Plan::State& state, std::size_t target, EntryWeight weight, MatrixView<double> values,
                         std::span<double> out);

}  // namespace fedsinkhorn
