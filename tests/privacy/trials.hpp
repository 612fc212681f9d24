// Solves that together reach every path on which clients send something.
#pragma once

#include <string>
#include <vector>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"
#include "mechanism/mechanism.hpp"
#include "topology/topologies.hpp"

namespace fedsinkhorn::testing {

struct Trial {
  std::string name;
  std::vector<Problem> problems;  ///< of each client; what they refer to lives until the program ends
  Options options;
};

/// Of that topology and policy; server: as Options::server.
[[nodiscard]] std::vector<Trial> trials(const TopologyEntry& topology, const std::string& policy, Server server);
/// The same for policy private.
[[nodiscard]] std::vector<Trial> private_trials(const TopologyEntry& topology, const MechanismEntry& mechanism,
                                                Server server);

}  // namespace fedsinkhorn::testing
