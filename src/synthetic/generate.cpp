#include "synthetic/generate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/random.hpp"
#include "synthetic/require.hpp"

namespace fedsinkhorn {
namespace {

/// The purpose of each stream of random numbers; the targets take kTargets, kTargets + 1, ...
enum ProblemStream : std::uint64_t { kWorld, kX, kY, kA, kForbidden, kTargets };

// ---------------------------------------------------------------------------------------------------- points

std::vector<double> uniform_cloud(std::size_t count, std::size_t dimension, Random& random) {
  std::vector<double> points(count * dimension);
  for (double& value : points) value = random.uniform();
  return points;
}

std::vector<double> gaussian_cloud(std::size_t count, std::size_t dimension, double mean, double deviation,
                                   Random& random) {
  std::vector<double> points(count * dimension);
  for (double& value : points) value = mean + deviation * random.normal();
  return points;
}

std::vector<double> clustered_cloud(std::size_t count, std::size_t dimension, Random& random) {
  constexpr std::size_t kClusters = 4;
  constexpr double kDeviation = 0.05;
  const std::vector<double> centres = uniform_cloud(kClusters, dimension, random);
  std::vector<double> points(count * dimension);
  for (std::size_t i = 0; i < count; ++i) {
    const double* centre = centres.data() + random.below(kClusters) * dimension;
    for (std::size_t k = 0; k < dimension; ++k) points[i * dimension + k] = centre[k] + kDeviation * random.normal();
  }
  return points;
}

/// Learned features occupy few directions with a decaying spectrum, share a common offset, fall into groups, and have
/// nearly equal norms. Here: z = group centre + scatter in at most 32 latent directions of scale 1 / (1 + k), mapped to
/// the full space by a random basis, plus an offset and a little noise in all directions.
class EmbeddingWorld {
 public:
  EmbeddingWorld(std::size_t dimension, Random random)
      : dimension_(dimension),
        latent_(std::min<std::size_t>(dimension, 32)),
        basis_(gaussian_cloud(latent_, dimension, 0, 1 / std::sqrt(static_cast<double>(dimension)), random)),
        offset_(gaussian_cloud(1, dimension, 0, 0.5 / std::sqrt(static_cast<double>(dimension)), random)),
        centres_(gaussian_cloud(kGroups, latent_, 0, 1, random)) {}

  /// Group sizes are in proportion 1 : 2 : ... : 8, or reversed, so that the clouds differ.
  [[nodiscard]] std::vector<double> cloud(std::size_t count, bool reversed, Random& random) const {
    constexpr double kScatter = 0.5;
    constexpr double kNoise = 0.1;
    constexpr double kNormDeviation = 0.05;
    const double noise = kNoise / std::sqrt(static_cast<double>(dimension_));
    std::vector<double> points(count * dimension_);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t group = reversed ? kGroups - 1 - triangular_group(random) : triangular_group(random);
      double* point = points.data() + i * dimension_;
      std::copy(offset_.begin(), offset_.end(), point);
      for (std::size_t k = 0; k < latent_; ++k) {
        const double scale = 1 / static_cast<double>(1 + k);
        const double z = scale * (centres_[group * latent_ + k] + kScatter * random.normal());
        const double* direction = basis_.data() + k * dimension_;
        for (std::size_t c = 0; c < dimension_; ++c) point[c] += z * direction[c];
      }
      double norm_squared = 0;
      for (std::size_t c = 0; c < dimension_; ++c) {
        point[c] += noise * random.normal();
        norm_squared += point[c] * point[c];
      }
      const double length = 1 + kNormDeviation * random.normal();
      if (norm_squared > 0) {
        const double factor = length / std::sqrt(norm_squared);
        for (std::size_t c = 0; c < dimension_; ++c) point[c] *= factor;
      }
    }
    return points;
  }

 private:
  static constexpr std::size_t kGroups = 8;

  /// Group g with probability proportional to g + 1.
  static std::size_t triangular_group(Random& random) {
    std::uint64_t draw = random.below(kGroups * (kGroups + 1) / 2);
    std::size_t group = 0;
    while (draw > group) draw -= ++group;
    return group;
  }

  std::size_t dimension_;
  std::size_t latent_;
  std::vector<double> basis_;    // latent x dimension
  std::vector<double> offset_;   // dimension
  std::vector<double> centres_;  // groups x latent
};

void draw_points(SyntheticProblem& problem) {
  const SyntheticSpec& spec = problem.spec;
  const std::size_t n = spec.rows;
  const std::size_t m = spec.columns;
  const std::size_t d = spec.dimension;
  Random random_x(spec.seed, kX);
  Random random_y(spec.seed, kY);
  switch (spec.kind) {
    case CloudKind::uniform:
      problem.x = uniform_cloud(n, d, random_x);
      if (!spec.same_points) problem.y = uniform_cloud(m, d, random_y);
      break;
    case CloudKind::gaussian:
      problem.x = gaussian_cloud(n, d, 0, 1, random_x);
      if (!spec.same_points) problem.y = gaussian_cloud(m, d, 1, 0.5, random_y);
      break;
    case CloudKind::clusters:
      problem.x = clustered_cloud(n, d, random_x);
      if (!spec.same_points) problem.y = clustered_cloud(m, d, random_y);
      break;
    case CloudKind::embedding: {
      const EmbeddingWorld world(d, Random(spec.seed, kWorld));
      problem.x = world.cloud(n, false, random_x);
      if (!spec.same_points) problem.y = world.cloud(m, true, random_y);
      break;
    }
  }
  if (spec.same_points) problem.y = problem.x;
}

// ------------------------------------------------------------------------------------------------- distances

/// Points regrouped in tiles of 16, coordinate by coordinate. Distances from one point to a tile are then sums over
/// independent lanes, which the compiler vectorizes without reordering any sum.
class TiledPoints {
 public:
  static constexpr std::size_t kTile = 16;

  /// order[j]: the point in position j. The last tile is padded with its last point.
  TiledPoints(std::span<const double> points, std::size_t dimension, std::span<const std::size_t> order)
      : dimension_(dimension), tiles_((order.size() + kTile - 1) / kTile), data_(tiles_ * dimension * kTile) {
    for (std::size_t j = 0; j < tiles_ * kTile; ++j) {
      const double* point = points.data() + order[std::min(j, order.size() - 1)] * dimension;
      double* tile = data_.data() + j / kTile * dimension * kTile;
      for (std::size_t k = 0; k < dimension; ++k) tile[k * kTile + j % kTile] = point[k];
    }
  }

  [[nodiscard]] std::size_t tiles() const { return tiles_; }

  /// out_j = sum_k (x_k - y_jk)^2 over one tile.
  void squared_distances(const double* x, std::size_t tile, std::array<double, kTile>& out) const {
    const double* y = data_.data() + tile * dimension_ * kTile;
    std::array<double, kTile> sum{};
    for (std::size_t k = 0; k < dimension_; ++k, y += kTile) {
      for (std::size_t j = 0; j < kTile; ++j) {
        const double difference = x[k] - y[j];
        sum[j] += difference * difference;
      }
    }
    out = sum;
  }

 private:
  std::size_t dimension_;
  std::size_t tiles_;
  std::vector<double> data_;
};

/// Distances to the centre, and the points ordered from the farthest to the nearest.
struct Radii {
  std::vector<double> radius;
  std::vector<std::size_t> order;

  Radii(std::span<const double> points, std::span<const double> centre)
      : radius(points.size() / centre.size()), order(radius.size()) {
    const std::size_t d = centre.size();
    for (std::size_t i = 0; i < radius.size(); ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < d; ++k) sum += (points[i * d + k] - centre[k]) * (points[i * d + k] - centre[k]);
      radius[i] = std::sqrt(sum);
    }
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t p, std::size_t q) { return radius[p] > radius[q]; });
  }

  /// Radius of the j-th farthest point.
  [[nodiscard]] double ranked(std::size_t j) const { return radius[order[j]]; }
};

struct LargestDistance {
  double squared = 0;
  bool exact = true;
};

/// Every pair satisfies |x - y| <= |x - c| + |y - c|, so pairs are searched from the outermost inwards until that bound
/// falls below the largest distance found: few pairs in low dimensions, nearly all in high ones.
LargestDistance largest_squared_distance(std::span<const double> x, std::span<const double> y, std::size_t dimension) {
  constexpr std::size_t kBlock = 16;  // points of x per visit to a tile of y, which stays in the first-level cache
  constexpr double kBudget = 1e10;    // differences of coordinates: about three seconds on one core

  std::vector<double> centre(dimension, 0.0);
  for (const std::span<const double> points : {x, y}) {
    const double weight = 0.5 * static_cast<double>(dimension) / static_cast<double>(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) centre[i % dimension] += weight * points[i];
  }
  const Radii radii_x(x, centre);
  const Radii radii_y(y, centre);
  const TiledPoints tiled(y, dimension, radii_y.order);

  const std::size_t n = radii_x.order.size();
  const auto work_per_visit = static_cast<double>(TiledPoints::kTile * dimension);
  double work = 0;
  double best = 0;
  std::array<double, TiledPoints::kTile> distances{};
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t last = std::min(n, first + kBlock);
    for (std::size_t tile = 0; tile < tiled.tiles(); ++tile) {
      const double reach = radii_x.ranked(first) + radii_y.ranked(tile * TiledPoints::kTile);
      if (reach * reach <= best) {
        if (tile == 0) return {best, true};
        break;
      }
      for (std::size_t i = first; i < last; ++i) {
        tiled.squared_distances(x.data() + radii_x.order[i] * dimension, tile, distances);
        best = std::max(best, *std::max_element(distances.begin(), distances.end()));
      }
      work += work_per_visit * static_cast<double>(last - first);
    }
    if (work > kBudget) {
      const double reach = radii_x.ranked(0) + radii_y.ranked(0);
      return {reach * reach, false};
    }
  }
  return {best, true};
}

void scale_points(SyntheticProblem& problem) {
  const LargestDistance largest = largest_squared_distance(problem.x, problem.y, problem.spec.dimension);
  problem.largest_cost = largest.squared;
  problem.largest_cost_exact = largest.exact;
  // If all points coincide, the cost is 0 at any scale.
  if (problem.spec.cost_scale == 0 || largest.squared == 0) return;
  const double factor = std::sqrt(problem.spec.cost_scale / largest.squared);
  for (double& value : problem.x) value *= factor;
  for (double& value : problem.y) value *= factor;
  problem.largest_cost = problem.spec.cost_scale;
}

// ---------------------------------------------------------------------------------------------------- masses

std::vector<double> draw_masses(std::size_t count, const SyntheticSpec& spec, Random random) {
  std::vector<double> masses(count, 1.0);
  if (spec.marginal_decades > 0) {
    for (double& mass : masses) mass = std::pow(10.0, -spec.marginal_decades * random.uniform());
  } else if (spec.random_marginals) {
    for (double& mass : masses) mass = random.uniform(0.1, 1.0);
  }

  const auto zeros = static_cast<std::size_t>(spec.zero_mass * static_cast<double>(count));
  if (zeros > 0) {
    // The first steps of a Fisher-Yates shuffle choose which.
    std::vector<std::size_t> index(count);
    std::iota(index.begin(), index.end(), std::size_t{0});
    for (std::size_t k = 0; k < std::min(zeros, count - 1); ++k) {
      std::swap(index[k], index[k + random.below(count - k)]);
      masses[index[k]] = 0;
    }
  }

  const double total = std::accumulate(masses.begin(), masses.end(), 0.0);
  for (double& mass : masses) mass /= total;
  return masses;
}

}  // namespace

void validate(const SyntheticSpec& spec) {
  require(spec.rows > 0, "--rows", "is 0", "at least one point is needed");
  require(spec.dimension > 0, "--dimension", "is 0", "points have at least one coordinate");
  require(spec.targets > 0, "--targets", "is 0", "at least one target is needed");
  require(!spec.same_points || spec.columns == 0 || spec.columns == spec.rows, "--columns",
          "differs from --rows although both sides share their points", "leave it out with --shared-support");
  // Comparisons are written so that NaN fails them. 10^-300 is near the smallest mass that is a normal number.
  require(spec.marginal_decades >= 0 && spec.marginal_decades <= 300, "--decades", "is not between 0 and 300",
          "e.g. 4 for masses that differ by up to a factor of 10^4");
  require(spec.zero_mass >= 0 && spec.zero_mass < 1, "--zero-mass", "is not in [0, 1)",
          "give the fraction of masses that are zero");
  require(spec.cost_scale >= 0 && std::isfinite(spec.cost_scale), "--cost-scale", "is negative or not finite",
          "give the largest cost, or 0 for points as they are drawn");
  require(spec.forbidden >= 0 && spec.forbidden < 1, "--forbidden", "is not in [0, 1)",
          "give the fraction of forbidden pairs");
  const std::size_t columns = spec.columns == 0 ? spec.rows : spec.columns;
  const std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(double);
  require(spec.rows <= most / spec.dimension, "--rows", "times --dimension overflows", "ask for fewer points");
  require(columns <= most / spec.dimension && columns <= most / spec.targets, "--columns",
          "times --dimension or --targets overflows", "ask for fewer points");
}

SyntheticProblem generate(const SyntheticSpec& spec) {
  validate(spec);
  SyntheticProblem problem;
  problem.spec = spec;
  if (spec.columns == 0) problem.spec.columns = spec.rows;
  draw_points(problem);
  scale_points(problem);

  problem.a = draw_masses(spec.rows, spec, Random(spec.seed, kA));
  const std::size_t m = problem.spec.columns;
  problem.b.resize(m * spec.targets);
  for (std::size_t t = 0; t < spec.targets; ++t) {
    const std::vector<double> target = draw_masses(m, spec, Random(spec.seed, kTargets + t));
    for (std::size_t j = 0; j < m; ++j) problem.b[j * spec.targets + t] = target[j];
  }
  return problem;
}

std::vector<ColumnRange> north_west_corner(std::span<const double> a, std::span<const double> b) {
  // Row i owns the interval from A_(i-1) to A_i of the running total, column j the one from B_(j-1) to B_j. The plan
  // uses the pairs whose intervals meet.
  constexpr double kSlack = 1e-12;  // rounding of running totals near 1, for up to some 10^6 terms
  std::vector<ColumnRange> ranges(a.size());
  if (b.empty()) return ranges;
  const std::size_t end = b.size() - 1;
  std::size_t first = 0;
  std::size_t last = 0;
  double rows_before = 0;       // A_(i-1)
  double first_through = b[0];  // B_first
  double last_through = b[0];   // B_last
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double rows_through = rows_before + a[i];
    while (first < end && first_through < rows_before - kSlack) first_through += b[++first];
    while (last < end && last_through <= rows_through + kSlack) last_through += b[++last];
    ranges[i] = {first, last};
    rows_before = rows_through;
  }
  return ranges;
}

void for_each_cost_block(const SyntheticProblem& problem,
                         const std::function<void(std::size_t, std::span<const double>)>& sink) {
  constexpr std::size_t kBlockValues = std::size_t{1} << 19U;  // 4 MiB
  const SyntheticSpec& spec = problem.spec;
  const std::size_t n = spec.rows;
  const std::size_t m = spec.columns;

  std::vector<std::vector<ColumnRange>> spared;
  if (spec.forbidden > 0) {
    std::vector<double> target(m);
    for (std::size_t t = 0; t < spec.targets; ++t) {
      for (std::size_t j = 0; j < m; ++j) target[j] = problem.b[j * spec.targets + t];
      spared.push_back(north_west_corner(problem.a, target));
    }
  }
  Random random(spec.seed, kForbidden);
  std::vector<char> is_spared(m);

  std::vector<std::size_t> order(m);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const TiledPoints tiled(problem.y, spec.dimension, order);
  const std::size_t block_rows = std::clamp<std::size_t>(kBlockValues / m, 1, n);
  std::vector<double> block(block_rows * m);
  std::array<double, TiledPoints::kTile> distances{};

  for (std::size_t first = 0; first < n; first += block_rows) {
    const std::size_t count = std::min(block_rows, n - first);
    // The tile is the outer loop: it stays in cache while all rows of the block use it.
    for (std::size_t tile = 0; tile < tiled.tiles(); ++tile) {
      const std::size_t j = tile * TiledPoints::kTile;
      const std::size_t width = std::min(TiledPoints::kTile, m - j);
      for (std::size_t i = 0; i < count; ++i) {
        tiled.squared_distances(problem.x.data() + (first + i) * spec.dimension, tile, distances);
        std::copy_n(distances.data(), width, block.data() + i * m + j);
      }
    }
    for (std::size_t i = 0; spec.forbidden > 0 && i < count; ++i) {
      std::fill(is_spared.begin(), is_spared.end(), char{0});
      for (const std::vector<ColumnRange>& ranges : spared) {
        const ColumnRange range = ranges[first + i];
        std::fill(is_spared.data() + range.first, is_spared.data() + range.last + 1, char{1});
      }
      // One draw per pair, spared or not, so that the pattern depends only on the seed.
      for (std::size_t j = 0; j < m; ++j) {
        if (random.uniform() < spec.forbidden && is_spared[j] == 0) {
          block[i * m + j] = std::numeric_limits<double>::infinity();
        }
      }
    }
    sink(first, std::span<const double>(block.data(), count * m));
  }
}

void write_cost(const SyntheticProblem& problem, const std::filesystem::path& path) {
  const std::array<std::size_t, 2> shape{problem.spec.rows, problem.spec.columns};
  NpyWriter writer(path, shape);
  for_each_cost_block(problem, [&](std::size_t, std::span<const double> values) { writer.append(values); });
  writer.finish();
}

}  // namespace fedsinkhorn
