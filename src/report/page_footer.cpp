#include "report/page_footer.hpp"

#include "report/web_assets.hpp"

namespace fedsinkhorn::report {

void add_footer(Page& page) {
  page.footer = "Written by fedsinkhorn report. All data is in this file; nothing is loaded from elsewhere.";
  if (chart_library().empty()) {
    page.notes.emplace_back(
        "Charts are missing: this program was built without npm, which brings their library. The tables "
        "have the same numbers.");
  }
}

}  // namespace fedsinkhorn::report
