// A network to simulate: how long messages and work take, and what goes wrong. A simulation does not wait: its clock
// jumps from one event to the next, and the same scenario gives the same run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <variant>
#include <vector>

namespace fedsinkhorn {

struct ConstantLaw {
  double value = 0;
};
/// Uniform between least and most.
struct UniformLaw {
  double least = 0;
  double most = 0;
};
/// median * exp(sigma * z), z normal with mean 0 and variance 1.
struct LogNormalLaw {
  double median = 1;
  double sigma = 0;
};
/// Pareto: least * U^(-1 / exponent), U uniform on (0, 1]. Infinite variance up to exponent 2, infinite mean up to 1.
struct HeavyTailedLaw {
  double least = 1;
  double exponent = 1;
};
/// The distribution of a value.
using Law = std::variant<ConstantLaw, UniformLaw, LogNormalLaw, HeavyTailedLaw>;

/// Each message is late by `seconds` with this probability.
struct Lateness {
  double probability = 0;
  double seconds = 0;
};

/// Overrides for messages in one direction between two clients. Fields left out are those of the scenario.
struct LinkScenario {
  std::size_t from = 0;
  std::size_t to = 0;
  std::optional<Law> latency{};
  std::optional<Law> bandwidth{};
  std::optional<Lateness> late{};
};

/// A time in which a client does nothing: its work takes longer by that, and it reads messages only afterwards.
struct Pause {
  double at = 0;
  double seconds = 0;
};

/// Overrides for one client.
struct ClientScenario {
  std::size_t client = 0;
  double slower = 1;  ///< factor on the time of its work
  std::vector<Pause> pauses{};
  std::optional<double> lost_at{};  ///< time from which on it does nothing
};

/// Times are in seconds from the start of the run.
struct Scenario {
  std::uint64_t seed = 1;

  /// A message keeps its link (from one client to another) busy for bytes / bandwidth, after earlier messages, and
  /// arrives one latency later. Both are drawn for each message.
  Law latency = ConstantLaw{10e-6};
  Law bandwidth = ConstantLaw{1e9};  ///< bytes per second
  Lateness late{};
  /// Whether all messages of a client share one port out and one in, each of that bandwidth: they follow one another on
  /// both. Otherwise every link has a bandwidth of its own.
  bool shares_ports = false;
  /// Whether updates of asynchronous clients may overtake each other. Everything else arrives in the order it was sent.
  bool reorder = true;

  /// Work on a matrix takes entries * seconds_per_entry, times a factor drawn for each piece of work.
  double seconds_per_entry = 1e-9;
  Law compute_factor = ConstantLaw{1};

  std::vector<LinkScenario> links{};      ///< each link at most once
  std::vector<ClientScenario> clients{};  ///< each client at most once
};

/// Reads a JSON file. Every key is optional, with the defaults above:
///   {"seed": 7, "latency": LAW, "bandwidth": LAW, "late": {"probability": 0.02, "seconds": 0.06}, "reorder": true,
///    "ports": "own" or "shared", "compute": {"seconds_per_entry": 1e-9, "factor": LAW},
///    "links": [{"from": 0, "to": 1, "latency": LAW, "bandwidth": LAW, "late": {...}}],
///    "clients": [{"client": 3, "slower": 10, "pauses": [{"at": 1, "seconds": 5}], "lost_at": 2}]}
/// with LAW one of
///   {"law": "constant", "value": 1e-4}                     {"law": "uniform", "least": 0.9, "most": 1.1}
///   {"law": "log-normal", "median": 1e-4, "sigma": 1}      {"law": "heavy-tailed", "least": 1e-4, "exponent": 1.5}
/// Throws InputError naming the path if it is not readable or not JSON, or has unknown or repeated keys or impossible
/// values.
[[nodiscard]] Scenario read_scenario(const std::filesystem::path& path);

/// Throws InputError naming `scenario` if a value is impossible or a client does not exist.
void check_scenario(const Scenario& scenario, std::size_t clients);

}  // namespace fedsinkhorn
