// The error message for too few threads.
#pragma once

#include <cstddef>
#include <string>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

/// Missing threads are the user's problem to solve, hence an InputError.
[[noreturn]] inline void refuse_threads(const std::string& culprit, std::size_t wanted) {
  throw InputError(culprit, "the system grants too few threads, " + std::to_string(wanted) + " are wanted",
                   "use fewer `clients` or `threads`, or raise its limit (ulimit -u)");
}

}  // namespace fedsinkhorn
