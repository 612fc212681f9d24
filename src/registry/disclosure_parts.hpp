// What lists of disclosures have in common.
#pragma once

#include <vector>

#include "registry/disclosure.hpp"

namespace fedsinkhorn {

/// Set-up and end where clients keep to themselves why they refuse something. sums: with keys for secure sums.
[[nodiscard]] std::vector<Disclosure> quiet_setup(bool sums);
/// The same by way of a server, and the requests to it. phases: in which there are any.
[[nodiscard]] std::vector<Disclosure> served_setup(std::vector<Phase> phases);
/// Of a topology with one client. A server may be there.
[[nodiscard]] Disclosures lonely_disclosures(bool has_server);
/// Throws InputError.
void require_use_for_server(const PolicyEntry& policy);

void sort_by_phase(Disclosures& all);

}  // namespace fedsinkhorn
