// What is shown of a run while it goes on.
#pragma once

#include <optional>
#include <string>

#include "report/page.hpp"
#include "watch/live_run.hpp"

namespace fedsinkhorn {

/// The page at that moment. It asks the address "events", relative to its own, for what comes after.
[[nodiscard]] report::Page live_page(const RunDescription& run, const LiveState& state);

/// What such a page is sent, JSON in one line: the charts, tables and facts of live_page() that change, by their ids,
/// the status line, and whether this is the end.
[[nodiscard]] std::string live_event(const RunDescription& run, const LiveState& state);

/// "iteration 120, error 3.1 × 10⁻⁵, 55 iterations per second, about 12 s left"
[[nodiscard]] std::string live_status(const LiveState& state);

/// The client that takes clearly longer than the median client to compute an iteration, if there is one. Where clients
/// wait for each other, all others wait for it; where they do not (async), it falls behind.
[[nodiscard]] std::optional<std::size_t> slow_client(const LiveState& state);

}  // namespace fedsinkhorn
