// A solve that is timed.
#pragma once

#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn::bench {

/// So many plain iterations on processors, however small the error.
[[nodiscard]] inline Options plain_options(int iterations, int threads) {
  Options options;
  options.backend = "cpu";
  options.method = "sinkhorn";
  options.tolerance = 0;
  options.max_iterations = iterations;
  options.threads = threads;
  return options;
}

}  // namespace fedsinkhorn::bench
