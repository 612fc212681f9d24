// Three parties, each with rows of its own, solve a problem together without showing each other a row.
#include <cstdio>
#include <fedsinkhorn/fedsinkhorn.hpp>
#include <vector>

int main() {
  // Costs of each party's rows to four columns that all know.
  const std::vector<std::vector<double>> costs = {{0, 1, 4, 9, 1, 0, 1, 4}, {4, 1, 0, 1}, {9, 4, 1, 0}};
  std::vector<fedsinkhorn::Problem> parties;
  for (const std::vector<double>& own : costs) {
    fedsinkhorn::Problem problem;
    problem.cost = fedsinkhorn::CostMatrix{fedsinkhorn::MatrixView<double>{own.data(), own.size() / 4, 4}};
    problem.epsilon = 0.1;
    problem.parts.rows = true;
    parties.push_back(problem);
  }
  fedsinkhorn::Options options;
  options.topology = "row-reduce";
  const fedsinkhorn::Result result = fedsinkhorn::solve(parties, options);
  std::printf("<P, C> = %.6f, by %zu clients\n", result.cost.linear, result.clients.size());
}
