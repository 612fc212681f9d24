#include "io/output_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;

class OutputFolderTest : public ::testing::Test {
 protected:
  OutputFolderTest() {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~OutputFolderTest() override { fs::remove_all(root_); }
  const fs::path root_ = fs::path(::testing::TempDir()) / "output_folder_test";
};

TEST_F(OutputFolderTest, DisappearsWithItsParentsUnlessKept) {
  {
    const OutputFolder folder(root_ / "x" / "y" / "z/");
    EXPECT_TRUE(fs::is_directory(root_ / "x" / "y" / "z"));
    EXPECT_TRUE(fs::is_empty(root_ / "x" / "y" / "z"));
  }
  EXPECT_TRUE(fs::is_empty(root_));
  {
    OutputFolder folder(root_ / "x" / "y");
    folder.keep();
  }
  EXPECT_TRUE(fs::is_directory(root_ / "x" / "y"));
}

TEST_F(OutputFolderTest, LeavesWhatWasThereBefore) {
  fs::create_directory(root_ / "old");
  std::ofstream(root_ / "old" / "notes") << "mine";
  { const OutputFolder folder(root_ / "old"); }
  EXPECT_TRUE(fs::exists(root_ / "old" / "notes"));
}

TEST_F(OutputFolderTest, RefusesAFileAndAPathBelowOne) {
  std::ofstream(root_ / "file") << "x";
  EXPECT_THROW(OutputFolder(root_ / "file"), InputError);
  EXPECT_THROW(OutputFolder(root_ / "file" / "below"), InputError);
  EXPECT_THROW(OutputFolder("/proc/nowhere/below"), InputError);
}

}  // namespace
}  // namespace fedsinkhorn
