// fedsinkhorn solve, after the command line has been parsed.
#pragma once

#include "cli/solve_arguments.hpp"

namespace fedsinkhorn {

/// Reads, solves and writes, together with other ranks under mpirun. Returns the exit status. Throws InputError and
/// ClientLost.
[[nodiscard]] int run_solve(const SolveArguments& arguments);

}  // namespace fedsinkhorn
