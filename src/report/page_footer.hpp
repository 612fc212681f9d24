// What all pages end with.
#pragma once

#include "report/page.hpp"

namespace fedsinkhorn::report {

/// Who wrote the page; a note if charts are missing from it.
void add_footer(Page& page);

}  // namespace fedsinkhorn::report
