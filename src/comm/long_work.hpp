// Work that takes longer than clients wait for each other.
#pragma once

#include <functional>

#include "comm/collectives.hpp"

namespace fedsinkhorn {

/// Like agree(), for a body that may take longer than the time limit. It runs on a thread of its own, while this one
/// and those of the other clients keep telling each other that they are there. If a client is lost meanwhile,
/// `abandon` is called, the end of the body awaited, and ClientLost thrown.
void agree_on_long_work(const Collectives& clients, const std::function<void()>& body,
                        const std::function<void()>& abandon);

}  // namespace fedsinkhorn
