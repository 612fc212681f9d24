// What clients were given whole: each must have the same, or they would solve parts of different problems.
#pragma once

#include "core/stop_request.hpp"
#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// Throws InputError at all clients if something that is not declared to be in parts is not the same at all: costs or
/// points, where every client holds them, masses, and the initial g. Needs the shapes. Costs that are computed by a
/// function, or lie on a device, are not compared. Reads all of the rest once, and sends 16 bytes per item.
void agree_on_common_inputs(const Collectives& clients, const LayoutOf& layout_of, int threads, const StopRequest& stop,
                            const CheckedProblem& checked);

}  // namespace fedsinkhorn
