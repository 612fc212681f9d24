// What a topology states about its rounds, as every client would say it, and what is counted.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "backend/cpu/cpu_block.hpp"
#include "backend/cpu/make_kernel.hpp"
#include "comm/counting.hpp"
#include "comm/secure_sums.hpp"
#include "comm/transports.hpp"
#include "simd/simd.hpp"
#include "support/registered.hpp"
#include "topology/round.hpp"
#include "topology/slice_group.hpp"

namespace fedsinkhorn::testing {

inline BlockSettings block_settings(const Options& options, const CheckedProblem& problem) {
  return {{options.precision, problem.epsilon, 1},
          cpu::simd("auto"),
          make_cpu_block<make_dense_kernel>,
          make_cpu_block<make_dense_kernel>};
}

/// Runs use(context, traffic) at every client of options.topology, on threads.
inline void at_every_client(
    const Problem& problem, const Options& options,
    const std::function<void(const TopologyContext& context, const CountingCommunicator& traffic)>& use) {
  const TopologyEntry& entry = topology_named(options.topology);
  const LayoutOf layouts = layouts_of(options.topology, options.clients, options);
  run_on_threads(options.clients, Seconds(60), [&](Communicator& communicator) {
    CountingCommunicator traffic(communicator);
    std::unique_ptr<SecureSums> sums;
    if (options.policy == "sums" && options.clients > 1) {
      sums = std::make_unique<SecureSums>(make_peer_summing(traffic));
    }
    const Collectives clients(traffic, entry.route, std::nullopt, sums.get());
    const CheckedProblem checked = check_problem(problem, options, layouts, clients, 1);
    use({checked, options, clients, block_settings(options, checked)}, traffic);
  });
}

/// The round that this client would make.
inline RoundShape shape_of_round(const TopologyContext& context) {
  const CheckedProblem& problem = context.problem;
  RoundShape shape;
  shape.client = problem.client;
  shape.rows = sizes_of(problem.rows.slices);
  shape.columns = sizes_of(problem.columns.slices);
  shape.targets = problem.targets;
  shape.note_numbers = kNoteNumbers;
  shape.grid = context.options.grid;
  shape.passes = context.options.passes;
  shape.adds_securely = context.clients.sums() != nullptr;
  shape.has_server = context.clients.route() == Route::through_server;
  return shape;
}

struct StatedRound {
  std::uint64_t exchanges = 0;
  Sent sent;
  bool rows_stay = false;
};

/// By client, with all targets of the problem.
inline std::vector<StatedRound> stated_rounds(const Problem& problem, const Options& options) {
  std::vector<StatedRound> rounds(options.clients);
  at_every_client(problem, options, [&](const TopologyContext& context, const CountingCommunicator&) {
    const std::unique_ptr<Exchanges> exchanges = topology_named(options.topology).exchanges(context);
    rounds[context.problem.client] = {exchanges->each_round(),
                                      topology_named(options.topology).round(shape_of_round(context)).sent(),
                                      exchanges->rows_stay()};
  });
  return rounds;
}

/// What this client sends in a round, verb by verb.
inline Sent counted_round(Topology& topology, const CheckedProblem& problem, const CountingCommunicator& traffic) {
  const std::size_t targets = problem.targets;
  const std::vector<double> v(targets * problem.m(), 1.0);
  std::vector<double> u(targets * problem.n());
  std::vector<double> q(u.size());
  std::vector<double> r(v.size());
  std::vector<Note> notes(targets);
  topology.absorb(std::vector<double>(problem.n()), std::vector<double>(problem.m()));
  topology.share(targets, v.data(), notes);
  const Traffic before = traffic.traffic();
  topology.rows(targets, q.data(), u.data());
  topology.columns(targets, u.data(), r.data());
  topology.share(targets, v.data(), notes);
  const Traffic& after = traffic.traffic();
  const auto phase = static_cast<std::size_t>(traffic.phase());
  return {after.bytes_sent[phase] - before.bytes_sent[phase], after.messages_sent[phase] - before.messages_sent[phase]};
}

inline void expect_rounds_as_stated(const Problem& problem, const Options& options) {
  const std::vector<StatedRound> stated = stated_rounds(problem, options);
  std::vector<Sent> counted(options.clients);
  at_every_client(problem, options, [&](const TopologyContext& context, const CountingCommunicator& traffic) {
    const std::unique_ptr<Topology> topology = make_topology(topology_named(options.topology), context);
    counted[context.problem.client] = counted_round(*topology, context.problem, traffic);
  });
  for (std::size_t k = 0; k < options.clients; ++k) {
    EXPECT_EQ(counted[k].bytes, stated[k].sent.bytes) << "client " << k;
    EXPECT_EQ(counted[k].messages, stated[k].sent.messages) << "client " << k;
  }
}

}  // namespace fedsinkhorn::testing
