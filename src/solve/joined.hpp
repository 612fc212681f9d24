// The results of all clients of one process as one.
#pragma once

#include <optional>
#include <vector>

#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// What they know together, without messages: it is all in one memory. The first one is there. Throws ClientLost if
/// rows are missing.
[[nodiscard]] Result joined(std::vector<std::optional<Result>>& results);

}  // namespace fedsinkhorn
