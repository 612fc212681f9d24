// The exit status of a run under mpirun.
#pragma once

#include <cstdlib>
#include <string>

namespace fedsinkhorn::testing {

/// `status` as mpirun left it (128 + signal if one ended it), unless mpirun itself crashed when it had already ended
/// the job and told of it: Open MPI 4.1 does so now and then, in PMIx_server_finalize, after it has killed ranks, and
/// where it hangs instead mpirun.py makes it crash, or kills it. Then the status is that of the rank it named, 0 if it
/// named none. `said` is what mpirun printed.
[[nodiscard]] inline int status_of_ranks(int status, const std::string& said) {
  constexpr int kKilled = 128 + 9;
  constexpr int kSegmentationFault = 128 + 11;
  const bool is_mpiruns_own = status == kKilled || status == kSegmentationFault;
  if (!is_mpiruns_own || said.find("PMIx_server_finalize") == std::string::npos) return status;
  const std::string named = "Exit code:";
  const std::size_t at = said.find(named);
  return at == std::string::npos ? 0 : std::atoi(said.c_str() + at + named.size());
}

}  // namespace fedsinkhorn::testing
