// Input files that change while they are read.
#pragma once

namespace fedsinkhorn {

/// From now on a mapped .npy file that turns out to be shorter than it was (or whose disk fails) ends the process with
/// a line that names it and the status of bad input. Without that the system would end it without a word (SIGBUS).
void report_truncated_inputs();

}  // namespace fedsinkhorn
