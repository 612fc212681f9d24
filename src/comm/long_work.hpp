// Work that may take longer than the time limit.
#pragma once

#include <functional>

#include "comm/collectives.hpp"

namespace fedsinkhorn {

/// Like agree(), for a body that may take longer than the time limit. It runs on its own thread while the clients'
/// calling threads keep telling each other that they are there. If a client is lost meanwhile, calls `abandon`, waits
/// for the body to end and throws ClientLost.
void agree_on_long_work(const Collectives& clients, const std::function<void()>& body,
                        const std::function<void()>& abandon);

}  // namespace fedsinkhorn
