// Bytes a client will hold, known before anything is allocated.
#pragma once

#include <cstdint>

#include "fedsinkhorn/options.hpp"
#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// What one client has to do with, in numbers.
struct ClientShape {
  std::size_t clients = 1;
  std::size_t rows = 0;     ///< own
  std::size_t columns = 0;  ///< own
  std::size_t block_rows = 0;
  std::size_t block_columns = 0;
  std::size_t all_rows = 0;
  bool whole_columns = false;  ///< besides, all rows of its own columns
  std::size_t targets = 1;
  std::size_t dimension = 0;    ///< of points; 0: a cost matrix
  std::size_t entry_bytes = 8;  ///< of an entry of that
};

[[nodiscard]] ClientShape shape_of(const CheckedProblem& problem);

/// A number that other machines hardly have.
[[nodiscard]] double this_machine();

/// What a client of so many needs whatever the problem is.
[[nodiscard]] double bytes_to_meet(std::size_t clients);

/// On the host. As float64, which no shape can make wrap. Inputs are not counted.
[[nodiscard]] double bytes_for(const Options& options, const ClientShape& shape, int threads);
/// Of that, the kernel; backend cuda: what is on the device instead.
[[nodiscard]] double kernel_bytes_for(const Options& options, const ClientShape& shape, int threads);

[[nodiscard]] std::uint64_t whole_bytes(double bytes);

/// Throws InputError on all clients if those on some machine need more than it has, with the options that would help.
void require_memory(const Collectives& clients, const Options& options, const CheckedProblem& problem, int threads);

}  // namespace fedsinkhorn
