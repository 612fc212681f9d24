// Seconds of a pass over a block of the kernel, from passes that were measured.
#pragma once

#include <cstddef>
#include <string>

#include "fedsinkhorn/cost_model.hpp"

namespace fedsinkhorn {

struct PassQuestion {
  std::string kernel = "dense";
  Precision precision = Precision::float64;
  std::string verb = "fused";
  std::size_t dimension = 0;
  std::size_t targets = 1;
  std::size_t clients = 1;    ///< on the machine
  std::size_t computing = 1;  ///< of them at the same time
  int threads = 1;            ///< of each
  std::size_t rows = 0;       ///< of this client's block
  std::size_t columns = 0;
  double working_set = 0;  ///< bytes that an iteration reads on the machine
};

struct PassCost {
  double seconds = 0;
  std::string note{};  ///< what is assumed
};

/// Seconds per entry depend on how many bytes an iteration reads (caches), on the number of targets, and on how many
/// threads of the machine compute at once. Between measured values they are interpolated: over the logarithms of
/// the bytes and of rows over columns, and linearly over targets and dimensions. Throws InputError if the profile has
/// no such kernel.
[[nodiscard]] PassCost pass_cost(const Profile& profile, const PassQuestion& question);

/// Bytes of an entry that a pass reads; 0 for a kernel that is not stored.
[[nodiscard]] double bytes_of_entry(const std::string& kernel, Precision precision);

}  // namespace fedsinkhorn
