// Points to go on from that lie between, or beyond, the v of earlier rounds.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

namespace fedsinkhorn {

/// What the v shared last is replaced by: with L_0, ..., L_k the logarithms of the images kept (v as shared after
/// earlier rounds, oldest first),
///   log v = L_k - sum_i gamma_i (L_{i+1} - L_i).
/// The coefficients are numbers all clients share, so whoever holds some entries of v can form the new ones.
struct Mixture {
  bool keep_newest = true;      ///< whether the v shared last becomes an image; else it is dropped
  std::size_t images = 1;       ///< so many are kept at most, the oldest go
  std::vector<double> gamma{};  ///< one fewer than there are images then; or none: log v = L_k
};

/// The images of one or more targets, as one holder of (a part of) v keeps them.
class ImageHistory {
 public:
  /// v: what was shared last for that target, and on return the mixture (itself if there is no image to drop it for).
  /// 0 stays 0: there is no mass.
  void mix(std::size_t slot, const Mixture& mixture, std::span<double> v);
  /// All of them: v is about to be relative to other potentials.
  void forget() { images_.clear(); }
  /// The target in that slot is finished; those after it move down.
  void remove(std::size_t slot);

 private:
  std::vector<std::deque<std::vector<double>>> images_;  // by slot, logarithms
};

}  // namespace fedsinkhorn
