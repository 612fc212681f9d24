#include "online_memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdio>
#include <stdexcept>

#include "child_process.hpp"
#include "fedsinkhorn/solve.hpp"
#include "instance.hpp"

namespace fedsinkhorn::bench {

OnlineMemory online_memory(std::size_t n, std::size_t dimension, int iterations, int threads) {
  ChildProcess child({"/proc/self/exe", "--child", fmt::format("{},{},{},{}", n, dimension, iterations, threads)});
  const std::string answer = child.read_line();
  OnlineMemory memory;
  if (std::sscanf(answer.c_str(), "%lf %lf", &memory.peak_megabytes, &memory.seconds_per_iteration) != 2) {
    throw std::runtime_error("online: the child answered '" + answer + "'");
  }
  return memory;
}

Points online_points(std::size_t n, std::size_t dimension) {
  return random_points(dimension <= 3 ? CloudKind::uniform : CloudKind::embedding, n, dimension);
}

void run_online_child(const std::string& arguments) {
  std::size_t n = 0;
  std::size_t dimension = 0;
  int iterations = 0;
  int threads = 0;
  if (std::sscanf(arguments.c_str(), "%zu,%zu,%d,%d", &n, &dimension, &iterations, &threads) != 4) {
    throw std::runtime_error("--child " + arguments + ": not n,dimension,iterations,threads");
  }
  const Instance instance(online_points(n, dimension), 0.05, threads);
  Options options;
  options.kernel = KernelKind::online;
  options.tolerance = 0;
  options.max_iterations = iterations + 1;
  options.threads = threads;
  const Result result = solve(instance.problem(), options);
  const double seconds = (result.trace.back().seconds - result.trace.front().seconds) / iterations;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{} {}\n", static_cast<double>(usage.ru_maxrss) * 1024 / 1e6, seconds);
}

}  // namespace fedsinkhorn::bench
