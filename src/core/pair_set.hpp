// Sets of pairs and of columns, one bit each.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fedsinkhorn {

/// Which pairs (row, column) are allowed, one bit each: about rows * columns / 8 bytes. Thread safety: rows share no
/// word, so threads may fill different rows at once.
class PairSet {
 public:
  static constexpr std::size_t kWordBits = 64;

  /// No pair is allowed at first.
  PairSet(std::size_t rows, std::size_t columns)
      : rows_(rows), columns_(columns), stride_((columns + kWordBits - 1) / kWordBits), words_(rows * stride_) {}

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }

  /// Precondition of all three: i < rows(), j < columns().
  void allow(std::size_t i, std::size_t j) { words_[i * stride_ + j / kWordBits] |= bit(j); }
  void forbid(std::size_t i, std::size_t j) { words_[i * stride_ + j / kWordBits] &= ~bit(j); }
  [[nodiscard]] bool allowed(std::size_t i, std::size_t j) const {
    return (words_[i * stride_ + j / kWordBits] & bit(j)) != 0;
  }

  /// The words of row i: column j is bit j % 64 of word j / 64. The bits past the last column are zero; code that
  /// writes words must keep them zero.
  [[nodiscard]] std::span<const std::uint64_t> row(std::size_t i) const {
    return {words_.data() + i * stride_, stride_};
  }
  [[nodiscard]] std::span<std::uint64_t> row(std::size_t i) { return {words_.data() + i * stride_, stride_}; }

  [[nodiscard]] PairSet transposed() const;

  /// The bit of column j within its word.
  static std::uint64_t bit(std::size_t j) { return std::uint64_t{1} << (j % kWordBits); }

 private:
  std::size_t rows_;
  std::size_t columns_;
  std::size_t stride_;
  std::vector<std::uint64_t> words_;
};

/// A set of columns, laid out like a row of a PairSet.
using Words = std::vector<std::uint64_t>;

/// Calls visit(j) for the columns j of one word, ascending.
template <class Visit>
void for_each_bit(std::uint64_t word, std::size_t word_index, Visit visit) {
  for (; word != 0; word &= word - 1) {
    visit(word_index * PairSet::kWordBits + static_cast<std::size_t>(std::countr_zero(word)));
  }
}

/// A set of columns, empty. One word more than needed at worst.
inline Words no_columns(const PairSet& allowed) { return Words(allowed.columns() / PairSet::kWordBits + 1); }

inline bool share_a_bit(std::span<const std::uint64_t> words, const Words& columns) {
  for (std::size_t w = 0; w < words.size(); ++w) {
    if ((words[w] & columns[w]) != 0) {
      return true;
    }
  }
  return false;
}

}  // namespace fedsinkhorn
