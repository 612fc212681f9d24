#include "io/output_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kNames = {"result.npy", "summary.json"};

class OutputFolderTest : public ::testing::Test {
 protected:
  OutputFolderTest() {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~OutputFolderTest() override { fs::remove_all(root_); }
  // Tests may run side by side: a folder each.
  const fs::path root_ =
      fs::path(::testing::TempDir()) /
      (std::string("output_folder_test_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(OutputFolderTest, DisappearsWithItsParentsUnlessKept) {
  {
    const OutputFolder folder(root_ / "x" / "y" / "z/", kNames);
    EXPECT_TRUE(fs::is_directory(root_ / "x" / "y" / "z"));
    EXPECT_TRUE(fs::is_empty(root_ / "x" / "y" / "z"));
  }
  EXPECT_TRUE(fs::is_empty(root_));
  {
    OutputFolder folder(root_ / "x" / "y", kNames);
    folder.keep();
  }
  EXPECT_TRUE(fs::is_directory(root_ / "x" / "y"));
}

TEST_F(OutputFolderTest, LeavesWhatWasThereBefore) {
  fs::create_directory(root_ / "old");
  std::ofstream(root_ / "old" / "notes") << "mine";
  { const OutputFolder folder(root_ / "old", kNames); }
  EXPECT_TRUE(fs::exists(root_ / "old" / "notes"));
}

TEST_F(OutputFolderTest, RefusesAFolderInTheWayOfAResult) {
  fs::create_directories(root_ / "taken" / "summary.json");
  EXPECT_THROW(OutputFolder(root_ / "taken", kNames), InputError);
}

TEST_F(OutputFolderTest, RefusesAFileAndAPathBelowOne) {
  std::ofstream(root_ / "file") << "x";
  EXPECT_THROW(OutputFolder(root_ / "file", kNames), InputError);
  EXPECT_THROW(OutputFolder(root_ / "file" / "below", kNames), InputError);
  EXPECT_THROW(OutputFolder("/proc/nowhere/below", kNames), InputError);
}

}  // namespace
}  // namespace fedsinkhorn
