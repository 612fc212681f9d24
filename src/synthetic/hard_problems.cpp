#include "synthetic/hard_problems.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>

namespace fedsinkhorn {
namespace {

/// The same numbers with every standard library.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}

  /// In (0, 1).
  double uniform() { return (static_cast<double>(engine_() >> 12U) + 0.5) * 0x1p-52; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(uniform() * static_cast<double>(count)); }
  /// Gamma(shape < 1), by Johnk's method with logarithms, as small as doubles can be.
  double gamma(double shape) {
    for (;;) {
      const double x = std::log(uniform()) / shape;
      const double y = std::log(uniform()) / (1 - shape);
      const double greatest = std::max(x, y);
      const double log_sum = greatest + std::log(std::exp(x - greatest) + std::exp(y - greatest));
      if (log_sum <= 0) return std::exp(x - log_sum) * -std::log(uniform());
    }
  }
  std::vector<double> vector(std::size_t count, const std::function<double()>& draw) {
    std::vector<double> values(count);
    std::generate(values.begin(), values.end(), draw);
    return values;
  }

 private:
  std::mt19937_64 engine_;
};

using Points = std::vector<std::vector<double>>;

Points points(std::size_t count, std::size_t dimensions, const std::function<double(std::size_t)>& coordinate) {
  Points result(count, std::vector<double>(dimensions));
  for (std::size_t i = 0; i < count; ++i) {
    for (double& x : result[i]) x = coordinate(i);
  }
  return result;
}

std::vector<double> squared_distances(const Points& x, const Points& y) {
  std::vector<double> cost;
  for (const auto& from : x) {
    for (const auto& to : y) {
      cost.push_back(std::inner_product(from.begin(), from.end(), to.begin(), 0.0, std::plus<>(),
                                        [](double s, double t) { return (s - t) * (s - t); }));
    }
  }
  return cost;
}

/// What a family draws before costs and masses are scaled.
struct Drawn {
  std::vector<double> cost, a, b;
};

using Family = Drawn (*)(std::size_t n, std::size_t m, Draw& draw);

std::vector<double> uniform_masses(std::size_t count) { return std::vector<double>(count, 1.0); }
std::vector<double> uneven_masses(std::size_t count, Draw& draw) {
  return draw.vector(count, [&] { return draw.uniform() + 0.1; });
}

template <std::size_t dimensions>
Drawn clusters(std::size_t n, std::size_t m, Draw& draw) {
  const Points x = points(n, dimensions, [&](std::size_t i) { return draw.normal() + (i < n / 2 ? 1 : 0); });
  const Points y = points(m, dimensions, [&](std::size_t j) { return draw.normal() - (j < m / 2 ? 1 : 0); });
  return {squared_distances(x, y), uniform_masses(n), uniform_masses(m)};
}

template <std::size_t dimensions>
Drawn normal_clouds(std::size_t n, std::size_t m, Draw& draw) {
  const auto cloud = [&](std::size_t count) {
    return points(count, dimensions, [&](std::size_t) { return draw.normal(); });
  };
  const Points x = cloud(n);
  return {squared_distances(x, cloud(m)), uniform_masses(n), uniform_masses(m)};
}

Drawn random_costs(std::size_t n, std::size_t m, Draw& draw) {
  return {draw.vector(n * m, [&] { return draw.uniform(); }), uniform_masses(n), uniform_masses(m)};
}

Drawn offset_clouds(std::size_t n, std::size_t m, Draw& draw) {
  const Points x = points(n, 2, [&](std::size_t) { return draw.normal(); });
  const Points y = points(m, 2, [&](std::size_t) { return draw.normal() / 2 + 1; });
  return {squared_distances(x, y), uniform_masses(n), uniform_masses(m)};
}

Drawn spots(std::size_t n, std::size_t m, Draw& draw) {
  const auto cloud = [&](std::size_t count) {
    Points result;
    for (std::size_t i = 0; i < count; ++i) {
      const auto spot = static_cast<double>(draw.below(4));
      result.push_back({spot + 0.05 * draw.normal(), spot + 0.05 * draw.normal()});
    }
    return result;
  };
  const Points x = cloud(n);
  return {squared_distances(x, cloud(m)), uniform_masses(n), uneven_masses(m, draw)};
}

std::vector<double> square_costs(std::size_t n, std::size_t m, Draw& draw) {
  const auto cloud = [&](std::size_t count) { return points(count, 2, [&](std::size_t) { return draw.uniform(); }); };
  const Points x = cloud(n);
  return squared_distances(x, cloud(m));
}

Drawn square(std::size_t n, std::size_t m, Draw& draw) {
  return {square_costs(n, m, draw), uniform_masses(n), uniform_masses(m)};
}

Drawn line(std::size_t n, std::size_t m, Draw& draw) {
  const Points x = points(n, 1, [&](std::size_t) { return draw.uniform(); });
  const Points y = points(m, 1, [&](std::size_t) { return draw.uniform(); });
  return {squared_distances(x, y), uniform_masses(n), uneven_masses(m, draw)};
}

Drawn integer_costs(std::size_t n, std::size_t m, Draw& draw) {
  return {draw.vector(n * m, [&] { return static_cast<double>(draw.below(10)); }), uniform_masses(n),
          uniform_masses(m)};
}

Drawn lattice(std::size_t n, std::size_t m, Draw& draw) {
  std::size_t side = 1;
  while (side * side < std::max(n, m)) ++side;
  const auto cloud = [&](std::size_t count) {
    std::vector<std::size_t> sites(side * side);
    std::iota(sites.begin(), sites.end(), std::size_t{0});
    Points result;
    for (std::size_t k = 0; k < count; ++k) {
      std::swap(sites[k], sites[k + draw.below(sites.size() - k)]);
      const std::size_t row = sites[k] / side;
      result.push_back({static_cast<double>(row), static_cast<double>(sites[k] % side)});
    }
    return result;
  };
  const Points x = cloud(n);
  return {squared_distances(x, cloud(m)), uniform_masses(n), uniform_masses(m)};
}

Drawn anti_monge(std::size_t n, std::size_t m, Draw& draw) {
  Drawn drawn = line(n, m, draw);
  for (double& c : drawn.cost) c = std::sqrt(std::sqrt(c));
  drawn.b = uniform_masses(m);
  return drawn;
}

Drawn dirichlet(std::size_t n, std::size_t m, Draw& draw) {
  const auto masses = [&](std::size_t count) {
    // Not below 1e-30 of the rest: costs and masses are then all within the range that a plan can resolve.
    return draw.vector(count, [&] { return std::max(draw.gamma(0.1), 1e-30); });
  };
  std::vector<double> cost = square_costs(n, m, draw);
  std::vector<double> a = masses(n);
  return {std::move(cost), std::move(a), masses(m)};
}

Drawn wide_masses(std::size_t n, std::size_t m, Draw& draw) {
  const auto masses = [&](std::size_t count) {
    return draw.vector(count, [&] { return std::pow(10.0, -8 * draw.uniform()); });
  };
  std::vector<double> cost = square_costs(n, m, draw);
  std::vector<double> a = masses(n);
  return {std::move(cost), std::move(a), masses(m)};
}

Drawn one_hot(std::size_t n, std::size_t m, Draw& draw) {
  Drawn drawn = square(n, m, draw);
  drawn.b.assign(m, 1e-6);
  drawn.b[draw.below(m)] = static_cast<double>(m);
  return drawn;
}

Drawn blocks(std::size_t n, std::size_t m, Draw& draw) {
  Drawn drawn = random_costs(n, m, draw);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      if (4 * i / n != 4 * j / m) drawn.cost[i * m + j] += 5;
    }
  }
  for (double& b : drawn.b) b += 1e-3 * draw.normal();
  return drawn;
}

Drawn bridges(std::size_t n, std::size_t m, Draw& draw) {
  Drawn drawn = random_costs(n, m, draw);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      if (2 * i / n != 2 * j / m) drawn.cost[i * m + j] = std::numeric_limits<double>::infinity();
    }
  }
  drawn.cost[m - 1] = drawn.cost[(n - 1) * m] = 1;
  // Half of what one row or one column has must cross: the first columns lack it.
  const std::size_t first_rows = (n + 1) / 2;
  const auto rows = static_cast<double>(first_rows) / static_cast<double>(n);
  const double crosses = 0.5 / static_cast<double>(std::max(n, m));
  const std::size_t half = (m + 1) / 2;
  for (std::size_t j = 0; j < m; ++j) {
    drawn.b[j] =
        j < half ? (rows - crosses) / static_cast<double>(half) : (1 - rows + crosses) / static_cast<double>(m - half);
  }
  return drawn;
}

Drawn separate(std::size_t n, std::size_t m, Draw& draw) {
  Drawn drawn = square(n, m, draw);
  std::vector<double> rows(3);
  std::vector<double> columns(3);
  for (std::size_t i = 0; i < n; ++i) rows[3 * i / n] += 1;
  for (std::size_t j = 0; j < m; ++j) columns[3 * j / m] += drawn.b[j] = draw.uniform() + 0.5;
  for (std::size_t j = 0; j < m; ++j) drawn.b[j] *= rows[3 * j / m] / columns[3 * j / m];
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      if (3 * i / n != 3 * j / m) drawn.cost[i * m + j] = std::numeric_limits<double>::infinity();
    }
  }
  return drawn;
}

struct NamedFamily {
  std::string_view name;
  Family draw;
};

const std::vector<NamedFamily>& families() {
  static const std::vector<NamedFamily> list = {
      {"random", random_costs},
      {"clusters-2", clusters<2>},
      {"clusters-8", clusters<8>},
      {"clusters-64", clusters<64>},
      {"normal-2", normal_clouds<2>},
      {"normal-3", normal_clouds<3>},
      {"offset-2", offset_clouds},
      {"spots-2", spots},
      {"square-2", square},
      {"line", line},
      {"integer", integer_costs},
      {"grid", lattice},
      {"anti-monge", anti_monge},
      {"dirichlet", dirichlet},
      {"wide-masses", wide_masses},
      {"one-hot", one_hot},
      {"blocks", blocks},
      {"bridges", bridges},
      {"separate", separate},
  };
  return list;
}

void scale_to_one(std::vector<double>& masses) {
  const double total = std::accumulate(masses.begin(), masses.end(), 0.0);
  for (double& x : masses) x /= total;
}

}  // namespace

const std::vector<std::string_view>& hard_families() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> result;
    for (const NamedFamily& family : families()) result.push_back(family.name);
    return result;
  }();
  return names;
}

HardProblem hard_problem(std::string_view family, std::size_t n, std::size_t m, std::uint64_t seed) {
  const auto found = std::ranges::find(families(), family, &NamedFamily::name);
  if (found == families().end()) throw std::invalid_argument("no family of hard problems: " + std::string(family));
  Draw draw(seed);
  Drawn drawn = found->draw(n, m, draw);
  double largest = 0;
  for (const double c : drawn.cost) largest = std::isfinite(c) ? std::max(largest, c) : largest;
  for (double& c : drawn.cost) c /= largest;
  scale_to_one(drawn.a);
  scale_to_one(drawn.b);
  return {n, m, std::move(drawn.cost), std::move(drawn.a), std::move(drawn.b)};
}

}  // namespace fedsinkhorn
