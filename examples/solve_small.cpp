// Two places send equal masses to three: what does it cost, and what are the prices?
#include <fedsinkhorn/fedsinkhorn.hpp>
#include <iostream>
#include <vector>

int main() {
  const std::vector<double> cost = {0, 1, 4,   // from place 0
                                    4, 1, 0};  // from place 1
  fedsinkhorn::Problem problem;                // masses not given are uniform
  problem.cost = fedsinkhorn::CostMatrix{fedsinkhorn::MatrixView<double>{cost.data(), 2, 3}};
  problem.epsilon = 0.1;
  const fedsinkhorn::Result result = fedsinkhorn::solve(problem);
  std::cout << "cost " << result.cost.linear << ", potentials f " << result.f[0] << ' ' << result.f[1] << '\n';
  return result.status == fedsinkhorn::Status::converged ? 0 : 1;
}
