// What can be measured. Each section is a file of its own; main.cpp lists them.
#pragma once

#include <cstddef>

#include "report.hpp"

namespace fedsinkhorn::bench {

struct Settings {
  std::size_t n = 0;    ///< rows and columns; 0: the size the section is about
  int repetitions = 0;  ///< rounds; 0: as many as the section thinks it needs
  int threads = 1;
  int clients = 2;     ///< processes, where there are several
  bool quick = false;  ///< small and few: proves that everything runs, measures nothing

  [[nodiscard]] std::size_t size(std::size_t usual) const { return n != 0 ? n : quick ? 1000 : usual; }
  [[nodiscard]] int rounds(int usual) const { return repetitions != 0 ? repetitions : quick ? 3 : usual; }
};

/// One pass over a stored kernel against one plain read of it.
void measure_dense(const Settings& settings, Report& report);
/// What a solve does before its second iteration, against the arithmetic and the memory traffic it cannot avoid.
void measure_first_round(const Settings& settings, Report& report);
/// What an iteration takes while other processes want the same cores.
void measure_shared(const Settings& settings, Report& report);
/// A few hundred points: what acceleration adds to an iteration, and a whole call beside POT's.
void measure_small(const Settings& settings, Report& report);
/// What a small epsilon costs an iteration.
void measure_small_epsilon(const Settings& settings, Report& report);
/// Problems on which acceleration alone is slow: rounds and seconds of `auto`.
void measure_hard(const Settings& settings, Report& report);
/// A kernel computed on the fly against the arithmetic it cannot avoid.
void measure_online(const Settings& settings, Report& report);
/// Many targets at once against the two matrix products alone.
void measure_targets(const Settings& settings, Report& report);
/// The same iterations in PyTorch and POT.
void measure_peers(const Settings& settings, Report& report);
/// Seconds to a small error, from the cost matrix to the result, here and in PyTorch and POT.
void measure_to_tolerance(const Settings& settings, Report& report);
/// Topologies across processes against the paper's stack.
void measure_federated(const Settings& settings, Report& report);
/// What it costs a round to keep data apart.
void measure_policies(const Settings& settings, Report& report);
/// What a client of each topology holds.
void measure_memory(const Settings& settings, Report& report);

}  // namespace fedsinkhorn::bench
