// A stored kernel whose memory can be looked at from outside.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "backend/cpu/make_kernel.hpp"
#include "instance.hpp"

namespace fedsinkhorn::bench {

/// The kernel of make_dense_kernel, nothing else, plus where it keeps its rows: the floor of a pass is one plain read
/// of the very same memory. Potentials are zero.
class DenseKernel {
 public:
  DenseKernel(const Instance& instance, Precision precision, int threads);

  [[nodiscard]] Kernel& kernel() { return *kernel_; }
  [[nodiscard]] std::size_t bytes() const { return memory_.size_bytes(); }
  /// Distance between rows, in elements.
  [[nodiscard]] std::size_t stride() const { return stride_; }
  /// All rows; those of a float32 kernel read as float64, two at a time.
  [[nodiscard]] std::span<const double> memory() const { return memory_; }

  /// Reads it all once, on the kernel's threads, in pieces like those of a pass.
  void read() const;

 private:
  std::unique_ptr<cpu::Simd> simd_;
  std::unique_ptr<Kernel> kernel_;
  int threads_;
  std::size_t stride_ = 0;
  std::span<const double> memory_;
};

}  // namespace fedsinkhorn::bench
