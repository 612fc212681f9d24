// What a metric is made of: all that is known of it outside of the classes that compute costs (points_cost.cpp) and of
// devices. The compiler names the places that a new one has to be put into.
#pragma once

#include <cmath>
#include <stdexcept>

#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn {

[[noreturn]] inline void refuse_metric() { throw std::logic_error("a metric that nobody knows"); }

/// Whether points count by their direction alone: they are scaled to unit length first, and must have a length.
[[nodiscard]] inline bool is_of_directions(Metric metric) {
  switch (metric) {
    case Metric::sqeuclidean:
    case Metric::euclidean: return false;
    case Metric::cosine: return true;
  }
  refuse_metric();
}

/// Whether the cost is the distance and not its square.
[[nodiscard]] inline bool is_root(Metric metric) {
  switch (metric) {
    case Metric::sqeuclidean:
    case Metric::cosine: return false;
    case Metric::euclidean: return true;
  }
  refuse_metric();
}

/// The cost of two points this far apart (of directions: of unit length).
[[nodiscard]] inline double cost_at(Metric metric, double distance) {
  switch (metric) {
    case Metric::sqeuclidean: return distance * distance;
    case Metric::euclidean: return distance;
    case Metric::cosine: return distance * distance / 2;
  }
  refuse_metric();
}

/// Likewise from the square of the distance, which loses no digits. 1 - x.y / (|x| |y|) neither, where the two are
/// nearly parallel.
template <class Number>
[[nodiscard]] Number cost_at_square(Metric metric, const Number& square) {
  using std::sqrt;
  switch (metric) {
    case Metric::sqeuclidean: return square;
    case Metric::euclidean: return sqrt(square);
    case Metric::cosine: return square / 2;
  }
  refuse_metric();
}

}  // namespace fedsinkhorn
