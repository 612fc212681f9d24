// A block held by one client, and the time spent on it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/stopwatch.hpp"
#include "kernel/block.hpp"

namespace fedsinkhorn {

/// Every verb adds its time to `compute`.
class HeldBlock {
 public:
  HeldBlock(const CostBlock& block, const BlockSettings& settings, Stopwatch& compute)
      : compute_(compute), block_((block.empty() ? settings.make_empty_block : settings.make_block)(block, settings)) {}

  [[nodiscard]] std::size_t rows() const { return block_->rows(); }
  [[nodiscard]] std::size_t columns() const { return block_->columns(); }

  void set_epsilon(double epsilon) { block_->set_epsilon(epsilon); }
  void absorb(std::span<const double> phi, std::span<const double> psi) {
    const Stopwatch::Scope timed(compute_, entries());
    block_->absorb(phi, psi);
  }
  [[nodiscard]] bool can_open() const { return block_->can_open(); }
  [[nodiscard]] bool keeps_opened() const { return block_->keeps_opened(); }
  void open(std::span<const double> psi, double grid) { block_->open(psi, grid); }
  [[nodiscard]] std::span<const double> opened() const { return block_->opened(); }
  [[nodiscard]] std::string pass_plan() const { return block_->pass_plan(); }
  void apply(std::size_t targets, const double* v, double* q) {
    const Stopwatch::Scope timed(compute_, entries(targets));
    block_->apply(targets, v, q);
  }
  void apply_transposed(std::size_t targets, const double* u, double* r) {
    const Stopwatch::Scope timed(compute_, entries(targets));
    block_->apply_transposed(targets, u, r);
  }
  void fused(std::size_t targets, const HalfStep& rows, const double* v, double* q, double* u, double* r) {
    const Stopwatch::Scope timed(compute_, entries(targets));
    block_->fused(targets, rows, v, q, u, r);
  }
  void products(std::size_t targets, const double* u, const double* v, double* q, double* r) {
    const Stopwatch::Scope timed(compute_, entries(targets));
    block_->products(targets, u, v, q, r);
  }
  void weighted(const double* w, const double* y, double* r) {
    const Stopwatch::Scope timed(compute_, entries());
    block_->weighted(w, y, r);
  }
  void copy_rows(std::size_t first, std::size_t count, double* to) {
    const Stopwatch::Scope timed(compute_);
    block_->copy_rows(first, count, to);
  }
  [[nodiscard]] std::int64_t run_alone(const LoneRounds& rounds) {
    const Stopwatch::Scope timed(compute_);
    return block_->run_alone(rounds);
  }
  void row_log_sums(std::span<const double> psi, std::span<double> sums) {
    const Stopwatch::Scope timed(compute_, entries());
    block_->row_log_sums(psi, sums);
  }
  void column_log_sums(std::span<const double> phi, std::span<const double> log_weights, std::span<double> sums) {
    const Stopwatch::Scope timed(compute_, entries());
    block_->column_log_sums(phi, log_weights, sums);
  }
  [[nodiscard]] std::vector<PlanSums> plan_sums(std::span<const double> phi, std::span<const double> psi,
                                                std::size_t targets, const double* u, const double* v) {
    const Stopwatch::Scope timed(compute_, entries(targets));
    return block_->plan_sums(phi, psi, targets, u, v);
  }

 private:
  // Entries that a pass over the block processes.
  [[nodiscard]] double entries(std::size_t targets = 1) const {
    return static_cast<double>(targets) * static_cast<double>(rows()) * static_cast<double>(columns());
  }

  Stopwatch& compute_;
  std::unique_ptr<Block> block_;
};

}  // namespace fedsinkhorn
