// Options, before anything is done with them: what makes no sense, and what the clients must have in common.
#pragma once

#include <string>

#include "comm/collectives.hpp"
#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn {

/// What "auto" comes to; the topology is a resolved one.
[[nodiscard]] std::string resolved_method(const Options& options);
[[nodiscard]] std::string resolved_topology(const Options& options, std::size_t clients);

/// Throws InputError naming the field.
void check_options(const Options& options, std::size_t clients);

/// Ranks started with different options would wait for each other for ever, or solve different problems. Throws
/// InputError, the same on all clients.
void require_common_options(const Collectives& clients, const Problem& problem, const Options& options);

}  // namespace fedsinkhorn
