// Tests that need a device do nothing where there is none, and say so.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "device/devices.hpp"

namespace fedsinkhorn::testing {

/// What ctest takes for a skipped test (see CMakeLists.txt beside this file).
inline constexpr int kSkipped = 77;

/// The first thing a check's main() does. Ends the program where no device is supported.
inline void require_device_or_skip() {
  const std::string reason = cuda::why_no_device();
  if (reason.empty()) return;
  std::printf("skipped: %s\n", reason.c_str());
  std::exit(kSkipped);
}

}  // namespace fedsinkhorn::testing
