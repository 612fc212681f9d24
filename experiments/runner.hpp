// Measures the cells of a study and keeps a record of each. Records of finished cells stay: a run that was killed goes
// on where it was.
#pragma once

#include <cstddef>
#include <filesystem>

#include "study.hpp"

namespace fedsinkhorn::experiments {

struct RunCount {
  std::size_t measured = 0;
  std::size_t kept = 0;  ///< measured by an earlier run
};

/// Writes folder/study.json and folder/cells/*.json, with progress on standard error. Throws InputError if the folder
/// holds records of another scale or transport, or another run is writing there.
RunCount run_study(const Study& study, const Setting& setting, const std::filesystem::path& folder);

}  // namespace fedsinkhorn::experiments
