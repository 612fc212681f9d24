// How one pass over a stored kernel is spread over a device.
#pragma once

#include <cstddef>

#include "backend/cuda/dense_pass.hpp"

namespace fedsinkhorn::cuda::dense {

constexpr int kConsumerWarps = 14;
constexpr int kConsumerThreads = 32 * kConsumerWarps;
/// Consumers, the reducer and the producer: 16 warps, so that a thread can have 128 registers.
constexpr int kBlockThreads = kConsumerThreads + 64;
constexpr int kMostSlots = 16;
constexpr int kMostParts = 8;
constexpr int kMostRounds = 64;

/// The blocks of a cluster share a row; each has a part. Each consumer thread has `groups` groups of 16 bytes of its
/// block's part; `rows_a_step` rows are summed at a time and stored in one slot of a ring in shared memory.
struct DenseShape {
  int parts = 0;  ///< 0: rows are too long, K is read twice per round
  int groups = 0;
  int rows_a_step = 0;
  int slots = 0;
  int teams = 0;                 ///< clusters; team t has the steps t, t + teams, ...
  std::size_t part_columns = 0;  ///< of every part except the last; a multiple of 64 bytes
  std::size_t slot_bytes = 0;

  [[nodiscard]] constexpr int blocks() const { return teams * parts; }
};

/// What depends on the columns: all but slots and teams.
[[nodiscard]] DenseShape dense_layout(Storage storage, std::size_t columns);

}  // namespace fedsinkhorn::cuda::dense
