// Rounds of Sinkhorn that each read the stored kernel once, in one launch.
//
// A block has a part of the columns of some rows; v and its sum of r stay in registers, column by column. Its warps:
//   14 consumers   the dots K v of step s + 1, then r += u K of step s, from a ring in shared memory
//   1 reducer      q = the dots of all warps and of all blocks of the cluster, u = a / q
//   1 producer     keeps the ring full
// They synchronize at barriers in shared memory, so the reducer's latency hides behind the consumers' next step. After
// each round the blocks wait for each other twice: for all parts of r, and for the new v. K does not depend on v, so
// meanwhile the producer fills the ring with the next round's rows, and memory stays busy.
#pragma once

#include "backend/cuda/dense_consumer.cuh"
#include "backend/cuda/dense_task.cuh"
#include "core/half_step.hpp"

namespace fedsinkhorn::cuda::dense {

/// Computes the status of a round from the parts of all blocks. One warp.
__device__ inline void combine_status(const Task& task, int round) {
  const PlainRounds& rounds = task.rounds;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const auto joined = [&](const RoundPart* parts, int count) {
    RoundPart all;
    for (int i = lane; i < count; i += 32) {
      RoundPart part;
      part.error = __ldcg(&parts[i].error);
      part.least = __ldcg(&parts[i].least);
      part.greatest = __ldcg(&parts[i].greatest);
      all.join(rounds.norm, part);
    }
    all.join_warp(rounds.norm);
    return all;
  };
  const int blocks = static_cast<int>(gridDim.x), teams = task.shape.teams;
  if (lane == 0) {
    wait_for_count(&task.scratch.meeting->status[round & 1], static_cast<unsigned>((round / 2 + 1) * (blocks + teams)));
  }
  __syncwarp();
  const RoundPart of_rows = joined(task.scratch.of_rows + (round & 1) * teams, teams);
  RoundPart all = joined(task.scratch.of_columns + (round & 1) * blocks, blocks);
  const double error_b = all.error;
  all.join(rounds.norm, of_rows);
  if (lane != 0) return;
  rounds.status[round] = {of_rows.error, error_b, all.least, all.greatest};
  *rounds.made = round + 1;
  const bool safe = all.least >= 1 / rounds.safe_scaling && all.greatest <= rounds.safe_scaling;
  task.scratch.meeting->stop[round] = error_b <= rounds.tolerance || !safe;
}

/// Memory serves some multiprocessors faster than others, and a round ends when the slowest team is done. So no team
/// may be more than a step ahead of the average, to leave bandwidth to the others. Affects only timing. One thread per
/// team.
class Pace {
 public:
  __device__ Pace(const Task& task, int all_steps)
      : steps_(&task.scratch.meeting->steps), teams_(static_cast<unsigned>(task.shape.teams)) {
    most_steps_ = (all_steps + task.shape.teams - 1) / task.shape.teams;
  }
  __device__ void before_step() {
    while (made_ * teams_ > seen_ + lead * teams_) seen_ = count_of(steps_);
    seen_ = count_of(steps_);  // used in the next step, so nothing waits for it
    count();
  }
  /// Equalizes the teams' step counts, so a team that has finished a round is not behind one that has not.
  __device__ void after_round(int steps) {
    if (steps < most_steps_) count();
  }

 private:
  static constexpr unsigned lead = 1;

  __device__ void count() {
    count_up_loosely(steps_);
    ++made_;
  }

  unsigned* steps_;
  unsigned teams_;
  int most_steps_;
  unsigned made_ = 0, seen_ = 0;
};

/// Whether another round follows, for warps that did not decide it. A slot of go_on is rewritten two rounds later; no
/// warp gets there without rows and u that come after this read.
template <class Compute, int rows>
__device__ bool goes_on(Shared<Compute, rows>& shared, int round) {
  wait(&shared.round_ended[round & 1], static_cast<std::uint32_t>(round >> 1) & 1U);
  return shared.go_on[round & 1] != 0;
}

template <class Compute, int rows>
__device__ void produce(const Task& task, const Place& place, Shared<Compute, rows>& shared, unsigned char* ring) {
  const std::uint32_t slots = static_cast<std::uint32_t>(task.shape.slots);
  const bool leader = (threadIdx.x & 31) == 0;
  const bool keeps_status = blockIdx.x == 0 && task.rounds.b != nullptr;
  const unsigned char* part = task.kernel + place.rank * task.part_bytes;
  Pace pace(task, (task.rows + rows - 1) / rows);
  Cursor cursor;
  const auto issue = [&](int from, int to) {
    for (int step = from; step < to; ++step, cursor.next(slots)) {
      if (!leader) continue;
      if (place.rank == 0) pace.before_step();
      wait(&shared.empty[cursor.slot], cursor.parity ^ 1U);  // returns at once for an unused slot
      arrive_expecting(&shared.full[cursor.slot], rows * place.bytes);
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        // beyond the last row: the last row again; its u is 0 there
        const int row = min((place.team + step * task.shape.teams) * rows + i, task.rows - 1);
        copy_to_shared(ring + cursor.slot * task.shape.slot_bytes + i * place.bytes, part + row * task.row_pitch,
                       place.bytes, &shared.full[cursor.slot]);
      }
    }
  };
  const int ahead = min(task.shape.slots, place.steps);
  issue(0, ahead);
  for (int round = 0;; ++round) {
    if (blockIdx.x == 0) {
      if (keeps_status && round > 0) combine_status(task, round - 1);
      if (leader) count_up(&task.scratch.meeting->parts_of_r);
    }
    issue(ahead, place.steps);
    if (leader && place.rank == 0) pace.after_round(place.steps);
    const Cursor next_round = cursor;
    const bool prefetch = round + 1 < task.rounds.count;
    if (prefetch) issue(0, ahead);
    __syncwarp();
    if (goes_on(shared, round)) continue;
    if (keeps_status) combine_status(task, round);
    if (prefetch && leader) {  // unused copies must not outlive the block
      cursor = next_round;
      for (int i = 0; i < ahead; ++i, cursor.next(slots)) wait(&shared.full[cursor.slot], cursor.parity);
    }
    return;
  }
}

template <Storage storage, int rows>
__device__ void reduce(const Task& task, const Place& place, Shared<typename Numbers<storage>::Compute, rows>& shared) {
  using Compute = typename Numbers<storage>::Compute;
  constexpr double scale = Numbers<storage>::scale;
  const PlainRounds& rounds = task.rounds;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int parts = task.shape.parts, teams = task.shape.teams;
  const int line = min(lane, rows - 1);  // lane i has row i of a step; the others repeat the last
  std::uint32_t number = 0;              // of the step, over all rounds
  for (int round = 0;; ++round) {
    RoundPart part;
    const auto row_of = [&](int step) { return (place.team + step * teams) * rows + lane; };
    const auto here = [&](int step) { return lane < rows && step < place.steps && row_of(step) < task.rows; };
    double next_a = here(0) ? rounds.a[row_of(0)] : 0;
    double next_u = here(0) ? __ldcg(rounds.u + row_of(0)) : 0;
    for (int step = 0; step < place.steps; ++step, ++number) {
      const int buffer = static_cast<int>(number & 1U);
      const std::uint32_t parity = (number >> 1) & 1U;
      const double a = next_a, old_u = next_u;
      next_a = here(step + 1) ? rounds.a[row_of(step + 1)] : 0;
      next_u = here(step + 1) ? __ldcg(rounds.u + row_of(step + 1)) : 0;

      wait(&shared.dots_ready[buffer], parity);
      Compute sums[4] = {};
#pragma unroll
      for (int warp = 0; warp < kConsumerWarps; ++warp) sums[warp & 3] += shared.dots[buffer][line][warp];
      double q = static_cast<double>((sums[0] + sums[1]) + (sums[2] + sums[3]));
      if (parts > 1) {
        if (lane == 0) {
          arrive_expecting(&shared.parts_ready[buffer], static_cast<std::uint32_t>(parts * rows * sizeof(double)));
        }
        if (lane < rows) {
          for (int to = 0; to < parts; ++to) {
            send(q, &shared.of_parts[buffer][lane][place.rank], &shared.parts_ready[buffer],
                 static_cast<std::uint32_t>(to));
          }
        }
        wait_for_cluster(&shared.parts_ready[buffer], parity);
        q = 0;
        for (int from = 0; from < parts; ++from) q += shared.of_parts[buffer][line][from];
      }
      q *= scale;
      const double u = here(step) ? ScalingRule{}.scaling(a, q) : 0;
      if (lane < rows) shared.u[buffer][lane] = static_cast<Compute>(u * scale);
      arrive_as_warp(&shared.u_ready[buffer]);
      if (place.rank == 0 && here(step)) {
        part.meet(rounds.norm, old_u * q - a, q);
        rounds.q[row_of(step)] = q;
        rounds.u[row_of(step)] = u;
      }
    }
    if (place.rank == 0 && rounds.b != nullptr) {
      part.join_warp(rounds.norm);
      if (lane == 0) {
        task.scratch.of_rows[(round & 1) * teams + place.team] = part;
        count_up(&task.scratch.meeting->status[round & 1]);
      }
      __syncwarp();
    }
    if (!goes_on(shared, round)) return;
  }
}

template <Storage storage, int groups, int rows>
__global__ void __launch_bounds__(kBlockThreads, 1) rounds_kernel(const __grid_constant__ Task task) {
  using Numbers = Numbers<storage>;
  extern __shared__ __align__(128) unsigned char ring[];
  __shared__ Shared<typename Numbers::Compute, rows> shared;
  const Place place(task, rows, Numbers::per_group);
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < task.shape.slots; ++slot) {
      init(&shared.full[slot], 1);
      init(&shared.empty[slot], kConsumerWarps * kArrivalsOfWarp);
    }
    for (int buffer = 0; buffer < 2; ++buffer) {
      init(&shared.dots_ready[buffer], kConsumerWarps * kArrivalsOfWarp);
      init(&shared.parts_ready[buffer], 1);
      init(&shared.u_ready[buffer], kArrivalsOfWarp);
      init(&shared.round_ended[buffer], 1);
    }
    publish_barriers();
  }
  __syncthreads();
  cluster_sync();  // no block may send to one whose barriers do not exist yet
  const unsigned warp = threadIdx.x >> 5;
  if (warp < kConsumerWarps) {
    consume<storage, groups, rows>(task, place, shared, ring);
  } else if (warp == kConsumerWarps) {
    reduce<storage, rows>(task, place, shared);
  } else {
    produce(task, place, shared, ring);
  }
  __syncwarp();
  cluster_sync();  // nor to a block that has ended
  Meeting& meeting = *task.scratch.meeting;
  if (threadIdx.x == 0 && is_last(&meeting.gone, gridDim.x)) {
    meeting.parts_of_r = meeting.new_v = meeting.status[0] = meeting.status[1] = meeting.steps = meeting.gone = 0;
  }
}

}  // namespace fedsinkhorn::cuda::dense
