#include <gtest/gtest.h>

#include <cstdlib>

#include "comm/alone.hpp"
#include "comm/transports.hpp"

namespace fedsinkhorn::test {
namespace {

/// Takes away what a launcher of the tests themselves may have left.
class MpiLauncher : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"}) {
      ::unsetenv(name);
    }
  }
};

TEST_F(MpiLauncher, IsNotThere) {
  EXPECT_FALSE(started_by_mpi());
  EXPECT_EQ(rank_given_by_mpi(), 0U);
  EXPECT_EQ(Alone().clients_on_machine(), 1U);
}

TEST_F(MpiLauncher, IsOpenMpi) {
  ::setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  ::setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  EXPECT_TRUE(started_by_mpi());
  EXPECT_EQ(rank_given_by_mpi(), 3U);
}

TEST_F(MpiLauncher, IsAnother) {
  for (const char* name : {"PMIX_RANK", "PMI_RANK"}) {
    ::setenv(name, "12", 1);
    EXPECT_TRUE(started_by_mpi()) << name;
    EXPECT_EQ(rank_given_by_mpi(), 12U) << name;
    ::unsetenv(name);
  }
}

TEST_F(MpiLauncher, GivesNoNumber) {
  ::setenv("PMI_RANK", "x", 1);
  EXPECT_TRUE(started_by_mpi());
  EXPECT_EQ(rank_given_by_mpi(), 0U);
}

}  // namespace
}  // namespace fedsinkhorn::test
