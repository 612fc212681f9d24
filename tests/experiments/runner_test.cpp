// Studies that are killed, damaged and repeated.
#include "runner.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <map>
#include <stdexcept>

#include "fedsinkhorn/error.hpp"
#include "report/record_json.hpp"
#include "support/in_a_folder.hpp"

namespace fedsinkhorn::experiments {
namespace {

namespace fs = std::filesystem;

constexpr int kCells = 5;
/// The cell at which a child tells its parent that it is ready to be killed; none in this process.
int fatal_cell = -1;
int to_parent = -1;
std::atomic<int> cells_measured = 0;

Design made_design(const Setting& setting) {
  Design design;
  for (int k = 0; k < setting.by_scale(kCells, 7, 9); ++k) design.cells.push_back({{"k", k}, {"n", 3}});
  design.tables = {{.caption = "Squares", .rows = {{"k", "k"}}, .figures = {{.title = "square", .key = "square"}}}};
  return design;
}

Json made_measure(const Json& parameters) {
  ++cells_measured;
  const int k = parameters.at("k");
  if (k == fatal_cell) {
    const char ready = 'r';
    if (::write(to_parent, &ready, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  return {{"square", k * k}};
}

Study made_study(bool is_timed = true) {
  return {"made", "A study that is made up", "Which numbers are squares?", "", is_timed, made_design, made_measure};
}

class RunnerTest : public testing::InAFolder {
 protected:
  RunCount run(const Study& study = made_study()) { return run_study(study, {.scale = Scale::smoke}, folder_); }

  [[nodiscard]] std::map<std::string, std::string> records() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_ / "cells")) {
      all[entry.path().filename().string()] = testing::content(entry.path());
    }
    return all;
  }

  /// A run that is killed while it measures that cell.
  void run_and_kill_at(int cell) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      fatal_cell = cell;
      to_parent = ends[1];
      (void)run();
      ::_exit(0);
    }
    ::close(ends[1]);
    char ready = 0;
    ASSERT_EQ(::read(ends[0], &ready, 1), 1) << "the child ended before it came to that cell";
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(ends[0]);
    EXPECT_TRUE(WIFSIGNALED(status));
  }
};

TEST_F(RunnerTest, MeasuresEveryCellOnce) {
  cells_measured = 0;
  const RunCount count = run();
  EXPECT_EQ(count.measured, 5U);
  EXPECT_EQ(count.kept, 0U);
  EXPECT_EQ(cells_measured, kCells);
  const report::StudyRecords study = report::read_study(folder_);
  EXPECT_EQ(study.missing, 0U);
  EXPECT_TRUE(study.notes.empty());
  ASSERT_EQ(study.records.size(), 5U);
  EXPECT_EQ(study.records[3].cell, "k-3") << "parameters that all cells share are not in the name";
  EXPECT_EQ(study.records[3].measured.at("square"), 9);
  EXPECT_EQ(study.records[3].parameters.at("n"), 3);
}

TEST_F(RunnerTest, SideBySideTheRecordsAreTheSame) {
  (void)run();
  const auto one_by_one = records();
  fs::remove_all(folder_ / "cells");
  (void)run(made_study(false));
  EXPECT_EQ(records(), one_by_one);
}

TEST_F(RunnerTest, AKilledRunGoesOnWhereItWas) {
  for (int cell = 0; cell < kCells; ++cell) {
    fs::remove_all(folder_ / "cells");
    run_and_kill_at(cell);
    EXPECT_EQ(records().size(), static_cast<std::size_t>(cell)) << "finished cells alone are there";
    cells_measured = 0;
    const RunCount count = run();
    EXPECT_EQ(count.kept, static_cast<std::size_t>(cell));
    EXPECT_EQ(cells_measured, kCells - cell) << "no cell is run twice";
    EXPECT_EQ(records().size(), 5U);
  }
}

TEST_F(RunnerTest, WhatAKilledRunWasWritingIsGone) {
  (void)run();
  std::ofstream(folder_ / "cells" / ".k-2.json.x7Gh2a") << "{\"schema_ver";
  const auto complete = records();
  (void)run();
  EXPECT_EQ(records().size(), complete.size() - 1);
}

TEST_F(RunnerTest, ADamagedRecordIsMeasuredAgain) {
  (void)run();
  const auto complete = records();
  for (const char* damage : {"", "{\"schema_version\": 1, \"kind\": \"cell\"", "[]", "{\"schema_version\": 7}"}) {
    std::ofstream(folder_ / "cells" / "k-2.json") << damage;
    const RunCount count = run();
    EXPECT_EQ(count.measured, 1U) << damage;
    EXPECT_EQ(records(), complete);
  }
}

TEST_F(RunnerTest, RecordsOfOtherParametersAreNotOverwritten) {
  (void)run();
  Json record = Json::parse(testing::content(folder_ / "cells" / "k-2.json"));
  record["parameters"]["n"] = 4;
  std::ofstream(folder_ / "cells" / "k-2.json") << record;
  EXPECT_THROW((void)run(), InputError);
  EXPECT_EQ(Json::parse(testing::content(folder_ / "cells" / "k-2.json")), record);
}

TEST_F(RunnerTest, AnotherScaleIsRefused) {
  (void)run();
  EXPECT_THROW((void)run_study(made_study(), {.scale = Scale::machine}, folder_), InputError);
  EXPECT_EQ(records().size(), 5U);
}

TEST_F(RunnerTest, PackedRecordsAreNotMixedWithNewOnes) {
  (void)run();
  std::ofstream(folder_ / report::kPackedCells) << "";
  EXPECT_THROW((void)run(), InputError);
}

TEST_F(RunnerTest, TwoRunsDoNotShareAFolder) {
  const Study study = made_study();
  static fs::path shared;
  shared = folder_;
  Study nested = study;
  nested.measure = [](const Json&) -> Json {
    EXPECT_THROW((void)run_study(made_study(), {.scale = Scale::smoke}, shared), InputError);
    return {{"square", 0}};
  };
  (void)run(nested);
}

TEST_F(RunnerTest, AFailingCellIsNamedAndTheOthersStay) {
  Study failing = made_study();
  failing.measure = [](const Json& parameters) -> Json {
    if (parameters.at("k") == 2) throw std::runtime_error("out of luck");
    return {{"square", 1}};
  };
  try {
    (void)run(failing);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "made, k-2: out of luck");
  }
  EXPECT_EQ(records().size(), 2U);
}

TEST(Studies, HaveDifferentNamesAndAnswers) {
  for (const Study& study : studies()) {
    EXPECT_EQ(find_study(study.name), &study) << "two studies are called " << study.name;
    for (const Scale scale : {Scale::smoke, Scale::machine, Scale::paper}) {
      const Design design = study.design({.scale = scale});
      EXPECT_FALSE(design.cells.empty()) << study.name;
      EXPECT_FALSE(design.tables.empty()) << study.name;
      EXPECT_FALSE(design.conditions.empty()) << study.name;
    }
  }
  EXPECT_EQ(find_study("nobody's"), nullptr);
}

}  // namespace
}  // namespace fedsinkhorn::experiments
