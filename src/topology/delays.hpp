// How old the slices of others were when this client first used them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fedsinkhorn {

enum class SliceKind : std::size_t { u, v };

/// Ages are counted in iterations of the client that uses the slice: 0 if published during the iteration that uses it,
/// 1 if published during the iteration before.
class DelayTable {
 public:
  struct Entry {
    std::vector<std::uint64_t> uses;  ///< by age
    std::uint64_t superseded = 0;     ///< arrived, but replaced before use
  };

  explicit DelayTable(std::size_t clients) : entries_{std::vector<Entry>(clients), std::vector<Entry>(clients)} {}

  void used(SliceKind kind, std::size_t from, std::size_t age) {
    std::vector<std::uint64_t>& uses = entry(kind, from).uses;
    if (uses.size() <= age) uses.resize(age + 1);
    ++uses[age];
  }
  void superseded(SliceKind kind, std::size_t from, std::uint64_t count) { entry(kind, from).superseded += count; }

  [[nodiscard]] std::size_t clients() const { return entries_[0].size(); }
  [[nodiscard]] const Entry& of(SliceKind kind, std::size_t from) const {
    return entries_[static_cast<std::size_t>(kind)][from];
  }

 private:
  [[nodiscard]] Entry& entry(SliceKind kind, std::size_t from) {
    return entries_[static_cast<std::size_t>(kind)][from];
  }

  std::array<std::vector<Entry>, 2> entries_;  // by kind, by sender
};

}  // namespace fedsinkhorn
