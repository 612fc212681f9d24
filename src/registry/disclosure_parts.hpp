// What lists of disclosures have in common.
#pragma once

#include <string_view>
#include <vector>

#include "registry/disclosure.hpp"

namespace fedsinkhorn {

inline constexpr std::string_view kAll = "all clients";

/// Set-up and end where clients keep to themselves why they refuse something. options, shape: what they send of that
/// kind.
[[nodiscard]] std::vector<Disclosure> quiet_setup(std::string_view options, std::string_view shape,
                                                  std::string_view shape_reveals);
/// The same with keys for secure sums.
[[nodiscard]] std::vector<Disclosure> setup_among_clients(std::string_view options);
/// That by way of a server, and the requests to it. phases: in which there are any.
[[nodiscard]] std::vector<Disclosure> served_setup(std::vector<Phase> phases, std::string_view options);
/// Of policy sums, which is for row-reduce.
[[nodiscard]] Disclosures sums_row_reduce(bool has_server);
/// Of a topology with one client. A server may be there.
[[nodiscard]] Disclosures lonely_disclosures(bool has_server);
/// Throws InputError.
void require_use_for_server(const PolicyEntry& policy);

void sort_by_phase(Disclosures& all);

}  // namespace fedsinkhorn
