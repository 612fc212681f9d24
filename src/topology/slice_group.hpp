// A vector owned in slices by several clients: sharing all of it, and adding up each client's summand.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/payload.hpp"
#include "core/range.hpp"
#include "topology/note.hpp"

namespace fedsinkhorn {

/// Slices are stored one after the other in rank order. With several targets, `own` is targets x own slice and `whole`
/// is targets x all slices. On the wire, a client's values for all targets are contiguous.
class SliceGroup {
 public:
  SliceGroup(Collectives clients, std::vector<std::size_t> sizes);

  [[nodiscard]] std::size_t own_size() const { return sizes_[clients_.rank()]; }
  [[nodiscard]] std::size_t whole_size() const { return whole_; }
  [[nodiscard]] std::size_t members() const { return sizes_.size(); }
  /// Position of this client's slice, or a member's, in the whole.
  [[nodiscard]] Range own_slice() const { return slice(clients_.rank()); }
  [[nodiscard]] Range slice(std::size_t member) const { return {firsts_[member], firsts_[member] + sizes_[member]}; }

  /// Everyone receives the whole vector and the combined notes. With more than kManyClients members the first one
  /// combines the notes, and they are sent separately.
  void gather(Payload kind, std::size_t targets, const double* own, double* whole, Norm norm = Norm::l1,
              std::span<Note> notes = {});
  /// own = sum over the members, in rank order, of their values for this client.
  void sum(Payload kind, std::size_t targets, const double* whole, double* own);
  /// The summands of that sum, one member after the other.
  [[nodiscard]] std::vector<double> summands(Payload kind, std::size_t targets, const double* whole);
  /// Shares the notes alone.
  void share_notes(Norm norm, std::span<Note> notes) const;

 private:
  [[nodiscard]] std::vector<std::size_t> counts(std::size_t targets, std::size_t extra) const;
  // Reorders targets x whole to one member after the other.
  void by_member(std::size_t targets, const double* whole);

  Collectives clients_;
  std::vector<std::size_t> sizes_;
  std::vector<std::size_t> firsts_;
  std::size_t whole_ = 0;
  std::vector<double> wire_;
};

/// Sizes of all slices.
[[nodiscard]] std::vector<std::size_t> sizes_of(std::span<const Range> slices);
/// Sizes of the slices of the given members, in their order.
[[nodiscard]] std::vector<std::size_t> sizes_of(std::span<const Range> slices, std::span<const std::size_t> members);

}  // namespace fedsinkhorn
