#include "io/output_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "io/atomic_file.hpp"
#include "io/result_names.hpp"
#include "io/temporary_folder.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

class OutputSetTest : public ::testing::Test {
 protected:
  [[nodiscard]] const fs::path& folder() const { return folder_.path(); }

  static void put(const fs::path& folder, const Files& files) {
    for (const auto& [name, content] : files) write_file_atomically(folder / name, content);
  }
  void deliver(const Files& files) const {
    OutputSet set(folder(), new_staging_name());
    put(set.staging(), files);
    set.commit();
  }
  /// All there is, hidden files and folders too.
  [[nodiscard]] Files content() const {
    Files files;
    for (const auto& entry : fs::directory_iterator(folder())) {
      std::ifstream file(entry.path());
      files[entry.path().filename().string()] = {std::istreambuf_iterator<char>(file), {}};
    }
    return files;
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(OutputSetTest, ReplacesAnEarlierSetAndLeavesTheRest) {
  put(folder(), {{"notes.txt", "mine"}, {"plan-x.npy", "mine"}});
  deliver({{"f-0.npy", "1"}, {"f-1.npy", "1"}, {"plan-10.npy", "1"}, {"g.npy", "1"}, {"summary.json", "1"}});
  deliver({{"f.npy", "2"}, {"g.npy", "2"}, {"summary.json", "2"}});
  EXPECT_EQ(
      content(),
      (Files{{"f.npy", "2"}, {"g.npy", "2"}, {"summary.json", "2"}, {"notes.txt", "mine"}, {"plan-x.npy", "mine"}}));
}

// They may be anybody's.
TEST_F(OutputSetTest, LeavesFilesOfClientsWhereThereWereNoResults) {
  put(folder(), {{"f-0.npy", "mine"}, {"plan.npy", "old"}});
  deliver({{"f.npy", "2"}, {"summary.json", "2"}});
  EXPECT_EQ(content(), (Files{{"f.npy", "2"}, {"summary.json", "2"}, {"f-0.npy", "mine"}}));
}

TEST_F(OutputSetTest, WhatIsNotCommittedLeavesNoTrace) {
  deliver({{"f.npy", "1"}, {"summary.json", "1"}});
  const Files before = content();
  {
    const OutputSet set(folder(), new_staging_name());
    put(set.staging(), {{"f.npy", "2"}, {"plan.npy", "2"}});
    EXPECT_TRUE(set.has_files());
  }
  EXPECT_EQ(content(), before);
}

TEST_F(OutputSetTest, AFileThatIsNotFinishedStaysOut) {
  OutputSet set(folder(), new_staging_name());
  put(set.staging(), {{"summary.json", "1"}});
  AtomicFile unfinished(set.staging() / "plan.npy");
  unfinished.write("half");
  set.commit();
  EXPECT_EQ(content(), (Files{{"summary.json", "1"}}));
}

TEST_F(OutputSetTest, MessagesNameTheFileAsItWillBe) {
  const OutputSet set(folder(), new_staging_name());
  fs::create_directory(set.staging() / "plan.npy");
  try {
    write_file_atomically(set.staging() / "plan.npy", "");
    FAIL() << "a folder was written to";
  } catch (const InputError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with((folder() / "plan.npy").string() + ":")) << error.what();
  }
}

// Killed while files were moved: some are in place, some are not.
TEST_F(OutputSetTest, ACommitThatWasCutOffIsCompleted) {
  const fs::path commit = folder() / ".fedsinkhorn-commit";
  fs::create_directory(commit);
  put(folder(), {{"f.npy", "new"}, {"g.npy", "old"}, {"plan.npy", "old"}, {"f-3.npy", "old"}, {"notes", "mine"}});
  put(commit, {{"lock", ""},
               {"manifest", "f.npy\ng.npy\nsummary.json\n"},
               {"old-summary", "old"},
               {"g.npy", "new"},
               {"summary.json", "new"}});
  repair(folder());
  const Files complete = {{"f.npy", "new"}, {"g.npy", "new"}, {"summary.json", "new"}, {"notes", "mine"}};
  EXPECT_EQ(content(), complete);
  // Cut off when nothing but the hidden folder was left to remove.
  fs::create_directory(commit);
  put(commit, {{"manifest", "f.npy\ng.npy\nsummary.json\n"}, {"old-summary", "old"}});
  repair(folder());
  EXPECT_EQ(content(), complete);
}

TEST_F(OutputSetTest, WhatTheDeadLeftIsRemovedAndWhatTheLivingHoldIsNot) {
  const OutputSet alive(folder(), new_staging_name());
  put(alive.staging(), {{"f.npy", "new"}});
  const fs::path dead = folder() / new_staging_name();
  fs::create_directory(dead);
  put(dead, {{"f.npy", "half"}});
  repair(folder());
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(alive.staging() / "f.npy"));
}

TEST_F(OutputSetTest, OfSeveralWritersOneHasTheLastWord) {
  constexpr int kWriters = 4;
  std::vector<std::jthread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([this, writer] {
      const std::string mark = std::to_string(writer);
      for (int i = 0; i < 10; ++i) {
        deliver({{"f.npy", mark}, {"g.npy", mark}, {name_of_client("f", 0, ".npy"), mark}, {"summary.json", mark}});
      }
    });
  }
  writers.clear();
  const Files files = content();
  EXPECT_EQ(files.size(), 4U);
  for (const auto& [name, mark] : files) EXPECT_EQ(mark, files.at("summary.json")) << name;
}

TEST(ResultNames, OfClientsAreNumbers) {
  for (const char* name : {"f-0.npy", "f-12.npy", "f-rest-3.npy", "plan-4095.npy", "summary-7.json"}) {
    EXPECT_TRUE(is_client_result(name)) << name;
  }
  for (const char* name : {"f-.npy", "f-x.npy", "f-01.npy", "f-1.npy.bak", "f--1.npy", "f-1e3.npy", "summary-1.npy",
                           "f-99999999999999999999999.npy", "g-1.npy", "f.npy"}) {
    EXPECT_FALSE(is_client_result(name)) << name;
  }
}

}  // namespace
}  // namespace fedsinkhorn
