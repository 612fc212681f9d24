// Times calls of solve() from C++, one for each line on standard input, for bench/python/bench.py.
//   fedsinkhorn-calls C.npy a.npy b.npy epsilon
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "fedsinkhorn/fedsinkhorn.hpp"

namespace {

using namespace fedsinkhorn;

void answer_lines(const Problem& problem) {
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto started = std::chrono::steady_clock::now();
    const Result result = solve(problem);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started;
    fmt::print("{} {} {}\n", taken.count(), result.iterations, result.status == Status::converged ? 1 : 0);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
    if (arguments.size() != 5) {
      fmt::print(stderr, "fedsinkhorn-calls C.npy a.npy b.npy epsilon\n");
      return 2;
    }
    const auto read = [](const char* path) { return NpyFile::open(path).to_vector(); };  // into memory, as NumPy does
    const std::vector<double> costs = read(arguments[1]);
    const std::vector<double> a = read(arguments[2]);
    const std::vector<double> b = read(arguments[3]);
    const Problem problem{.cost = CostMatrix{MatrixView<double>{costs.data(), a.size(), b.size()}},
                          .epsilon = std::stod(arguments[4]),
                          .a = a,
                          .b = {b.data(), b.size(), 1}};
    answer_lines(problem);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
