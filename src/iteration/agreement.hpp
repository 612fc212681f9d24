// Small agreements: every client ends up with the same numbers, and so makes the same decisions.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "comm/collectives.hpp"
#include "core/marginal_error.hpp"

namespace fedsinkhorn {

[[nodiscard]] inline double greatest_of_all(const Collectives& clients, double x) {
  const std::vector<double> all = clients.of(Payload::note).allgather_numbers({&x, 1});
  return *std::max_element(all.begin(), all.end());
}

/// Element by element.
inline void greatest_of_all(const Collectives& clients, std::vector<double>& values) {
  const std::vector<double> all = clients.of(Payload::note).allgather_numbers(values);
  for (std::size_t k = 0; k < all.size(); ++k) {
    values[k % values.size()] = std::max(values[k % values.size()], all[k]);
  }
}

/// Sets each flag that is set at any client.
inline void any_of_all(const Collectives& clients, std::vector<bool>& flags) {
  std::vector<double> mine(flags.begin(), flags.end());
  const std::vector<double> all = clients.of(Payload::note).allgather_numbers(mine);
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (all[k] != 0) flags[k % flags.size()] = true;
  }
}

/// Combines each part over all clients.
inline void combine_of_all(const Collectives& clients, Norm norm, std::span<ErrorPart> parts,
                           Payload kind = Payload::note) {
  std::vector<double> mine;
  for (const ErrorPart& part : parts) mine.insert(mine.end(), {part.value, part.rest});
  const std::vector<double> all = clients.of(kind).allgather_numbers(mine);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    parts[k] = {all[2 * k], all[2 * k + 1]};
    for (std::size_t client = 1; client < clients.size(); ++client) {
      const double* at = all.data() + client * mine.size() + 2 * k;
      parts[k] = combined(norm, parts[k], {at[0], at[1]});
    }
  }
}

/// Adds up each sum over all clients.
inline void add_up_of_all(const Collectives& clients, std::span<ExactSum> sums, Payload kind = Payload::sum) {
  combine_of_all(clients, Norm::l1, sums, kind);
}

}  // namespace fedsinkhorn
