// fedsinkhorn solve, once it is known what to solve.
#pragma once

#include "cli/solve_arguments.hpp"

namespace fedsinkhorn {

/// Reads, solves and writes, with the other ranks where mpirun started some. Returns the exit status. Throws InputError
/// and ClientLost.
[[nodiscard]] int run_solve(const SolveArguments& arguments);

}  // namespace fedsinkhorn
