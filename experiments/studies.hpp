// Every study by its namespace; one file each in studies/.
#pragma once

#include "study.hpp"

namespace fedsinkhorn::experiments {

namespace breakdown {
Study study();
}
namespace variability {
Study study();
}
namespace step_size {
Study study();
}
namespace delays {
Study study();
}
namespace local_steps {
Study study();
}
namespace robustness {
Study study();
}
namespace async_networks {
Study study();
}
namespace async_damping {
Study study();
}
namespace async_staleness {
Study study();
}
namespace async_straggler {
Study study();
}
namespace rounds {
Study study();
}

}  // namespace fedsinkhorn::experiments
