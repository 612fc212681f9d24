#include "method/column_graph.hpp"

#include <algorithm>
#include <cmath>

#include "core/parallel.hpp"
#include "core/range.hpp"
#include "method/sampled_clique.hpp"

namespace fedsinkhorn {
namespace {

/// Edges per entry that the elimination of a row adds. With 1, conjugate gradients need up to a quarter more products.
constexpr std::size_t kSamplesOfRow = 2;
/// Compared with a damping of at least 1e-15.
constexpr double kNegligibleWeight = 1e-20;
/// Rows that a thread eliminates at a time.
constexpr std::size_t kRowsEach = 64;

/// Sorts edges by position and adds up those at the same one.
void tidy(std::vector<SparseEntry>& edges) {
  std::stable_sort(edges.begin(), edges.end(),
                   [](const SparseEntry& x, const SparseEntry& y) { return x.position < y.position; });
  std::size_t count = 0;
  for (const SparseEntry& edge : edges) {
    if (count > 0 && edges[count - 1].position == edge.position) {
      edges[count - 1].value += edge.value;
    } else {
      edges[count++] = edge;
    }
  }
  edges.resize(count);
}

std::vector<SparseEntry> edges_of(const SparseRows& plan, Range rows, std::span<const double> root_c) {
  std::vector<SparseEntry> edges;
  SampledClique clique(kSamplesOfRow);
  std::vector<Spoke> spokes;
  for (std::size_t i = rows.first; i < rows.last; ++i) {
    spokes.clear();
    double total = 0;
    for (const PlanEntry& entry : plan.row(i)) {
      spokes.push_back({entry.at, entry.value});
      total += entry.value;
    }
    Draws draw(i);
    clique.eliminate(spokes, total, draw, [&](std::size_t k, std::size_t l, double weight) {
      if (!(weight > kNegligibleWeight * root_c[k] * root_c[l] && std::isfinite(weight))) return;
      edges.push_back({std::min(k, l) * root_c.size() + std::max(k, l), weight});
    });
  }
  return edges;
}

}  // namespace

std::vector<SparseEntry> edges_between_columns(const SparseRows& plan, std::span<const double> root_c, int threads) {
  std::vector<std::vector<SparseEntry>> parts((plan.count() + kRowsEach - 1) / kRowsEach);
  parallel_chunks(threads, parts.size(), [&](std::size_t chunk, std::size_t) {
    parts[chunk] = edges_of(plan, {chunk * kRowsEach, std::min(plan.count(), (chunk + 1) * kRowsEach)}, root_c);
  });
  std::vector<SparseEntry> edges;
  for (const auto& part : parts) edges.insert(edges.end(), part.begin(), part.end());
  tidy(edges);
  return edges;
}

}  // namespace fedsinkhorn
