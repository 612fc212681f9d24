// The program, from its arguments to its exit status.
#pragma once

namespace fedsinkhorn {

/// As main() would: output goes to the standard streams. Whatever is thrown becomes a line and a status.
[[nodiscard]] int run_program(int argc, char** argv);

}  // namespace fedsinkhorn
