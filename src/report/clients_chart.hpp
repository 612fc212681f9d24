// Figures of clients, as charts and as a table; also of live pages.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "report/page.hpp"

namespace fedsinkhorn::report {

struct ClientFigures {
  std::uint64_t client = 0;
  std::uint64_t first_row = 0;
  std::uint64_t last_row = 0;
  double compute_seconds = 0;
  double communication_seconds = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t peak_memory_bytes = 0;
};

/// The index of the one that computes longest, if clearly longer than the median.
[[nodiscard]] std::optional<std::size_t> slowest_of(const std::vector<ClientFigures>& clients);
[[nodiscard]] Table clients_table(const std::vector<ClientFigures>& clients);
[[nodiscard]] Chart client_times_chart(const std::vector<ClientFigures>& clients);
[[nodiscard]] Chart client_bytes_chart(const std::vector<ClientFigures>& clients);

}  // namespace fedsinkhorn::report
