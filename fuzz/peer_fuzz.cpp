// libFuzzer target for what peers send: a solve on the simulated network in which one client's messages are changed as
// the input says (tests/support/hostile.hpp). Whatever it sends, the honest clients end: with a result, or with one
// line. Time is virtual, so waiting costs nothing.
//   byte 0   topology, and the number of clients; with row-reduce, whether by secure sums
//   byte 1   what is solved, and how
//   byte 2   which client is hostile
//   then     attacks of 12 bytes: which message (2), kind, position, value (8)
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "../tests/support/hostile.hpp"
#include "../tests/support/repeatable_random.hpp"
#include "comm/transports.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "solve/client_solve.hpp"

namespace {

using namespace fedsinkhorn;
using testing::Attack;
using testing::HostileCommunicator;

constexpr std::size_t kRows = 4;
constexpr std::size_t kColumns = 5;

[[noreturn]] void fail(const std::exception& error) {
  std::fprintf(stderr, "an honest client ends with '%s'\n", error.what());
  __builtin_trap();
}

/// A small problem, in one of several shapes.
struct Case {
  explicit Case(std::uint8_t shape) {
    for (std::size_t i = 0; i < kRows * kColumns; ++i) cost.push_back(static_cast<double>(i * 7 % 11) / 11);
    for (std::size_t i = 0; i < 2 * kColumns; ++i) points.push_back(static_cast<double>(i * 5 % 13) / 13);
    b.assign(2 * kColumns, 1.0 / kColumns);
    if ((shape & 1U) != 0) cost[7] = std::numeric_limits<double>::infinity();
    if ((shape & 2U) != 0) {
      problem.cost =
          PointClouds{MatrixView<double>{points.data(), kRows, 2}, MatrixView<double>{points.data(), kColumns, 2}};
    } else {
      problem.cost = CostMatrix{MatrixView<double>{cost.data(), kRows, kColumns}};
    }
    if ((shape & 4U) != 0) problem.b = {b.data(), kColumns, 2};
    if ((shape & 8U) != 0) problem.initial_g = {points.data(), kColumns, 1};
    problem.epsilon = (shape & 16U) != 0 ? 0.005 : 0.3;
    if ((shape & 32U) != 0) options.method = "sinkhorn";
    if ((shape & 64U) != 0) options.local_steps = 3;
    if ((shape & 128U) != 0) options.stabilization = Stabilization::log;
    options.max_iterations = 40;
    options.threads = 1;
    options.backend = "cpu";
  }

  std::vector<double> cost;
  std::vector<double> points;
  std::vector<double> b;
  Problem problem;
  Options options;
};

/// What an honest client may end with. A line is one line, and not endless.
void require_orderly(const std::exception_ptr& end) {
  try {
    std::rethrow_exception(end);
  } catch (const std::logic_error& error) {
    fail(error);
  } catch (const std::bad_alloc& error) {
    fail(error);
  } catch (const std::exception& error) {
    const std::string_view line = error.what();
    if (line.empty() || line.size() > 10000) fail(error);
  }
}

}  // namespace

// libFuzzer looks the function up by this name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {  // NOLINT(readability-identifier-naming)
  constexpr std::size_t start = 3;
  constexpr std::size_t attack_bytes = 12;
  if (size < start) return 0;
  constexpr std::array topologies = {"all-to-all", "star", "grid", "row-reduce", "async"};
  Case tried(data[1]);
  tried.options.topology = topologies[data[0] % topologies.size()];
  const std::size_t clients = 2 + data[0] / topologies.size() % 3;
  const bool is_other_half = data[0] / (topologies.size() * 3) % 2 == 1;
  if (is_other_half && tried.options.topology == "row-reduce") tried.options.policy = "sums";
  const std::size_t hostile = data[2] % clients;
  std::vector<Attack> attacks;
  for (auto left = std::span(data, size).subspan(start); left.size() >= attack_bytes && attacks.size() < 16;
       left = left.subspan(attack_bytes)) {
    Attack attack;
    attack.message = left[0] | static_cast<std::size_t>(left[1]) << 8U;
    attack.kind = static_cast<Attack::Kind>(left[2] % Attack::kKinds);
    attack.position = left[3];
    for (const std::uint8_t byte : left.subspan(4, 8)) attack.value = attack.value << 8U | byte;
    attacks.push_back(attack);
  }

  Scenario scenario;
  scenario.seconds_per_entry = 1e-6;
  try {
    const testing::RepeatableRandom repeatable;  // an input that has found something finds it again
    run_simulated(clients, Seconds(5), scenario, [&](Communicator& communicator) {
      testing::draw_as_client(communicator.rank());
      if (communicator.rank() != hostile) {
        try {
          (void)solve_as_client(tried.problem, tried.options, communicator);
        } catch (const std::exception&) {
          require_orderly(std::current_exception());
          throw;
        }
        return;
      }
      HostileCommunicator network(communicator, attacks);
      try {
        (void)solve_as_client(tried.problem, tried.options, network);
      } catch (const std::exception&) {  // its own affair: it leaves without a word
      }
    });
  } catch (const std::exception&) {  // an honest client's, which has been looked at
  }
  return 0;
}
