// Labels of messages in tests of what carries them, where it does not matter what they are about.
#pragma once

#include "comm/communicator.hpp"

namespace fedsinkhorn {

[[nodiscard]] constexpr Label on(Tag tag) { return {tag, Payload::note}; }

}  // namespace fedsinkhorn
