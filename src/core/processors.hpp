// How many processors there are, and how many of them this process may use.
#pragma once

namespace fedsinkhorn {

/// Of this machine.
[[nodiscard]] int processors_online();
/// Allowed for this process: mpirun binds ranks to some of them, containers have a share.
[[nodiscard]] int processors_allowed();

}  // namespace fedsinkhorn
