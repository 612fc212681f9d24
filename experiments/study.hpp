// A study: a question, cells to measure, and views of what was measured. One file in studies/ each, and a line in
// studies.cpp. The runner (runner.hpp) measures the cells and keeps a record of each.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/study.hpp"

namespace fedsinkhorn::experiments {

using report::ChartView;
using report::Figure;
using report::Grouping;
using report::Json;
using report::PaperFigure;
using report::TableView;

/// smoke: seconds, to see that it runs. machine: minutes on two cores. paper: the paper's sizes.
enum class Scale { smoke, machine, paper };
[[nodiscard]] std::string_view name_of(Scale scale);

/// What the command line asks for.
struct Setting {
  Scale scale = Scale::machine;
  std::string transport = "threads";  ///< of clients in real time: threads of this process, or mpi

  /// The value for the scale.
  template <class Value>
  [[nodiscard]] Value by_scale(Value smoke, Value machine, Value paper) const {
    if (scale == Scale::smoke) return smoke;
    return scale == Scale::machine ? machine : paper;
  }
};

/// What is measured and how it is shown.
struct Design {
  std::vector<std::string> conditions{};   ///< what is run, and how: sentences
  std::vector<std::string> differences{};  ///< why figures differ from those of the paper: sentences without figures
  /// The parameters of every cell, in the order in which they are measured. They say all that measure() needs.
  std::vector<Json> cells{};
  std::vector<TableView> tables{};
  std::vector<ChartView> charts{};
};

struct Study {
  std::string_view name;
  std::string_view title;
  std::string_view question;
  std::string_view paper;  ///< where in the paper; empty: a question of ours
  /// Timed cells are measured one after the other; others, which must not use more than one thread, side by side.
  bool is_timed = false;
  Design (*design)(const Setting& setting);
  /// What a cell measures: see report::CellRecord::measured.
  Json (*measure)(const Json& parameters);
};

/// All studies, in the order of the paper, ours last.
[[nodiscard]] std::span<const Study> studies();
/// nullptr if there is none of that name.
[[nodiscard]] const Study* find_study(std::string_view name);

/// The number, or what stands for it in records if it is infinite or NaN.
[[nodiscard]] Json measured_number(double value);

[[nodiscard]] double median(std::vector<double> values);

}  // namespace fedsinkhorn::experiments
