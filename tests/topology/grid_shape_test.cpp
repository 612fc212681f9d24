#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "fedsinkhorn/error.hpp"
#include "topology/topologies.hpp"

namespace fedsinkhorn {
namespace {

// 9223372036854775809 x 2 wraps to 2.
TEST(ShapeOfAGrid, ThatWrapsToTheNumberOfClientsIsRefused) {
  const GridShape wraps{(std::size_t{1} << 63U) + 1, 2};
  try {
    (void)grid_shape(2, wraps);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("grid: 9223372036854775809x2"), std::string::npos) << error.what();
  }
  EXPECT_EQ(grid_shape(6, {2, 3}).columns, 3U);
}

}  // namespace
}  // namespace fedsinkhorn
