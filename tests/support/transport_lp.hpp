// The transport problem without entropy, solved exactly: min <P, C> over P >= 0 with P 1 = a and P' 1 = b.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace fedsinkhorn::testing {

/// Shortest augmenting paths. Slow and simple, and its own witness: f_i + g_j <= C_ij up to rounding, so that the value
/// of the dual, <f, a> + <g, b>, is a lower bound on that of every plan, and `value` is that of a plan.
struct TransportLp {
  double value = 0;
  double dual = 0;
  double infeasibility = 0;  ///< largest f_i + g_j - C_ij
  double left = 0;           ///< mass that could not be moved, by rounding of the totals

  TransportLp(const std::vector<double>& cost, std::vector<double> a, std::vector<double> b)
      : cost_(cost), n_(a.size()), m_(b.size()), f_(n_), g_(m_), plan_(cost.size()) {
    for (std::size_t i = 0; i < n_; ++i) f_[i] = *std::min_element(&cost_[i * m_], &cost_[i * m_] + m_);
    const std::vector<double> all_a = a;
    const std::vector<double> all_b = b;
    while (augment(a, b)) {
    }
    for (std::size_t i = 0; i < n_; ++i) left += a[i];
    for (std::size_t i = 0; i < n_; ++i) dual += f_[i] * all_a[i];
    for (std::size_t j = 0; j < m_; ++j) dual += g_[j] * all_b[j];
    for (std::size_t k = 0; k < cost_.size(); ++k) {
      if (plan_[k] > 0) value += plan_[k] * cost_[k];
      infeasibility = std::max(infeasibility, f_[k / m_] + g_[k % m_] - cost_[k]);
    }
  }

 private:
  /// Dijkstra's algorithm from all rows that have mass left to the nearest column that lacks some. False if there is
  /// none that can be reached.
  bool augment(std::vector<double>& a, std::vector<double>& b) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const std::size_t nodes = n_ + m_;  // rows, then columns
    std::vector<double> distance(nodes, infinity);
    std::vector<std::size_t> before(nodes, nodes);
    std::vector<bool> is_done(nodes);
    for (std::size_t i = 0; i < n_; ++i) {
      if (a[i] > 0) distance[i] = 0;
    }
    std::size_t end = nodes;
    for (;;) {
      std::size_t node = nodes;
      for (std::size_t k = 0; k < nodes; ++k) {
        if (!is_done[k] && distance[k] < (node == nodes ? infinity : distance[node])) node = k;
      }
      if (node == nodes) return false;
      is_done[node] = true;
      if (node >= n_ && b[node - n_] > 0) {
        end = node;
        break;
      }
      const auto reach = [&](std::size_t next, double length) {
        if (distance[node] + length >= distance[next]) return;
        distance[next] = distance[node] + length;
        before[next] = node;
      };
      if (node < n_) {
        for (std::size_t j = 0; j < m_; ++j) reach(n_ + j, std::max(0.0, cost_[node * m_ + j] - f_[node] - g_[j]));
      } else {
        for (std::size_t i = 0; i < n_; ++i) {
          if (plan_[i * m_ + node - n_] > 0) reach(i, 0);  // pairs that are used have no reduced cost
        }
      }
    }
    for (std::size_t k = 0; k < nodes; ++k) {
      if (!(distance[k] < distance[end])) continue;
      if (k < n_) f_[k] += distance[end] - distance[k];
      if (k >= n_) g_[k - n_] -= distance[end] - distance[k];
    }
    double amount = b[end - n_];
    std::size_t start = end;
    for (; before[start] != nodes; start = before[start]) {
      if (start < n_) amount = std::min(amount, pair(start, before[start]));
    }
    amount = std::min(amount, a[start]);
    for (std::size_t node = end; before[node] != nodes; node = before[node]) {
      if (node < n_) {
        pair(node, before[node]) -= amount;
      } else {
        pair(before[node], node) += amount;
      }
    }
    a[start] -= amount;
    b[end - n_] -= amount;
    return true;
  }
  double& pair(std::size_t row, std::size_t column_node) { return plan_[row * m_ + column_node - n_]; }

  const std::vector<double>& cost_;
  std::size_t n_, m_;
  std::vector<double> f_, g_, plan_;
};

}  // namespace fedsinkhorn::testing
