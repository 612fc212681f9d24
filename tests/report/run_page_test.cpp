// Pages made of run records: whole ones, damaged ones, foreign ones, hostile ones.
#include "report/run_page.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "report/plan_view.hpp"
#include "report/run_record.hpp"
#include "report/web_assets.hpp"
#include "support/in_a_folder.hpp"
#include "support/xml.hpp"

namespace fedsinkhorn::report {
namespace {

using testing::has;
using testing::occurrences;
namespace fs = std::filesystem;

/// A summary of a solve by two clients, with all that its schema requires.
Json made_summary() {
  const auto client = [](int number, double seconds) {
    return Json{
        {"client", number},
        {"rows", {50 * number, 50 * number + 50}},
        {"compute_seconds", seconds},
        {"communication_seconds", 0.25},
        {"bytes_sent", 1000},
        {"bytes_received", 2000},
        {"peak_memory_bytes", 1 << 20},
        {"left", {{{"phase", "rounds"}, {"kind", "sum"}, {"form", "masked"}, {"bytes", 800}, {"messages", 10}}}}};
  };
  return {{"schema_version", 1},
          {"status", "converged"},
          {"iterations", 12345},
          {"error", {{"norm", "l1"}, {"a", 1e-10}, {"b", 2e-17}}},
          {"cost", {{"linear", 0.5}, {"objective", 0.25}, {"dual", 0.25}}},
          {"epsilon", 0.01},
          {"mass", 4},
          {"tolerance", 1e-9},
          {"kernel", "dense"},
          {"precision", "float64"},
          {"precision_is_reduced", false},
          {"method", "auto"},
          {"backend", "cpu"},
          {"simd", "avx2"},
          {"threads", 1},
          {"topology", "row-reduce"},
          {"transport", "threads"},
          {"policy", "sums"},
          {"rows", 100},
          {"columns", 80},
          {"targets", 1},
          {"client_count", 2},
          {"clients", {client(0, 1.0), client(1, 3.0)}},
          {"privacy", "not private"},
          {"solve_seconds", 1.5},
          {"wall_seconds", 2.5},
          {"version", "0.1.0"}};
}

constexpr const char* kTrace =
    "iteration,seconds,error_a,error_b,epsilon,rejected\n1,0.1,0.5,nan,0.01,0\n2,0.2,1e-10,2e-17,0.01,0\n";

class RunPageTest : public testing::InAFolder {
 protected:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  void write_run(const std::string& folder, const Json& summary) const {
    write(folder + "/summary.json", summary.dump());
    write(folder + "/trace.csv", kTrace);
  }
  [[nodiscard]] Page page_of(const std::string& folder) const { return page_of_folder(folder_ / folder); }
};

bool has_section(const Page& page, const std::string& id) {
  return std::ranges::find(page.sections, id, &Section::id) != page.sections.end();
}

std::string all_notes(const Page& page) {
  std::string text;
  for (const std::string& note : page.notes) text += note + "\n";
  return text;
}

/// The page without library, script and style, which are not ours to check here.
std::string body_of(const Page& page) {
  const std::string html = page_html(page);
  const std::size_t first = html.find("<body");
  return html.substr(first, html.find("<script>") - first);
}

TEST_F(RunPageTest, ASolveHasItsSections) {
  write_run("run", made_summary());
  const Page page = page_of("run");
  for (const char* id : {"overview", "convergence", "clients", "privacy"}) EXPECT_TRUE(has_section(page, id)) << id;
  for (const char* id : {"delays", "targets", "prediction", "plan", "worst-case"})
    EXPECT_FALSE(has_section(page, id)) << id;
  const std::string body = body_of(page);
  EXPECT_TRUE(has(body, "Converged in 12,345 iterations"));
  EXPECT_TRUE(has(body, "Client 1 computed for clearly longer"));
  EXPECT_TRUE(has(body, "masked"));
  const Section& convergence = *std::ranges::find(page.sections, "convergence", &Section::id);
  const Json& curve = convergence.charts.at(0).spec;
  // NaN is a gap in the curve, and JSON has no NaN. The error of the rows, 0.5 and 1e-10, is not drawn.
  EXPECT_EQ(curve.at("series"), Json::parse(R"([{"name": "error", "points": [[1.0, null], [2.0, 2e-17]]}])"));
  EXPECT_EQ(curve.at("rules")[0].at("y"), 4e-9) << "relative to the total mass";
  EXPECT_EQ(occurrences(body, "data-chart=\"convergence\""), 1U);
}

TEST_F(RunPageTest, EveryChartHasANameADescriptionAndASpec) {
  write_run("run", made_summary());
  const Page page = page_of("run");
  const std::string html = page_html(page);
  const std::size_t first = html.find("id=\"charts\">") + 12;
  const Json specs = Json::parse(html.substr(first, html.find("</script>", first) - first));
  std::size_t charts = 0;
  for (const Section& section : page.sections) {
    for (const Chart& chart : section.charts) {
      ++charts;
      EXPECT_FALSE(chart.title.empty());
      EXPECT_FALSE(chart.description.empty()) << chart.title;
      EXPECT_TRUE(specs.contains(chart.id)) << chart.id;
    }
  }
  EXPECT_EQ(specs.size(), charts);
}

TEST_F(RunPageTest, TextFromDataIsEscaped) {
  Json summary = made_summary();
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=\"alert(2)\">";
  summary["hint"] = evil;
  summary["method"] = evil;
  summary["policy"] = evil;
  summary["privacy"] = evil;
  summary["clients"][0]["left"][0]["kind"] = evil;
  summary["error"]["norm"] = evil;
  write_run("run", summary);
  const std::string body = body_of(page_of("run"));
  EXPECT_FALSE(has(body, evil));
  EXPECT_FALSE(has(body, "<img"));
  // The data of the charts is one script, and nothing has ended it early.
  EXPECT_EQ(occurrences(body, "<script"), 1U);
  EXPECT_EQ(occurrences(body, "</script"), 1U);
}

TEST_F(RunPageTest, AFolderNameIsTextToo) {
  write_run("<b>run<", made_summary());
  EXPECT_FALSE(has(page_html(page_of("<b>run<")), "<b>run"));
}

TEST_F(RunPageTest, AMissingKeyCostsItsSectionAndIsNamed) {
  Json summary = made_summary();
  summary.erase("clients");
  summary["error"]["norm"] = 7;
  write_run("run", summary);
  const Page page = page_of("run");
  EXPECT_FALSE(has_section(page, "clients"));
  EXPECT_FALSE(has_section(page, "convergence"));
  EXPECT_TRUE(has(all_notes(page), "'clients' is missing")) << all_notes(page);
  EXPECT_TRUE(has(all_notes(page), "'norm' is not a text")) << all_notes(page);
  EXPECT_TRUE(has(body_of(page), "&#39;clients") || has(body_of(page), "'clients"));
}

TEST_F(RunPageTest, DamagedFilesBesideTheSummaryBecomeNotes) {
  write_run("run", made_summary());
  for (const char* trace : {"", "a,b\n1,2\n", "iteration,seconds,error_a,error_b,epsilon\n1,2,x,4,5\n",
                            "iteration,seconds,error_a,error_b,epsilon\n1,2\n"}) {
    write("run/trace.csv", trace);
    write("run/plan-view.json", R"({"version": 1, "cells": {"rows": 2, "columns": 2, "row_step": 1, "column_step": 1,
                                   "mass": [1, 2, 3]}, "note": ""})");
    const Page page = page_of("run");
    EXPECT_FALSE(has_section(page, "convergence"));
    EXPECT_FALSE(has_section(page, "plan"));
    EXPECT_TRUE(has(all_notes(page), "trace.csv")) << all_notes(page);
    EXPECT_TRUE(has(all_notes(page), "plan-view.json: 'mass'")) << all_notes(page);
    EXPECT_TRUE(has_section(page, "clients"));
  }
}

TEST_F(RunPageTest, ForeignSummariesAreRefusedByName) {
  const auto complaint = [&](const std::string& text) {
    write("run/summary.json", text);
    try {
      (void)page_of("run");
    } catch (const RecordError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_TRUE(has(complaint("{\"status\": \"conv"), "truncated"));
  EXPECT_TRUE(has(complaint(""), "truncated"));
  EXPECT_TRUE(has(complaint("[1, 2]"), "not an object"));
  EXPECT_TRUE(has(complaint("{}"), "no schema_version"));
  EXPECT_TRUE(has(complaint("{\"schema_version\": 99}"), "version 99"));
  EXPECT_TRUE(has(complaint("{\"schema_version\": \"1\"}"), "'schema_version' is not a count"));
}

TEST_F(RunPageTest, OfSeveralRunsBadOnesAreSkippedWithTheirNames) {
  write_run("runs/first", made_summary());
  write_run("runs/second", made_summary());
  write("runs/broken/summary.json", "{\"schema_version\": 1,");
  Json other = made_summary();
  other["schema_version"] = 2;
  write_run("runs/newer", other);
  Json lacking = made_summary();
  lacking.erase("topology");
  write_run("runs/lacking", lacking);
  fs::create_directories(folder_ / "runs/nothing here");
  const Page page = page_of("runs");
  const std::string notes = all_notes(page);
  for (const char* name : {"broken", "newer", "lacking"}) EXPECT_TRUE(has(notes, name)) << notes;
  ASSERT_EQ(page.sections.size(), 1U);
  ASSERT_EQ(page.sections[0].tables.size(), 1U);
  EXPECT_EQ(page.sections[0].tables[0].rows.size(), 2U);
  EXPECT_EQ(page.sections[0].charts.at(0).spec.at("series").size(), 3U);  // curves need no topology
}

TEST_F(RunPageTest, LevelsOfEpsilonAreMarked) {
  write_run("run", made_summary());
  write("run/trace.csv",
        "iteration,seconds,error_a,error_b,epsilon\n1,0,.5,.5,0.01\n2,0,.5,.4,0.2\n3,0,.5,.1,0.2\n4,0,.5,.3,0.01\n");
  const Page page = page_of("run");
  const Section& convergence = *std::ranges::find(page.sections, "convergence", &Section::id);
  const Json levels = Json::parse(
      R"([{"x": 1.0, "name": "epsilon 0.01"}, {"x": 2.0, "name": "epsilon 0.2"}, {"x": 4.0, "name": "epsilon 0.01"}])");
  EXPECT_EQ(convergence.charts.at(0).spec.at("levels"), levels);
  EXPECT_TRUE(has(body_of(page), "Epsilon was lowered in levels, from 0.2 to 0.01"));
  write("run/trace.csv", kTrace);
  EXPECT_FALSE(has(body_of(page_of("run")), "levels"));
}

TEST_F(RunPageTest, ShowsOneErrorOfTheResult) {
  write_run("run", made_summary());
  const std::string body = body_of(page_of("run"));
  EXPECT_TRUE(has(body, "marginal error (l1)</th><td>10⁻¹⁰</td>")) << body;
  EXPECT_FALSE(has(body, "error of the rows (l1)"));
}

TEST_F(RunPageTest, WhatWasNotComputedIsSaid) {
  Json summary = made_summary();
  summary["status"] = "interrupted";
  summary["cost"] = {{"linear", nullptr}, {"objective", nullptr}, {"dual", nullptr}};
  write_run("run", summary);
  EXPECT_EQ(occurrences(body_of(page_of("run")), "<td>not computed</td>"), 3U);
  summary["policy"] = "private";
  write_run("run", summary);
  EXPECT_EQ(occurrences(body_of(page_of("run")), "<td>not released</td>"), 3U);
}

TEST_F(RunPageTest, SaysHowLargeEpsilonIsAndWhatLooksWrong) {
  Json summary = made_summary();
  summary.update({{"dimension", 2}, {"metric", "cosine"}, {"largest_cost", 5}, {"largest_cost_is_bound", true}});
  summary["notes"] = {"are the files transposed?"};
  write_run("run", summary);
  const std::string body = body_of(page_of("run"));
  for (const char* part : {"dimension 2, cosine", "at least 0.002", "Note: are the files transposed?"}) {
    EXPECT_TRUE(has(body, part)) << part;
  }
}

TEST_F(RunPageTest, HeadersOfNumbersStandWhereTheNumbersDo) {
  const Table table{"", {"name", "size"}, {{{"one"}, {"1", true}}, {{"two"}, {"–"}}}};
  const std::string html = table_html(table);
  EXPECT_TRUE(has(html, "<th scope=\"col\">name</th><th scope=\"col\" class=\"number\">size</th>")) << html;
}

TEST_F(RunPageTest, NothingToReportOnIsSaid) {
  fs::create_directories(folder_ / "empty");
  EXPECT_THROW((void)page_of("empty"), RecordError);
  write("bad/run/summary.json", "{");
  EXPECT_THROW((void)page_of("bad"), RecordError);
}

TEST_F(RunPageTest, LongTracesAreThinnedAndKeepTheirEnd) {
  std::string trace = "iteration,seconds,error_a,error_b,epsilon\n";
  for (int k = 1; k <= 30001; ++k) trace += std::to_string(k) + ",1,0.5,0.25,0.01\n";
  write_run("run", made_summary());
  write("run/trace.csv", trace);
  const RunRecord record = read_run_record(folder_ / "run");
  EXPECT_LE(record.trace.size(), 2001U);
  EXPECT_EQ(record.trace.front().iteration, 1);
  EXPECT_EQ(record.trace.back().iteration, 30001);
}

TEST(PlanViewTest, SurvivesItsFile) {
  PlanView view;
  view.cells = {2, 2, 5, 6, {0.125, 0.25, 0, 0.625}};
  view.flow = PlanFlow{{0, 1}, {2, std::nan("")}, {3, 4, 5, 6}};
  view.note = "a note";
  const PlanView again = parsed_plan_view(Json::parse(plan_view_json(view)));
  EXPECT_EQ(again.cells.mass, view.cells.mass);
  EXPECT_EQ(again.cells.column_step, 6U);
  EXPECT_EQ(again.note, "a note");
  ASSERT_TRUE(again.flow);
  EXPECT_EQ(again.flow->target, view.flow->target);
  EXPECT_TRUE(std::isnan(again.flow->moved[1]));
}

TEST(WebAssetsTest, AreEmbedded) {
  EXPECT_TRUE(has(page_script(), "data-chart") || has(page_script(), "dataset"));
  EXPECT_TRUE(has(page_style(), "prefers-color-scheme") || has(page_style(), "color-scheme"));
  EXPECT_TRUE(chart_library().empty() || has(chart_library(), "Apache"));
}

}  // namespace
}  // namespace fedsinkhorn::report
