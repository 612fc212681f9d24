// What pages are made with, as the build has embedded it.
#pragma once

#include <string_view>

namespace fedsinkhorn::report {

/// Apache ECharts with its licence; empty if this build found no npm to fetch it with. Pages then have tables alone.
[[nodiscard]] std::string_view chart_library();
[[nodiscard]] std::string_view page_script();
[[nodiscard]] std::string_view page_style();

}  // namespace fedsinkhorn::report
