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

}  // namespace fedsinkhorn::experiments
