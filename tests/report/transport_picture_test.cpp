#include "report/transport_picture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "report/demo_clouds.hpp"
#include "support/xml.hpp"

namespace fedsinkhorn {
namespace {

using testing::occurrences;
using testing::xml_fault;

struct Example {
  std::vector<double> source{0, 0, 1, 0, 0, 1, 1, 1};
  std::vector<double> moved{2, 0, 3, 0, 2, 1, 3, 1};
  std::vector<double> target{2, 0, 3, 0, 2, 1, 3, 1, 2.5, 0.5};
  std::vector<TraceRow> trace;

  Example() {
    for (int k = 1; k <= 120; ++k)
      trace.push_back({k, 0.001 * k, std::pow(10.0, -k / 13.0), std::pow(10.0, -k / 14.0)});
  }
  [[nodiscard]] TransportPictureData data() const {
    TransportPictureData data;
    data.title = "Squares & <circles>";
    data.subtitle = "one moves \"over\"";
    data.source = source;
    data.moved = moved;
    data.target = target;
    data.trace = trace;
    data.tolerance = 1e-9;
    data.epsilon = 0.0125;
    data.iterations = 12345;
    data.linear_cost = 0.75;
    return data;
  }
};

TEST(TransportPictureTest, TheXmlReaderSeesFaults) {
  EXPECT_EQ(xml_fault("<a><b x=\"1>0\"/>t</a>\n"), "");
  EXPECT_NE(xml_fault("<a><b></a></b>"), "");
  EXPECT_NE(xml_fault("<a>"), "");
  EXPECT_NE(xml_fault("<a>x & y</a>"), "");
  EXPECT_NE(xml_fault("<a/><b/>"), "");
}

TEST(TransportPictureTest, IsWellFormedAndComplete) {
  const Example example;
  const std::string svg = transport_picture(example.data());
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_EQ(svg.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\"", 0), 0U);
  EXPECT_EQ(occurrences(svg, "class=\"frame\""), 5U);
  for (const char* text :
       {">t = 0<", ">t = 1/4<", ">t = 1/2<", ">t = 3/4<", ">t = 1<", "iteration", "L1 error", "tolerance 10⁻⁹",
        ">source points n<", ">target points m<", ">4<", ">5<", ">0.0125<", ">12,345<", "⟨P, C⟩", ">0.75<", ">10⁰<",
        "Squares &amp; &lt;circles&gt;", "one moves &quot;over&quot;"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(occurrences(svg, "<polyline"), 1U);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(TransportPictureTest, MarksLevelsAndShowsTheErrorOfThePlan) {
  Example example;
  TransportPictureData data = example.data();
  data.error = 7e-10;
  const std::string without = transport_picture(data);
  EXPECT_NE(without.find(">7 × 10⁻¹⁰<"), std::string::npos) << "not that of the last check";
  EXPECT_EQ(without.find("class=\"levels\""), std::string::npos);
  for (std::size_t k = 3; k < example.trace.size(); ++k) example.trace[k].epsilon = 0.1;
  const std::string svg = transport_picture(data);
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_EQ(occurrences(svg, "class=\"levels\""), 1U);
}

TEST(TransportPictureTest, IsAPureFunction) {
  const Example example;
  EXPECT_EQ(transport_picture(example.data()), transport_picture(example.data()));
}

TEST(TransportPictureTest, DrawsEveryPointInEveryFrame) {
  const Example example;
  // Four points in five frames, and the target behind the last.
  EXPECT_EQ(occurrences(transport_picture(example.data()), "h.01"), 4 * 5 + 5U);
}

TEST(TransportPictureTest, LeavesOutWhatCannotBeDrawn) {
  Example example;
  example.moved[2] = std::numeric_limits<double>::quiet_NaN();
  example.trace[5].error_b = std::numeric_limits<double>::infinity();
  example.trace[6].error_a = example.trace[6].error_b = 0;
  const std::string svg = transport_picture(example.data());
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_EQ(occurrences(svg, "h.01"), 3 * 5 + 5U);
}

TEST(TransportPictureTest, SurvivesNothingAtAll) {
  const std::string svg = transport_picture({});
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(occurrences(svg, "class=\"frame\""), 5U);
}

TEST(TransportPictureTest, RefusesSizesThatContradict) {
  const Example example;
  TransportPictureData data = example.data();
  data.moved = data.moved.first(4);
  EXPECT_THROW((void)transport_picture(data), std::invalid_argument);
  data = example.data();
  data.target = data.target.first(3);
  EXPECT_THROW((void)transport_picture(data), std::invalid_argument);
}

TEST(TransportPictureTest, StaysSmall) {
  const DemoClouds clouds = demo_clouds();
  std::vector<TraceRow> trace;
  for (int k = 1; k <= 50000; ++k) trace.push_back({k, 0, 1.0 / k, 1.0 / k});
  TransportPictureData data;
  data.source = clouds.source;
  data.moved = clouds.target;
  data.target = clouds.target;
  data.trace = trace;
  const std::string svg = transport_picture(data);
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_LT(svg.size(), 600000U);
}

TEST(TransportPictureTest, BarycentricProjectionByHand) {
  const std::vector<double> plan{0.25, 0.25, 0.0, 0.5, 0.0, 0.0};
  const std::vector<double> target{0, 0, 2, 4};
  std::vector<double> moved(6);
  barycentric_projection(plan, target, moved);
  EXPECT_EQ(moved[0], 1);
  EXPECT_EQ(moved[1], 2);
  EXPECT_EQ(moved[2], 2);
  EXPECT_EQ(moved[3], 4);
  EXPECT_TRUE(std::isnan(moved[4]));
  EXPECT_THROW(barycentric_projection(plan, target, std::span<double>(moved).first(4)), std::invalid_argument);
}

double smallest_gap(const std::vector<double>& points) {
  double gap = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < points.size(); i += 2) {
    for (std::size_t j = 0; j < i; j += 2) {
      gap = std::min(gap, std::hypot(points[i] - points[j], points[i + 1] - points[j + 1]));
    }
  }
  return gap;
}

TEST(DemoCloudsTest, FillsBothShapesEvenly) {
  const DemoClouds clouds = demo_clouds(600, 3);
  for (const std::vector<double>* cloud : {&clouds.source, &clouds.target}) {
    ASSERT_EQ(cloud->size(), 1200U);
    for (const double coordinate : *cloud) EXPECT_LE(std::abs(coordinate), 1);
    // 600 independent points in an area of about 2 would come as close as 0.002.
    EXPECT_GT(smallest_gap(*cloud), 0.015);
  }
}

TEST(DemoCloudsTest, LeavesEyesAndMouthEmpty) {
  const DemoClouds clouds = demo_clouds(600, 3);
  for (std::size_t i = 0; i < clouds.source.size(); i += 2) {
    const double x = clouds.source[i];
    const double y = clouds.source[i + 1];
    EXPECT_GT(std::hypot(std::abs(x) - 0.32, y - 0.28), 0.1);
    EXPECT_FALSE(std::abs(x) < 0.1 && y > -0.6 && y < -0.4);
  }
}

TEST(DemoCloudsTest, SameSeedSamePoints) {
  const DemoClouds one = demo_clouds(50, 1);
  EXPECT_EQ(one.source, demo_clouds(50, 1).source);
  EXPECT_EQ(one.target, demo_clouds(50, 1).target);
  EXPECT_NE(one.source, demo_clouds(50, 2).source);
  EXPECT_NE(one.target, demo_clouds(50, 2).target);
}

}  // namespace
}  // namespace fedsinkhorn
