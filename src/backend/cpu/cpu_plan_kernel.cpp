#include "backend/cpu/cpu_plan_kernel.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "backend/cpu/gibbs_rows.hpp"
#include "core/buffer.hpp"
#include "core/parallel.hpp"

namespace fedsinkhorn {
namespace {

/// Sums over rows are formed in this many parts, whatever the number of threads, so that it does not change any bits.
constexpr std::size_t kRowParts = 16;
/// Numbers that the parts of such sums may take together: 64 MiB.
constexpr std::size_t kMostPartialSums = std::size_t{1} << 23U;

class CpuPlanKernel final : public PlanKernel {
 public:
  CpuPlanKernel(const CostSource& cost, const cpu::Simd& simd, int threads, double epsilon, std::span<const double> phi,
                std::span<const double> psi)
      : cost_(cost), simd_(simd), threads_(threads), blocks_(cost, simd, epsilon) {
    blocks_.absorb(phi, psi);
  }

  void for_blocks(Range lines, const UseRows& body) const override {
    each_block(lines, [&](std::size_t line, std::size_t count, const double* kernel, Scratch& /*scratch*/) {
      body(line, count, kernel, stride());
    });
  }

  void multiply(EntryWeight weight, std::size_t count, std::span<const double> factors,
                std::span<double> sums) const override {
    const std::vector<double> padded = with_padding(count, factors);
    each_block({0, rows()}, [&](std::size_t line, std::size_t some, double* kernel, Scratch& scratch) {
      apply_weight(weight, line, some, kernel, scratch);
      std::array<double, cpu::kRowBlock> of_rows{};
      for (std::size_t c = 0; c < count; ++c) {
        ops().dot_rows(kernel, stride(), some, stride(), padded.data() + c * stride(), of_rows.data());
        for (std::size_t k = 0; k < some; ++k) sums[c * rows() + line + k] = of_rows[k];
      }
    });
  }

  void multiply_transposed(EntryWeight weight, std::size_t count, std::span<const double> factors,
                           std::span<double> sums) const override {
    const std::size_t at_once = std::max<std::size_t>(1, kMostPartialSums / (kRowParts * stride()));
    for (std::size_t first = 0; first < count; first += at_once) {
      const Range some{first, std::min(count, first + at_once)};
      const std::size_t width = some.size() * stride();
      std::vector<double> parts(kRowParts * width);
      parallel_chunks(threads_, kRowParts, [&](std::size_t part, std::size_t) {
        add_part(weight, chunk_range(rows(), kRowParts, part), some, factors, parts.data() + part * width);
      });
      for (std::size_t c = 0; c < some.size(); ++c) {
        for (std::size_t j = 0; j < columns(); ++j) {
          double sum = 0;
          for (std::size_t part = 0; part < kRowParts; ++part) sum += parts[part * width + c * stride() + j];
          sums[(first + c) * columns() + j] = sum;
        }
      }
    }
  }

 private:
  /// Room for one block, made when it is first used.
  struct Scratch {
    Buffer<double> strip;
    Buffer<double> kernel;
    Buffer<double> costs;
  };

  [[nodiscard]] std::size_t rows() const { return cost_.rows(); }
  [[nodiscard]] std::size_t columns() const { return cost_.columns(); }
  [[nodiscard]] std::size_t stride() const { return blocks_.stride(); }
  [[nodiscard]] const cpu::RowLoops<double, double>& ops() const { return simd_.float64.streaming(); }

  double* fill(std::size_t line, std::size_t count, Scratch& scratch) const {
    if (scratch.kernel.size() == 0) {
      scratch.strip = Buffer<double>(cpu::kRowBlock * kStrip);
      scratch.kernel = Buffer<double>(cpu::kRowBlock * stride());
    }
    blocks_.fill(line, count, 0, stride(), scratch.kernel.data(), stride(), scratch.strip.data());
    return scratch.kernel.data();
  }

  /// Calls body(line, count, kernel, scratch) for blocks of up to cpu::kRowBlock of these lines, on several threads.
  template <class Body>
  void each_block(Range lines, const Body& body) const {
    const std::size_t chunks = (lines.size() + cpu::kRowBlock - 1) / cpu::kRowBlock;
    std::vector<Scratch> scratch(static_cast<std::size_t>(threads_));
    parallel_chunks(threads_, chunks, [&](std::size_t chunk, std::size_t thread) {
      const std::size_t line = lines.first + chunk * cpu::kRowBlock;
      const std::size_t count = std::min(cpu::kRowBlock, lines.last - line);
      body(line, count, fill(line, count, scratch[thread]), scratch[thread]);
      cost_.rows_done(line, count);
    });
  }

  void apply_weight(EntryWeight weight, std::size_t line, std::size_t count, double* kernel, Scratch& scratch) const {
    if (weight == EntryWeight::one) return;
    const std::size_t room = (columns() + cpu::kPanel - 1) / cpu::kPanel * cpu::kPanel;
    if (scratch.costs.size() == 0) scratch.costs = Buffer<double>(cpu::kRowBlock * room);
    cost_.fill(line, count, 0, columns(), scratch.costs.data(), room);
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t j = 0; j < columns(); ++j) {
        const double cost = scratch.costs[k * room + j];
        double& entry = kernel[k * stride() + j];
        entry = cost == 0 ? 0 : entry / cost;
      }
    }
  }

  /// Each list of factors, padded to the stride of the kernel.
  [[nodiscard]] std::vector<double> with_padding(std::size_t count, std::span<const double> factors) const {
    std::vector<double> padded(count * stride());
    for (std::size_t c = 0; c < count; ++c) {
      std::ranges::copy(factors.subspan(c * columns(), columns()),
                        padded.begin() + static_cast<std::ptrdiff_t>(c * stride()));
    }
    return padded;
  }

  /// sums: those of these lists of factors, stride() apart.
  void add_part(EntryWeight weight, Range lines, Range lists, std::span<const double> factors, double* sums) const {
    Scratch scratch;
    for (std::size_t line = lines.first; line < lines.last; line += cpu::kRowBlock) {
      const std::size_t count = std::min(cpu::kRowBlock, lines.last - line);
      double* kernel = fill(line, count, scratch);
      apply_weight(weight, line, count, kernel, scratch);
      for (std::size_t c = 0; c < lists.size(); ++c) {
        ops().add_rows(kernel, stride(), count, stride(), factors.data() + (lists.first + c) * rows() + line,
                       sums + c * stride());
      }
      cost_.rows_done(line, count);
    }
  }

  const CostSource& cost_;
  const cpu::Simd& simd_;
  int threads_;
  GibbsBlocks<double> blocks_;
};

}  // namespace

std::unique_ptr<PlanKernel> make_cpu_plan_kernel(const CostSource& cost, const cpu::Simd& simd, int threads,
                                                 double epsilon, std::span<const double> phi,
                                                 std::span<const double> psi) {
  return std::make_unique<CpuPlanKernel>(cost, simd, threads, epsilon, phi, psi);
}

}  // namespace fedsinkhorn
