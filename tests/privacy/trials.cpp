#include "privacy/trials.hpp"

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

#include "core/random.hpp"
#include "privacy/held_apart.hpp"
#include "registry/registry.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn::testing {
namespace {

constexpr std::size_t kTrialClients = 4;  // a grid of 2 x 2

/// Lives until the program ends.
template <class T>
const T& kept(T value) {
  static std::deque<T> all;
  return all.emplace_back(std::move(value));
}

std::vector<Problem> whole(const OwnedProblem& owned, std::size_t clients) {
  return std::vector<Problem>(clients, kept(owned).view());
}

/// Every client its rows of the costs, its masses, and a quarter of the columns.
std::vector<Problem> rows_apart(const OwnedProblem& owned) {
  return held_apart(kept(owned), {{5, 1, 4, 3}, {4, 3, 2, 2}});
}

/// Points x and y in parts, or x alone.
std::vector<Problem> points_apart(bool y_in_parts) {
  constexpr std::size_t each = 3;
  constexpr std::size_t all = kTrialClients * each;
  std::vector<double> coordinates(2 * all);
  Random random(73);
  for (double& coordinate : coordinates) coordinate = random.uniform();
  const std::vector<double>& points = kept(coordinates);
  std::vector<Problem> problems(kTrialClients);
  for (std::size_t k = 0; k < kTrialClients; ++k) {
    const MatrixView<double> own{points.data() + 2 * k * each, each, 2};
    problems[k].cost = PointClouds{own, y_in_parts ? own : MatrixView<double>{points.data(), all, 2}};
    problems[k].epsilon = 0.1;
    problems[k].parts = {.rows = true, .columns = y_in_parts};
  }
  return problems;
}

/// Every other pair is forbidden, so that there are two components; masses are rounded to 1e-9 in each.
OwnedProblem with_forbidden_pairs() {
  constexpr std::size_t n = 8;
  OwnedProblem owned = random_problem(n, n, 0.1, 71);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (i % 2 != j % 2) owned.cost[i * n + j] = kInfinity;
    }
    owned.a[i] = 1.0 / n;
    owned.b[i] = (1 + (i % 2 == 0 ? 1e-9 : -1e-9)) / n;
  }
  return owned;
}

std::vector<Problem> with_initial_g(std::size_t clients) {
  const OwnedProblem& owned = kept(random_problem(12, 10, 0.1, 72));
  const std::vector<double>& g = kept(std::vector<double>(10, 0.25));
  std::vector<Problem> problems(clients, owned.view());
  for (Problem& problem : problems) problem.initial_g = {g.data(), g.size(), 1};
  return problems;
}

/// A total far from 1, and a row without mass.
OwnedProblem heavy() {
  OwnedProblem owned = random_problem(12, 10, 0.1, 74);
  owned.a[3] = 0;
  normalise(owned.a);
  for (std::vector<double>* masses : {&owned.a, &owned.b}) {
    for (double& mass : *masses) mass *= 1e6;
  }
  return owned;
}

using Change = std::function<void(Options&)>;

void as_it_is(Options& /*options*/) {}

Options changed(Options options, const Change& change) {
  change(options);
  return options;
}

/// Asked to stop at the first check.
Options interrupted(Options options) {
  static std::deque<std::atomic<bool>> requests;
  std::atomic<bool>& request = requests.emplace_back(false);
  options.interrupt = &request;
  options.tolerance = 0;
  options.on_check = [&request](const Progress&) { request = true; };
  return options;
}

}  // namespace

std::vector<Trial> trials(const TopologyEntry& topology, const std::string& policy, Server server) {
  const std::size_t clients = topology.several_clients ? kTrialClients : 1;
  const bool adds_securely = policies().find(policy, "`policy`").adds_securely;
  Options base;
  base.topology = topology.name;
  base.policy = policy;
  base.server = server;
  base.threads = 1;
  base.backend = "cpu";
  const OwnedProblem ordinary = random_problem(13, 11, 0.2, 75);

  std::vector<Trial> trials;
  const auto add = [&](const char* name, std::vector<Problem> problems, const Change& change) {
    trials.push_back({name, std::move(problems), changed(base, change)});
  };
  add("Defaults", whole(ordinary, clients), as_it_is);
  add("Square", whole(random_problem(12, 12, 0.2, 76), clients), as_it_is);
  add("Plain", whole(ordinary, clients), [](Options& options) { options.method = "sinkhorn"; });
  add("KeepLocal", whole(ordinary, clients), [](Options& options) { options.keep_local = true; });
  add("SeveralTargets", whole(random_problem(12, 10, 0.05, 77, 3), clients), as_it_is);
  add("ForbiddenPairs", whole(with_forbidden_pairs(), clients), as_it_is);
  add("Heavy", whole(heavy(), clients), as_it_is);
  add("Normalized", whole(heavy(), clients), [](Options& options) { options.normalize = true; });
  add("InitialG", with_initial_g(clients), as_it_is);
  add("Interrupted", whole(ordinary, clients), [](Options& options) { options = interrupted(options); });
  add("SmallEpsilon", whole(point_problem(40, 30, 1e-4, 78), clients),
      [](Options& options) { options.max_iterations = 2000; });
  if (clients > 1) {  // more than send small messages to each other directly
    add("ManyClients", whole(random_problem(40, 40, 0.5, 81), kManyClients + 1),
        [](Options& options) { options.max_iterations = 10; });
  }
  const Layout layout = topology.layout(0, clients, base);
  if (clients > 1 && layout.takes_parts) {
    add("PointsApart", points_apart(true), as_it_is);
    if (!layout.whole_columns) add("XApart", points_apart(false), as_it_is);
    if (!layout.whole_columns) add("RowsApart", rows_apart(ordinary), as_it_is);
  }
  if (topology.is_asynchronous) return trials;
  add("Logs", whole(ordinary, clients), [](Options& options) { options.stabilization = Stabilization::log; });
  add("TwoPasses", whole(ordinary, clients), [](Options& options) { options.passes = Passes::two; });
  add("Blocks", whole(block_problem(30, 30, 0.02, 79), clients),
      [](Options& options) { options.max_iterations = 500; });
  if (topology.name != "grid") {
    add("Newton", whole(point_problem(40, 30, 1e-3, 80), clients), [](Options& options) { options.method = "newton"; });
  }
  if (adds_securely) return trials;
  add("Overrelaxed", whole(ordinary, clients), [](Options& options) { options.method = "overrelaxed"; });
  add("LargestError", whole(ordinary, clients), [](Options& options) { options.norm = Norm::linf; });
  if (topology.takes_local_steps) {
    add("LocalSteps", whole(ordinary, clients), [](Options& options) { options.local_steps = 3; });
  }
  return trials;
}

std::vector<Trial> private_trials(const TopologyEntry& topology, const MechanismEntry& mechanism, Server server) {
  const std::size_t clients = topology.several_clients ? kTrialClients : 1;
  Options base;
  base.topology = topology.name;
  base.policy = "private";
  base.mechanism = mechanism.name;
  base.server = server;
  base.threads = 1;
  base.releases = 20;
  base.noise = 0.05;
  if (mechanism.public_columns) {
    base.record_mass = 1;
  } else {
    base.clip = 6;
  }
  const OwnedProblem ordinary = random_problem(13, 11, 0.2, 75);
  std::vector<Trial> trials;
  const auto add = [&](const char* name, std::vector<Problem> problems, const Change& change) {
    trials.push_back({name, std::move(problems), changed(base, change)});
  };
  add("Defaults", whole(ordinary, clients), as_it_is);
  add("SeveralTargets", whole(random_problem(12, 10, 0.05, 77, 3), clients), as_it_is);
  add("ForbiddenPairs", whole(with_forbidden_pairs(), clients), as_it_is);
  add("Interrupted", whole(ordinary, clients), [](Options& options) { options = interrupted(options); });
  add("Seeded", whole(ordinary, clients), [](Options& options) { options.noise_seed = 3; });
  if (mechanism.public_columns) {
    add("Budget", whole(ordinary, clients), [](Options& options) {
      options.noise = 0;
      options.releases = 0;
      options.budget = {100, 1e-6};
    });
    add("WithCost", whole(ordinary, clients), [](Options& options) { options.cost_bound = 1; });
    add("Colluding", whole(ordinary, clients),
        [clients](Options& options) { options.colluding = clients > 1 ? clients - 1 : 0; });
    if (clients > 1) add("XApart", points_apart(false), as_it_is);
  } else {
    add("Slices", whole(ordinary, clients), [](Options& options) { options.clip_kind = ClipKind::slice; });
    add("Centred", whole(ordinary, clients), [](Options& options) { options.centre = true; });
    if (topology.route == Route::direct) {
      add("NowAndThen", whole(ordinary, clients), [](Options& options) { options.release_every = 4; });
    }
  }
  if (clients > 1) add("ManyClients", whole(random_problem(40, 40, 0.5, 81), kManyClients + 1), as_it_is);
  return trials;
}

}  // namespace fedsinkhorn::testing
