// Tests of what runs on a device: skipped where there is none, with the reason.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "device/devices.hpp"

namespace fedsinkhorn::testing {

class OnTheDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = cuda::why_no_device();
    if (!reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  }
};

}  // namespace fedsinkhorn::testing
