// Data shared by the warps of dense_rounds.cuh.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/async_copy.cuh"
#include "backend/cuda/dense_shape.hpp"
#include "backend/cuda/operator.hpp"
#include "backend/cuda/round_parts.cuh"
#include "backend/cuda/stored_numbers.cuh"

namespace fedsinkhorn::cuda::dense {

/// Counters that blocks wait for, each in its own cache line. Zero, except stop, before and after a launch.
struct Meeting {
  alignas(128) unsigned parts_of_r;  ///< by all blocks and the producer of the first
  alignas(128) unsigned new_v;       ///< by all blocks
  alignas(128) unsigned status[2];   ///< by all blocks and all teams, for even and odd rounds
  alignas(128) unsigned gone;        ///< by all blocks
  alignas(128) unsigned steps;       ///< by all teams
  alignas(128) int stop[kMostRounds];
};

/// Device memory. Compute is that of the storage.
struct Scratch {
  Meeting* meeting = nullptr;
  void* v = nullptr;                ///< Compute[pitch], times the storage's scale; zero beyond the columns
  void* parts_of_r = nullptr;       ///< Compute[teams][pitch]
  RoundPart* of_rows = nullptr;     ///< [2][teams], for even and odd rounds
  RoundPart* of_columns = nullptr;  ///< [2][blocks]
  std::size_t pitch = 0;            ///< parts * part_columns
};

struct Task {
  const unsigned char* kernel = nullptr;
  std::size_t row_pitch = 0;   ///< bytes from row to row
  std::size_t part_bytes = 0;  ///< part_columns in bytes
  int rows = 0;
  int columns = 0;
  DenseShape shape;
  int share = 0;  ///< columns whose r a block sums; even
  Scratch scratch;
  PlainRounds rounds;  ///< b = nullptr: one round, without v and status
};

template <class Compute, int rows>
struct Shared {
  Barrier full[kMostSlots];   ///< the slot's rows have arrived
  Barrier empty[kMostSlots];  ///< all consumers have finished with them
  Barrier dots_ready[2];      ///< for even and odd steps
  Barrier parts_ready[2];     ///< of_parts has arrived from the whole cluster
  Barrier u_ready[2];
  Barrier round_ended[2];  ///< go_on is known, for even and odd rounds
  alignas(16) Compute dots[2][rows][kConsumerWarps];
  double of_parts[2][rows][kMostParts];
  Compute u[2][rows];
  int go_on[2];
  RoundPart of_warps[kConsumerWarps];
  alignas(16) double2 slices[kConsumerThreads];
};

__device__ inline void sync_consumers() { sync_some<1, kConsumerThreads>(); }

/// A step's slot in the ring, and the parity of the ring's turn.
struct Cursor {
  std::uint32_t slot = 0;
  std::uint32_t parity = 0;

  __device__ void next(std::uint32_t slots) {
    if (++slot == slots) {
      slot = 0;
      parity ^= 1U;
    }
  }
};

/// This block's share of K.
struct Place {
  int rank;  ///< its part of the columns
  int team;
  int steps;             ///< per round
  std::uint32_t bytes;   ///< per row
  std::uint32_t groups;  ///< bytes / 16

  __device__ Place(const Task& task, int rows_a_step, int per_group)
      : rank(static_cast<int>(cluster_rank())), team(static_cast<int>(blockIdx.x) / task.shape.parts) {
    const int all_steps = (task.rows + rows_a_step - 1) / rows_a_step;
    steps = (all_steps - team + task.shape.teams - 1) / task.shape.teams;
    const int part_columns = static_cast<int>(task.shape.part_columns);
    const int columns = min(part_columns, task.columns - rank * part_columns);
    groups = static_cast<std::uint32_t>((columns + per_group - 1) / per_group);
    bytes = 16 * groups;
  }
};

}  // namespace fedsinkhorn::cuda::dense
