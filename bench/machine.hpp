// What the figures were measured on.
#pragma once

#include <nlohmann/json.hpp>

namespace fedsinkhorn::bench {

/// Processor, caches, instruction sets, huge pages, memory: in the order in which they are printed.
[[nodiscard]] nlohmann::ordered_json describe_machine();

}  // namespace fedsinkhorn::bench
