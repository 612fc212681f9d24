// A vector that some clients own in slices: making all of it known to them, and adding up what each has of it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/collectives.hpp"
#include "core/range.hpp"
#include "topology/note.hpp"

namespace fedsinkhorn {

/// Slices lie one after the other in the order of the ranks. Vectors of several targets: `own` is targets x own slice,
/// `whole` is targets x all slices. On the wire a client's values are together, whatever the number of targets.
class SliceGroup {
 public:
  SliceGroup(const Collectives& clients, std::vector<std::size_t> sizes);

  [[nodiscard]] std::size_t own_size() const { return sizes_[clients_.rank()]; }
  [[nodiscard]] std::size_t whole_size() const { return whole_; }
  [[nodiscard]] std::size_t members() const { return sizes_.size(); }
  /// Where this client's slice, or that of a member, lies in the whole.
  [[nodiscard]] Range own_slice() const { return slice(clients_.rank()); }
  [[nodiscard]] Range slice(std::size_t member) const { return {firsts_[member], firsts_[member] + sizes_[member]}; }

  /// Everyone gets to know the whole, and the notes of all, combined. With more than kManyClients members the first
  /// one combines the notes, and they travel by themselves.
  void gather(std::size_t targets, const double* own, double* whole, Norm norm = Norm::l1, std::span<Note> notes = {},
              Payload kind = Payload::slice);
  /// own = the sum over the members, in the order of the ranks, of what they have for this one.
  void sum(std::size_t targets, const double* whole, double* own);
  /// The summands of that, one member after the other.
  [[nodiscard]] std::vector<double> summands(std::size_t targets, const double* whole);
  /// Notes alone.
  void share_notes(Norm norm, std::span<Note> notes) const;

  /// Potentials, one target, as a vector.
  [[nodiscard]] std::vector<double> gathered(std::span<const double> own) {
    std::vector<double> whole(whole_);
    gather(1, own.data(), whole.data(), Norm::l1, {}, Payload::potential);
    return whole;
  }

 private:
  [[nodiscard]] std::vector<std::size_t> counts(std::size_t targets, std::size_t extra) const;
  // From targets x whole to one member after the other.
  void by_member(std::size_t targets, const double* whole);

  Collectives clients_;
  std::vector<std::size_t> sizes_;
  std::vector<std::size_t> firsts_;
  std::size_t whole_ = 0;
  std::vector<double> wire_;
};

/// Sizes of all slices.
[[nodiscard]] std::vector<std::size_t> sizes_of(std::span<const Range> slices);
/// Sizes of some of them, in the order of the members given.
[[nodiscard]] std::vector<std::size_t> sizes_of(std::span<const Range> slices, std::span<const std::size_t> members);

}  // namespace fedsinkhorn
