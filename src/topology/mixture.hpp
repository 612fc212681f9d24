// Starting points between, or beyond, the v of earlier rounds.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

namespace fedsinkhorn {

/// Replaces the last shared v. With L_0, ..., L_k the logarithms of the kept images (v as shared after earlier rounds,
/// oldest first),
///   log v = L_k - sum_i gamma_i (L_{i+1} - L_i).
/// All clients share the coefficients, so every holder of entries of v can form the new ones.
struct Mixture {
  bool keep_newest = true;      ///< whether the last shared v becomes an image; else it is dropped
  std::size_t images = 1;       ///< number of images to keep; the oldest are dropped
  std::vector<double> gamma{};  ///< one fewer than images; empty: log v = L_k
};

/// The images of one or more targets, kept by one holder of (a part of) v.
class ImageHistory {
 public:
  /// v: on entry the last shared v of that target, on return the mixture (v itself if there is no image to replace it
  /// by). 0 stays 0: no mass.
  void mix(std::size_t slot, const Mixture& mixture, std::span<double> v);
  /// Forgets all images: v will be relative to other potentials.
  void forget() { images_.clear(); }
  /// The target in that slot is finished; later ones move down.
  void remove(std::size_t slot);

 private:
  std::vector<std::deque<std::vector<double>>> images_;  // by slot, logarithms
};

}  // namespace fedsinkhorn
