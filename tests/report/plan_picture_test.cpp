#include "report/plan_picture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "support/xml.hpp"

namespace fedsinkhorn {
namespace {

using testing::has;
using testing::occurrences;

/// Whether tags nest, for XML as this project writes it: no > in attributes.
bool is_well_formed(std::string_view text) {
  std::vector<std::string_view> open;
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    const std::size_t end = text.find('>', at);
    if (end == std::string_view::npos) return false;
    const std::string_view tag = text.substr(at + 1, end - at - 1);
    if (tag.empty() || has(tag, "<") || occurrences(tag, "\"") % 2 != 0) return false;
    if (tag.front() == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
      if (open.empty()) return text.substr(end + 1) == "\n";
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  return false;
}

/// Of all elements with this beginning.
std::vector<double> values(std::string_view svg, std::string_view element, const std::string& attribute) {
  std::vector<double> found;
  for (std::size_t at = svg.find(element); at != std::string_view::npos; at = svg.find(element, at + 1)) {
    const std::size_t from = svg.find(" " + attribute + "=\"", at) + attribute.size() + 3;
    found.push_back(std::stod(std::string(svg.substr(from, svg.find('"', from) - from))));
  }
  return found;
}

TopologyCurve curve_of(const std::string& topology, std::size_t points, double first, double factor) {
  TopologyCurve curve;
  curve.topology = topology;
  for (std::size_t k = 0; k < points; ++k) {
    curve.clients.push_back(std::size_t{1} << k);
    curve.seconds.push_back(first * std::pow(factor, static_cast<double>(k)));
    curve.communication.push_back(curve.seconds.back() * (static_cast<double>(k) / static_cast<double>(points)));
  }
  return curve;
}

TopologyPlan four_topologies() {
  TopologyPlan plan;
  plan.curves = {curve_of("row-reduce", 7, 1, 0.6), curve_of("all-to-all", 7, 2, 0.6), curve_of("star", 7, 3, 1.01),
                 curve_of("grid", 7, 1, 0.61)};
  plan.curves[0].turns_at = 20;
  plan.curves[1].turns_at = 16;
  return plan;
}

/// Drawable by any viewer, and with labels that can be read.
void expect_sound(const TopologyPlan& plan, std::size_t curves) {
  const std::string svg = plan_picture(plan, "title");
  EXPECT_TRUE(is_well_formed(svg)) << svg;
  EXPECT_FALSE(has(svg, "nan"));
  EXPECT_FALSE(has(svg, "inf"));
  EXPECT_EQ(occurrences(svg, "class=\"curve\""), curves);
  std::vector<double> places = values(svg, "<text class=\"label\"", "y");
  ASSERT_EQ(places.size(), curves);
  const std::vector<double> sizes = values(svg, "<text class=\"label\"", "font-size");
  std::ranges::sort(places);
  for (std::size_t k = 1; k < places.size(); ++k) EXPECT_GE(places[k] - places[k - 1], std::ranges::max(sizes)) << k;
  for (const double y : places) {
    EXPECT_GT(y, 130);
    EXPECT_LT(y, 570);
  }
}

TEST(PlanPictureTest, HasALabelledCurvePerTopology) {
  const TopologyPlan plan = four_topologies();
  expect_sound(plan, 4);
  const std::string svg = plan_picture(plan, "100 x 100");
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  for (const char* text :
       {">row-reduce<", ">all-to-all<", ">star<", ">grid<", ">clients<", ">seconds per iteration<", ">communication<",
        "<title>100 x 100</title>", "<desc>", ">46.7 ms<", ">93.3 ms<", ">3.18 s<", ">with 64 clients:<"}) {
    EXPECT_TRUE(has(svg, text)) << text;
  }
  for (const char* clients : {">1<", ">2<", ">4<", ">8<", ">16<", ">32<", ">64<"}) {
    EXPECT_TRUE(has(svg, clients)) << clients;
  }
  EXPECT_EQ(svg, plan_picture(plan, "100 x 100"));
}

TEST(PlanPictureTest, CurvesDifferWithoutColours) {
  const std::string svg = plan_picture(four_topologies(), "");
  for (const char* dashes : {"none", "10 5", "2 5", "13 5 2 5"}) {
    EXPECT_EQ(occurrences(svg, std::string("stroke-dasharray=\"") + dashes + "\""), 2U) << dashes;
  }
}

TEST(PlanPictureTest, MarksWhereCommunicationBeginsToDominate) {
  TopologyPlan plan = four_topologies();
  std::string svg = plan_picture(plan, "");
  EXPECT_EQ(occurrences(svg, "class=\"turn\""), 2U);
  EXPECT_TRUE(has(svg, ">20 clients<"));
  EXPECT_TRUE(has(svg, ">16 clients<"));
  EXPECT_TRUE(has(svg, "communication takes longer than computing from 20 clients on."));
  plan.curves[0].turns_at = 0;
  plan.curves[1].turns_at = 1000;  // beyond the curve
  svg = plan_picture(plan, "");
  EXPECT_EQ(occurrences(svg, "class=\"turn\""), 0U);
  EXPECT_FALSE(has(svg, ">from here on"));
}

TEST(PlanPictureTest, EscapesTexts) {
  TopologyPlan plan = four_topologies();
  plan.curves[1].topology = "<mine>";
  const std::string svg = plan_picture(plan, "Squares & <circles>");
  EXPECT_TRUE(is_well_formed(svg));
  EXPECT_EQ(occurrences(svg, "Squares &amp; &lt;circles&gt;"), 2U);
  EXPECT_TRUE(has(svg, ">&lt;mine&gt;<"));
}

TEST(PlanPictureTest, SaysThatThereAreNoCurves) {
  TopologyPlan plan;
  const std::string svg = plan_picture(plan, "title");
  EXPECT_TRUE(is_well_formed(svg));
  EXPECT_TRUE(has(svg, ">No curves to draw"));
  plan.curves.emplace_back();
  EXPECT_EQ(plan_picture(plan, "title"), svg);
}

TEST(PlanPictureTest, OnePoint) {
  TopologyPlan plan;
  plan.curves = {curve_of("star", 1, 0.25, 1)};
  plan.curves[0].turns_at = 1;
  expect_sound(plan, 1);
  plan.curves[0].clients[0] = 3;
  EXPECT_TRUE(has(plan_picture(plan, ""), ">3<"));
}

TEST(PlanPictureTest, EqualCurvesHaveSeparateLabels) {
  TopologyPlan plan;
  for (const char* topology : {"row-reduce", "all-to-all", "star", "grid", "mine", "yours", "theirs"}) {
    plan.curves.push_back(curve_of(topology, 5, 0.01, 1));
  }
  expect_sound(plan, 7);
  for (std::size_t k = 0; k < 40; ++k) plan.curves.push_back(curve_of("another", 5, 1e-7, 1));
  expect_sound(plan, 47);
}

TEST(PlanPictureTest, WideRanges) {
  TopologyPlan plan;
  plan.curves = {curve_of("row-reduce", 14, 1e-7, 3), curve_of("star", 14, 1e4, 0.3)};
  for (TopologyCurve& curve : plan.curves) curve.clients.back() = 10'000;
  expect_sound(plan, 2);
  const std::string svg = plan_picture(plan, "");
  for (const char* text : {">10,000<", ">10⁻⁶<", ">10²<"}) EXPECT_TRUE(has(svg, text)) << text;
  plan.curves[0].seconds[3] = 1e-300;
  plan.curves[0].seconds[4] = 1e300;
  plan.curves[0].clients.back() = std::numeric_limits<std::size_t>::max();
  expect_sound(plan, 2);
  EXPECT_LT(plan_picture(plan, "").size(), 100'000U);
}

TEST(PlanPictureTest, LeavesOutWhatCannotBeDrawn) {
  TopologyPlan plan = four_topologies();
  plan.curves[0].seconds[2] = std::numeric_limits<double>::quiet_NaN();
  plan.curves[0].communication[3] = std::numeric_limits<double>::quiet_NaN();
  plan.curves[1].seconds[2] = 0;
  plan.curves[1].clients[3] = 0;
  plan.curves[1].seconds.pop_back();
  plan.curves[2].communication.clear();
  plan.curves[3].seconds.assign(7, std::numeric_limits<double>::infinity());
  expect_sound(plan, 3);
}

}  // namespace
}  // namespace fedsinkhorn
