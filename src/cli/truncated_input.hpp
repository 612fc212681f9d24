// Input files that change while they are read.
#pragma once

namespace fedsinkhorn {

/// From now on, if a mapped .npy file has become shorter or its disk fails, the process prints a line that names the
/// file and exits with kBadInput. Otherwise SIGBUS would end it without a message.
void report_truncated_inputs();

}  // namespace fedsinkhorn
