// Checks options before they are used: whether they make sense, and whether clients agree on those they must share.
#pragma once

#include <string>

#include "comm/collectives.hpp"
#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn {

/// What "auto" stands for. The method depends on the topology, which must be resolved first.
[[nodiscard]] std::string resolved_method(const Options& options);
[[nodiscard]] std::string resolved_topology(const Options& options, std::size_t clients);

/// Whether the method goes with the topology and other options; part of check_options(). Throws InputError.
void check_method(const Options& options, std::size_t clients);
/// Throws InputError naming the field.
void check_options(const Options& options, std::size_t clients);

/// For processes of which the last is to be a server. Throws InputError naming the field.
void check_server(const Options& options, std::size_t processes);

/// Ranks started with different options would wait for each other forever, or solve different problems. Throws the same
/// InputError on all clients.
void require_common_options(const Collectives& clients, const Problem& problem, const Options& options);

}  // namespace fedsinkhorn
