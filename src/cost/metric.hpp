// Properties of metrics: all that is known of them outside the classes that compute costs (points_cost.cpp) and
// devices. The compiler reports every place where a new metric must be added.
#pragma once

#include <cmath>
#include <stdexcept>

#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn {

[[noreturn]] inline void refuse_metric() { throw std::logic_error("a metric that nobody knows"); }

/// Whether only the directions of points matter. Points are then scaled to unit length and must not be zero.
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

/// The cost of two points at this distance (directions: points of unit length).
[[nodiscard]] inline double cost_at(Metric metric, double distance) {
  switch (metric) {
    case Metric::sqeuclidean: return distance * distance;
    case Metric::euclidean: return distance;
    case Metric::cosine: return distance * distance / 2;
  }
  refuse_metric();
}

/// The same from the squared distance. Loses no digits, not even of 1 - x.y / (|x| |y|) for nearly parallel points.
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
