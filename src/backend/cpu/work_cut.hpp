// How the work on a kernel is cut into pieces.
#pragma once

#include <algorithm>
#include <cstddef>

namespace fedsinkhorn {

/// Depends only on the shape, so that results do not depend on the number of threads.
struct WorkCut {
  /// Work, in multiplications, that one thread does alone. It takes about a tenth of a millisecond: for less, waking
  /// another thread does not pay, least of all on a busy machine, where that may take milliseconds.
  static constexpr double kTiny = std::size_t{1} << 19;
  /// The cost of computing an entry of K, relative to multiplying with a stored one.
  static constexpr std::size_t kExponential = 8;
  static bool is_tiny(std::size_t rows, std::size_t columns, std::size_t work_per_entry) {
    return static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(work_per_entry) < kTiny;
  }
  /// Partial sums of r in a fused pass. More would balance better but cost memory traffic.
  static std::size_t fused_chunks(std::size_t rows, std::size_t columns, std::size_t work_per_entry) {
    if (is_tiny(rows, columns, work_per_entry)) return 1;
    return std::clamp<std::size_t>(rows / 32, 1, 32);
  }
  /// Rows whose products with several targets are formed together: about 16 MB of K, which a shared cache holds.
  static std::size_t target_block(std::size_t rows, std::size_t stride) {
    const std::size_t wanted =
        std::clamp<std::size_t>((std::size_t{16} << 20) / (std::max<std::size_t>(1, stride) * 8), 64, 1024);
    return std::min((rows + 7) / 8 * 8, wanted / 8 * 8);
  }
  static constexpr std::size_t kRowsEach = 64;
  /// With this many targets or fewer, a sweep per target over rows in cache beats packing matrices for a product.
  static constexpr std::size_t kFewTargets = 3;
};

}  // namespace fedsinkhorn
