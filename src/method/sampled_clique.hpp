// Elimination of one vertex from a weighted graph, without filling it up.
//
// Eliminating a vertex with edges w_k, S = sum_k w_k, connects each two of its neighbours by an edge of weight
// w_k w_l / S: a clique. Instead, each neighbour k is connected with a few of the heavier ones l, drawn with
// probabilities proportional to w_l, such that the expected Laplacian is that of the clique (R. Kyng and S. Sachdeva,
// Approximate Gaussian elimination for Laplacians, 2016). All is sums and products of positive numbers: nothing
// cancels, however small some weights are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fedsinkhorn {

/// An edge of the vertex that is eliminated.
struct Spoke {
  std::uint32_t to;
  double weight;
};

/// Uniform in [0, 1); the same numbers everywhere (SplitMix64).
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  double operator()() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return static_cast<double>((z ^ (z >> 31U)) >> 11U) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

class SampledClique {
 public:
  /// samples: edges per neighbour. With as many as there are neighbours, the clique is complete.
  explicit SampledClique(std::size_t samples) : samples_(samples) {}

  /// spokes: of different neighbours; are sorted by weight. total: the sum of their weights and perhaps of others,
  /// which are not connected. Calls connect(k, l, weight) for each new edge.
  template <class Connect>
  void eliminate(std::vector<Spoke>& spokes, double total, Draws& draw, const Connect& connect) {
    std::sort(spokes.begin(), spokes.end(), [](const Spoke& x, const Spoke& y) {
      return x.weight < y.weight || (x.weight == y.weight && x.to < y.to);
    });
    sums_.resize(spokes.size());
    double sum = 0;
    for (std::size_t k = 0; k < spokes.size(); ++k) sums_[k] = sum += spokes[k].weight;
    for (std::size_t k = 0; k + 1 < spokes.size(); ++k) {
      const double share = spokes[k].weight / total;
      if (spokes.size() - k - 1 <= samples_) {
        for (std::size_t l = k + 1; l < spokes.size(); ++l) {
          connect(spokes[k].to, spokes[l].to, share * spokes[l].weight);
        }
        continue;
      }
      // Equally spaced in the heavier ones' weights, from a random start.
      const double step = (sum - sums_[k]) / static_cast<double>(samples_);
      double at = sums_[k] + step * draw();
      for (std::size_t s = 0; s < samples_; ++s, at += step) {
        const auto found = std::upper_bound(sums_.begin() + static_cast<std::ptrdiff_t>(k) + 1, sums_.end() - 1, at);
        connect(spokes[k].to, spokes[static_cast<std::size_t>(found - sums_.begin())].to, share * step);
      }
    }
  }

 private:
  std::size_t samples_;
  std::vector<double> sums_;
};

}  // namespace fedsinkhorn
