// Everything a user of the library needs.
#pragma once

#include "fedsinkhorn/cost_model.hpp"
#include "fedsinkhorn/divergence.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/gradients.hpp"
#include "fedsinkhorn/matrix.hpp"
#include "fedsinkhorn/npy.hpp"
#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"
#include "fedsinkhorn/result.hpp"
#include "fedsinkhorn/risk.hpp"
#include "fedsinkhorn/scenario.hpp"
#include "fedsinkhorn/solve.hpp"
#include "fedsinkhorn/version.hpp"
