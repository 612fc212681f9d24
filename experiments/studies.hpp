// Every study by its namespace; one file each in studies/.
#pragma once

#include "study.hpp"

namespace fedsinkhorn::experiments {

namespace breakdown {
Study study();
}
namespace step_size {
Study study();
}

namespace toy_portfolio {
Study study();
}
namespace epsilon_digits {
Study study();
}
namespace online {
Study study();
}
namespace policies {
Study study();
}

}  // namespace fedsinkhorn::experiments
