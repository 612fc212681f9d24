#include "report/run_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/printable.hpp"
#include "report/number_text.hpp"
#include "report/sections.hpp"

namespace fedsinkhorn::report {
namespace {

namespace fs = std::filesystem;

/// Of folders side by side; more would be neither read nor drawn in reasonable time.
constexpr std::size_t kMostRuns = 1000;
/// Curves that can still be told apart.
constexpr std::size_t kMostCurves = 12;

std::string lead_of(const RunRecord& run) {
  const Json& summary = run.summary;
  if (run.kind == RunKind::risk) {
    return fmt::format("{} days and {} scenarios, by {} clients.", count_text(count(summary, "rows")),
                       count_text(count(summary, "columns")), count_text(count(summary, "client_count")));
  }
  const std::uint64_t clients = count(summary, "client_count");
  return fmt::format(
      "{} x {}, epsilon {}, {}.", count_text(count(summary, "rows")), count_text(count(summary, "columns")),
      number_text(number(summary, "epsilon")),
      clients == 1 ? "one client" : fmt::format("{} clients, {}", count_text(clients), text(summary, "topology")));
}

Table runs_table(const std::vector<RunRecord>& runs, std::vector<std::string>& notes) {
  Table table{"Runs",
              {"run", "status", "rows", "columns", "epsilon", "method", "topology", "clients", "iterations", "time"},
              {}};
  for (const RunRecord& run : runs) {
    try {
      const Json& s = run.summary;
      table.rows.push_back({{run.name},
                            {text(s, "status")},
                            count_cell(count(s, "rows")),
                            count_cell(count(s, "columns")),
                            number_cell(number(s, "epsilon")),
                            {text(s, "method")},
                            {text(s, "topology")},
                            count_cell(count(s, "client_count")),
                            count_cell(count(s, "iterations")),
                            seconds_cell(number(s, "solve_seconds"))});
    } catch (const RecordError& error) {
      notes.push_back(fmt::format("{}: summary.json: {} (skipped)", run.name, error.what()));
    }
  }
  return table;
}

Chart curves_chart(const std::vector<RunRecord>& runs) {
  Json series = Json::array();
  for (const RunRecord& run : runs) {
    if (run.trace.empty() || series.size() == kMostCurves) continue;
    Json points = Json::array();
    for (const TracePoint& point : run.trace) {
      points.push_back({point.iteration, number_or_null(point.error_b)});
    }
    series.push_back({{"name", run.name}, {"points", points}});
  }
  Chart chart{"convergence", "Marginal error by iteration", "A curve per run, on a log scale.", Json::object(), {}};
  chart.spec = {{"kind", "lines"},
                {"x", {{"title", "iteration"}}},
                {"y", {{"title", "error"}, {"log", true}}},
                {"series", series}};
  return chart;
}

}  // namespace

Page run_page(const RunRecord& run) {
  Page page;
  page.title = run.kind == RunKind::risk ? "Worst-case risk: " + run.name : "Optimal transport: " + run.name;
  page.notes = run.notes;
  try {
    page.lead = lead_of(run);
  } catch (const RecordError& error) {
    page.notes.push_back(fmt::format("summary.json: {}", error.what()));
  }
  for (const SectionEntry& entry : sections()) {
    try {
      if (auto section = entry.make(run)) page.sections.push_back(std::move(*section));
    } catch (const RecordError& error) {
      page.notes.push_back(fmt::format("The section on {} is left out: {}", entry.name, error.what()));
    }
  }
  return page;
}

Page runs_page(const std::string& title, const std::vector<RunRecord>& runs, std::vector<std::string> notes) {
  Page page;
  page.title = "Runs: " + title;
  page.lead = fmt::format("{} runs.", runs.size());
  Section section{"runs", "Runs"};
  std::vector<RunRecord> solves;
  for (const RunRecord& run : runs) {
    if (run.kind == RunKind::solve) solves.push_back(run);
  }
  Table table = runs_table(solves, notes);
  if (!table.rows.empty()) {
    Chart curves = curves_chart(solves);
    if (solves.size() > kMostCurves) section.paragraphs.push_back(fmt::format("Curves of the first {}.", kMostCurves));
    if (!curves.spec.at("series").empty()) section.charts.push_back(std::move(curves));
    section.tables.push_back(std::move(table));
  }
  Table risks{"Worst cases", {"run", "status", "radius", "before", "worst case", "lambda"}, {}};
  for (const RunRecord& run : runs) {
    if (run.kind != RunKind::risk) continue;
    try {
      const Json& s = run.summary;
      risks.rows.push_back({{run.name},
                            {text(s, "status")},
                            number_cell(number(s, "radius")),
                            number_cell(number(s, "expected_loss")),
                            number_cell(number(s, "worst_case_loss")),
                            number_cell(number(s, "lambda"))});
    } catch (const RecordError& error) {
      notes.push_back(fmt::format("{}: summary.json: {} (skipped)", run.name, error.what()));
    }
  }
  if (!risks.rows.empty()) section.tables.push_back(std::move(risks));
  page.sections.push_back(std::move(section));
  page.notes = std::move(notes);
  return page;
}

Page page_of_folder(const fs::path& folder) {
  if (fs::exists(folder / "summary.json")) return run_page(read_run_record(folder));
  std::vector<fs::path> inside;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && fs::exists(entry.path() / "summary.json")) inside.push_back(entry.path());
  }
  std::ranges::sort(inside);
  std::vector<RunRecord> runs;
  std::vector<std::string> notes;
  for (const fs::path& path : inside) {
    if (runs.size() == kMostRuns) {
      notes.push_back(fmt::format("Only the first {} of {} runs are shown.", kMostRuns, inside.size()));
      break;
    }
    try {
      runs.push_back(read_run_record(path));
    } catch (const RecordError& error) {
      notes.push_back(fmt::format("{}: {} (skipped)", path.filename().string(), error.what()));
    }
  }
  if (runs.empty()) {
    throw RecordError(inside.empty() ? "no summary.json here, nor in a folder of it"
                                     : fmt::format("no summary.json that can be used; {}", notes.front()));
  }
  return runs_page(fs::absolute(folder).lexically_normal().filename().string(), runs, std::move(notes));
}

}  // namespace fedsinkhorn::report
