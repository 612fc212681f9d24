// Makes one of several processes print a message.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "comm/transports.hpp"

namespace fedsinkhorn {

/// Whether this process is the speaker: the first that is not lost.
[[nodiscard]] inline bool speaks_for_all(const std::vector<std::size_t>& lost = {}) {
  if (!started_by_mpi()) return true;
  std::size_t speaker = 0;
  while (std::find(lost.begin(), lost.end(), speaker) != lost.end()) ++speaker;
  return rank_given_by_mpi() == speaker;
}

}  // namespace fedsinkhorn
