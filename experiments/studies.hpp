// Every study by its namespace; one file each in studies/.
#pragma once

#include "study.hpp"

namespace fedsinkhorn::experiments {

namespace breakdown {
Study study();
}
namespace multitarget {
Study study();
}
namespace target_sweep {
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
namespace robustness {
Study study();
}
namespace local_steps {
Study study();
}
namespace sensitivity {
Study study();
}
namespace cpu_nodes {
Study study();
}
namespace embedding {
Study study();
}
namespace calibration {
Study study();
}
namespace privacy_sweep {
Study study();
}
namespace privacy_mechanisms {
Study study();
}
namespace toy_portfolio {
Study study();
}
namespace epsilon_digits {
Study study();
}
namespace rounds {
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
namespace online {
Study study();
}
namespace policies {
Study study();
}

}  // namespace fedsinkhorn::experiments
