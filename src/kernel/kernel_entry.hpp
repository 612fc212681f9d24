// Kernels by name: what each accepts, what it needs and how it is made, backend by backend.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "cost/cost_input.hpp"
#include "kernel/block.hpp"

namespace fedsinkhorn {

/// What the memory of a block depends on, beside its kernel.
struct BlockShape {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t targets = 1;
  std::size_t dimension = 0;    ///< of the points; 0: costs one by one
  std::size_t entry_bytes = 8;  ///< of one of those
  std::size_t differences = 0;  ///< that an acceleration keeps
};

/// A kernel as one backend has it.
struct KernelOnBackend {
  std::string_view backend;
  MakeBlock* make = nullptr;
  /// Memory such a block will take where the backend computes, scratch included. As float64: it cannot wrap.
  double (*bytes)(const KernelSpec& spec, const BlockShape& shape) = nullptr;
  std::vector<Precision> precisions;                ///< it can have
  bool (*takes)(const CostInput& costs) = nullptr;  ///< none: all costs
  std::string_view needs = "";                      ///< what it takes, in words: "points"

  [[nodiscard]] bool has(Precision precision) const {
    return std::find(precisions.begin(), precisions.end(), precision) != precisions.end();
  }
  [[nodiscard]] bool can_take(const CostInput& costs) const { return takes == nullptr || takes(costs); }
};

struct KernelEntry {
  std::string_view name;
  std::vector<KernelOnBackend> backends;

  /// Null: that backend has no such kernel.
  [[nodiscard]] const KernelOnBackend* on(std::string_view backend) const {
    const auto found = std::find_if(backends.begin(), backends.end(),
                                    [&](const KernelOnBackend& kernel) { return kernel.backend == backend; });
    return found == backends.end() ? nullptr : &*found;
  }
};

}  // namespace fedsinkhorn
