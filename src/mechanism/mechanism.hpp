// Private runs (policy private): Sinkhorn's iteration where everything that leaves a client is a release with noise, or
// computed from releases.
//
// A mechanism decides what is released. It is one file and one line of the registry: its rules for messages, the
// topologies it is for, what it asks of the options, and its loop. Decisions read released values alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "comm/policy.hpp"
#include "core/stop_request.hpp"
#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/result.hpp"
#include "privacy/ledger.hpp"
#include "privacy/random_bits.hpp"
#include "topology/topology.hpp"

namespace fedsinkhorn {

/// For tests: sees what a release would be without noise, and may replace what is released by what another run has
/// released, so that both go the same way.
class ReleaseTap {
 public:
  virtual ~ReleaseTap() = default;
  ReleaseTap() = default;
  ReleaseTap(const ReleaseTap&) = delete;
  ReleaseTap& operator=(const ReleaseTap&) = delete;

  virtual void at_release(std::span<const double> clean, std::span<double> released) = 0;
};

struct MechanismContext {
  const CheckedProblem& problem;
  const Options& options;
  Topology& topology;
  bool is_asynchronous = false;
  const StopRequest& stop;
  RandomBits& random;
  /// Called after every iteration with the number there will be, and the error of what was released; NaN if that says
  /// nothing about it.
  std::function<void(std::int64_t iteration, std::int64_t last, double released_error)> on_release;
  ReleaseTap* tap = nullptr;
};

/// The result of a mechanism, at one client.
struct Released {
  Status status = Status::budget_spent;
  std::int64_t iterations = 0;
  std::vector<double> f;  ///< targets x own rows
  std::vector<double> g;  ///< targets x columns known here
  Range columns;          ///< those known here, of all active ones
  double error_b = 0;     ///< of what was released last; NaN: says nothing about it
  PrivacyReport report;
};

struct MechanismEntry {
  std::string_view name;
  std::string_view sentence;  ///< description for users
  PolicyEntry policy;         ///< named private
  std::vector<std::string_view> topologies;
  /// Throws InputError if the options do not suffice, or promise what cannot be kept.
  void (*check)(const Options& options, std::size_t clients);
  Released (*run)(const MechanismContext& context);
  bool public_columns = false;  ///< b and the points of the columns are known to all
};

/// The columns' plan mass, in row-reduce.
void check_marginal(const Options& options, std::size_t clients);
[[nodiscard]] Released run_marginal(const MechanismContext& context);

/// The paper's: log-scalings, clipped, in all-to-all, star and async.
void check_scalings(const Options& options, std::size_t clients);
[[nodiscard]] Released run_scalings(const MechanismContext& context);

/// What the options say. delta: of the budget if there is one.
[[nodiscard]] Budget budget_of(const Options& options);
/// The system's generator, or a seeded one.
[[nodiscard]] std::unique_ptr<RandomBits> random_bits_for(const Options& options, std::size_t client);

/// Throws InputError, the same at all clients, if the budget does not even allow these, the first ones.
void require_room_for(const Ledger& ledger, std::span<const LedgerLine> first);

/// The noise, if numbers have room for it: neither so small nor so large that it could not be added to numbers up to
/// `largest`. Throws InputError, naming what it comes from.
[[nodiscard]] double checked_sigma(const Options& options, double sigma, double largest);

/// Whether the run may be called private; if not, why. epsilon: against those who can tell most.
void judge(const Options& options, double epsilon, PrivacyReport& report);

/// Asks all clients whether one of them wants to stop. Tells nothing else.
[[nodiscard]] bool wants_to_stop(const Collectives& clients, const StopRequest& stop);

}  // namespace fedsinkhorn
