// Bytes a client will hold, known before anything is allocated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fedsinkhorn/options.hpp"
#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// The sizes of one client's part.
struct ClientShape {
  std::size_t clients = 1;
  std::size_t rows = 0;     ///< own
  std::size_t columns = 0;  ///< own
  std::size_t block_rows = 0;
  std::size_t block_columns = 0;
  std::size_t all_rows = 0;
  bool whole_columns = false;  ///< also holds all rows of its own columns
  std::size_t targets = 1;
  std::size_t dimension = 0;    ///< of points; 0: a cost matrix
  std::size_t entry_bytes = 8;  ///< per entry of the matrix
  double copied_bytes = 0;      ///< of costs on a device, if the host computes
};

[[nodiscard]] ClientShape shape_of(const CheckedProblem& problem);
/// Of client k of that many with even slices.
[[nodiscard]] ClientShape even_shape(const CostShape& costs, std::size_t targets, const Layout& layout,
                                     std::size_t clients, std::size_t k);
/// The same for what other clients may know: with secure sums, rows without mass are counted.
[[nodiscard]] ClientShape shape_to_tell(const Collectives& clients, const CheckedProblem& problem);

/// Empty if it has none.
[[nodiscard]] std::string machine_name();
/// A number that stands for that name in this solve, almost certainly for no other (Collectives::digest_key).
[[nodiscard]] double pseudonym(const Collectives& clients, std::string_view name);

/// Bytes that each of that many clients needs, whatever the problem is.
[[nodiscard]] double bytes_to_meet(std::size_t clients);

/// At most that many bytes on the host, without inputs. As float64, which cannot wrap around.
[[nodiscard]] double bytes_for(const Options& options, const ClientShape& shape, int threads);
/// The kernel's share of them; with backend cuda, the bytes on the device instead.
[[nodiscard]] double kernel_bytes_for(const Options& options, const ClientShape& shape, int threads);

[[nodiscard]] std::uint64_t whole_bytes(double bytes);

/// If clients need more memory than their machine has, throws InputError on all clients, with options that would help.
void require_memory(const Collectives& clients, const Options& options, const CheckedProblem& problem, int threads);

}  // namespace fedsinkhorn
