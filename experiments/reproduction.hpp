// docs/reproduction.md: what the studies have measured, beside the paper's figures.
#pragma once

#include <filesystem>
#include <string>

namespace fedsinkhorn::experiments {

/// From the records in the folder alone, in the order of studies(). Throws InputError if records are missing or
/// damaged: an incomplete page must not look complete.
[[nodiscard]] std::string reproduction_markdown(const std::filesystem::path& folder);

}  // namespace fedsinkhorn::experiments
