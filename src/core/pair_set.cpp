#include "core/pair_set.hpp"

#include <algorithm>
#include <array>

namespace fedsinkhorn {
namespace {

constexpr std::size_t kWordBits = PairSet::kWordBits;

/// Bit c of block[r] becomes bit r of block[c]: swaps the off-diagonal halves, then those of the quarters, and so on
/// (Hacker's Delight, 7-3).
void transpose(std::array<std::uint64_t, kWordBits>& block) {
  std::uint64_t low = 0x00000000FFFFFFFFU;
  for (std::size_t width = kWordBits / 2; width != 0; width /= 2, low ^= low << width) {
    for (std::size_t r = 0; r < kWordBits; r = ((r | width) + 1) & ~width) {
      const std::uint64_t swapped = ((block[r] >> width) ^ block[r | width]) & low;
      block[r] ^= swapped << width;
      block[r | width] ^= swapped;
    }
  }
}

}  // namespace

PairSet PairSet::transposed() const {
  PairSet result(columns_, rows_);
  std::array<std::uint64_t, kWordBits> block{};
  for (std::size_t i = 0; i < rows_; i += kWordBits) {
    const std::size_t height = std::min(kWordBits, rows_ - i);
    for (std::size_t w = 0; w < stride_; ++w) {
      block.fill(0);
      for (std::size_t r = 0; r < height; ++r) {
        block[r] = row(i + r)[w];
      }
      transpose(block);
      for (std::size_t j = w * kWordBits; j < std::min(columns_, (w + 1) * kWordBits); ++j) {
        result.row(j)[i / kWordBits] = block[j % kWordBits];
      }
    }
  }
  return result;
}

}  // namespace fedsinkhorn
