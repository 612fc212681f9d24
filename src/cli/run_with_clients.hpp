// A command whose work is done by clients: of this process, or with others started by mpirun.
#pragma once

#include <functional>

#include "cli/clients.hpp"
#include "cli/solve_arguments.hpp"

namespace fedsinkhorn {

/// Joins the clients, runs body as one or all of them, and returns its exit status; that of a server if this process is
/// one. If input is refused, all ranks refuse it together. Other exceptions of body are passed on.
[[nodiscard]] int run_with_clients(const SolveArguments& arguments, const std::function<int(Clients&)>& body);

/// Checks how many clients the options ask for, makes messages outside the solve obey the policy, and checks keys.
/// Where data is kept apart, keep_local is set. To be called on all clients, within Clients::agree_on.
void obey_options(Options& options, const Clients& clients);
/// Throws InputError if a single client is given a part: it would solve that alone. flag: what says so.
void require_others(bool in_parts, const char* flag, const Clients& clients);

}  // namespace fedsinkhorn
