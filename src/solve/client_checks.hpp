// Figures of a client while it iterates, for Options::on_client_check.
#pragma once

#include <functional>

#include "comm/counting.hpp"
#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn {

/// What a client knows of itself at a check, except for its traffic.
using OwnProgress = std::function<ClientProgress(const Progress&)>;

/// The options, with an on_check that also calls on_client_check; unchanged if there is none. What `own` refers to and
/// `traffic` must outlive the result, which is for the client's own thread.
[[nodiscard]] Options with_client_checks(const Options& options, const CountingCommunicator& traffic, OwnProgress own);

}  // namespace fedsinkhorn
