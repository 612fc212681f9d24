// Half-open ranges of indices.
#pragma once

#include <cstddef>

namespace fedsinkhorn {

struct Range {
  std::size_t first = 0;
  std::size_t last = 0;
  [[nodiscard]] std::size_t size() const { return last - first; }
  [[nodiscard]] bool empty() const { return first == last; }
  [[nodiscard]] bool operator==(const Range&) const = default;
};

/// The range of chunk `index` when `count` items are split evenly into `chunks`, in multiples of `grain` (the last
/// chunk takes the remainder).
[[nodiscard]] inline Range chunk_range(std::size_t count, std::size_t chunks, std::size_t index,
                                       std::size_t grain = 1) {
  const std::size_t grains = (count + grain - 1) / grain;
  const std::size_t first = grains * index / chunks * grain;
  const std::size_t last = grains * (index + 1) / chunks * grain;
  return {first < count ? first : count, last < count ? last : count};
}

}  // namespace fedsinkhorn
