// What leaves a client, by topology and policy: the only list of it. `fedsinkhorn privacy explain` prints it,
// docs/what-leaves.md shows it, and tests/privacy/disclosure_test.cpp compares it with what clients send.
#pragma once

#include <string_view>
#include <vector>

#include "comm/counting.hpp"
#include "comm/payload.hpp"
#include "comm/policy.hpp"
#include "mechanism/mechanism.hpp"
#include "topology/topologies.hpp"

namespace fedsinkhorn {

/// Messages of one kind and form that a client sends in these phases. What is not listed does not leave. Options are
/// named like `field`.
struct Disclosure {
  std::vector<Phase> phases;
  Payload kind;
  Form form;
  std::string_view seen_by;
  std::string_view what;
  std::string_view reveals;  ///< one sentence
};

/// What the list amounts to.
struct Remark {
  std::string_view about;
  std::string_view text;
};

struct Disclosures {
  std::vector<Disclosure> messages;
  std::vector<Remark> remarks;
};

/// Throws InputError if the topology does not follow the policy, or a server has nothing to do, or the topology is not
/// in the list.
[[nodiscard]] Disclosures disclosures(const TopologyEntry& topology, const PolicyEntry& policy, bool has_server);
/// The same of policy private.
[[nodiscard]] Disclosures disclosures(const TopologyEntry& topology, const MechanismEntry& mechanism, bool has_server);

}  // namespace fedsinkhorn
