// How much memory an online solve needs at its peak. The peak of a process never falls, so this takes a fresh one.
#pragma once

#include <cstddef>
#include <string>

#include "instance.hpp"

namespace fedsinkhorn::bench {

/// Uniform in the plane, vectors that look like learned features beyond.
[[nodiscard]] Points online_points(std::size_t n, std::size_t dimension);

struct OnlineMemory {
  double peak_megabytes = 0;  ///< decimal; the whole process, its points included
  double seconds_per_iteration = 0;
};

/// Solves in a child: this program, started as `fedsinkhorn-bench --child n,dimension,iterations,threads`.
[[nodiscard]] OnlineMemory online_memory(std::size_t n, std::size_t dimension, int iterations, int threads);

/// What that child does.
void run_online_child(const std::string& arguments);

}  // namespace fedsinkhorn::bench
