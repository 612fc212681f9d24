#include "online_memory.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "child_process.hpp"
#include "fedsinkhorn/solve.hpp"
#include "instance.hpp"

namespace fedsinkhorn::bench {
namespace {

// Not getrusage: its peak survives exec, and so would be that of the parent.
double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    double kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024 / 1e6;
  }
  throw std::runtime_error("online: /proc/self/status does not tell the peak memory");
}

}  // namespace

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
  options.backend = "cpu";
  options.method = "sinkhorn";
  options.kernel = KernelKind::online;
  options.tolerance = 0;
  options.max_iterations = iterations + 1;
  options.threads = threads;
  const Result result = solve(instance.problem(), options);
  const double seconds = (result.trace.back().seconds - result.trace.front().seconds) / iterations;
  fmt::print("{} {}\n", peak_megabytes(), seconds);
}

}  // namespace fedsinkhorn::bench
