#include "report/risk_picture.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "report/risk_axis.hpp"
#include "report/risk_curve.hpp"
#include "support/made_risk.hpp"
#include "support/xml.hpp"

namespace fedsinkhorn {
namespace {

using testing::has;
using testing::made_days;
using testing::made_scenarios;
using testing::MadeRisk;
using testing::occurrences;
using testing::xml_fault;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Drawable by any viewer. With RISK_PICTURES=folder, the picture is left there to be looked at.
std::string sound_picture(const RiskPictureData& data) {
  std::string svg = risk_picture(data);
  EXPECT_EQ(xml_fault(svg), "") << svg;
  EXPECT_FALSE(has(svg, "nan")) << svg;
  EXPECT_FALSE(has(svg, "inf")) << svg;
  EXPECT_EQ(occurrences(svg, "<title>"), 1U);
  EXPECT_EQ(occurrences(svg, "<desc>"), 1U);
  for (const char* panel : {"class=\"radius\"", "class=\"histogram\"", "class=\"days\""}) {
    EXPECT_EQ(occurrences(svg, panel), 1U) << panel;
  }
  EXPECT_LT(svg.size(), 200'000U);
  if (const char* folder = std::getenv("RISK_PICTURES")) {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    static int number = 0;
    std::ofstream(std::string(folder) + "/" + test->name() + std::to_string(number++) + ".svg") << svg;
  }
  return svg;
}

RiskPictureData picture_of(const RiskResult& result) {
  return {.title = "Worst case of a portfolio", .result = result, .epsilon = 1e-4};
}

TEST(RiskPictureTest, HasAllPanels) {
  const MadeRisk made;
  RiskResult result = made.result();
  result.client_count = 4;
  result.policy = "sums";
  const std::vector<std::string> days = made_days(made.days);
  const std::vector<std::string> scenarios = made_scenarios(made.scenarios);
  RiskPictureData data = picture_of(result);
  data.day_labels = days;
  data.scenario_labels = scenarios;
  const std::string svg = sound_picture(data);
  for (const char* text :
       {">Worst case of a portfolio<", "Expected loss before 0.0004, at worst 0.016 within radius 0.02", "λ 0.389",
        "250 days, 40 scenarios", "4 clients, policy sums", ">radius (largest mean cost of moving a day)<",
        ">expected loss<", ">0.016 at radius 0.02<", ">before: 0.0004<", ">mean before 0.0004<", ">mean after 0.016<",
        ">2010-09-", "→ crash of 19"}) {
    EXPECT_TRUE(has(svg, text)) << text;
  }
  EXPECT_EQ(occurrences(svg, "class=\"day\""), 12U);
  EXPECT_EQ(svg, risk_picture(data));
}

TEST(RiskPictureTest, ASweepOnALinearAxis) {
  const MadeRisk made;
  RiskResult result = made.result();
  for (const double r : {0.01, 0.02, 0.03, 0.04, 0.05}) result.sweep.push_back(made.at(r));
  const std::string svg = sound_picture(picture_of(result));
  EXPECT_EQ(occurrences(svg, "class=\"point\""), 5U);
  for (const char* text : {">0.01<", ">0.03<", ">0.05<"}) EXPECT_TRUE(has(svg, text)) << text;
}

TEST(RiskPictureTest, Cvar) {
  const MadeRisk made;
  RiskResult result = made.result();
  result.visited.clear();
  result.value_at_risk = 0.005;
  result.worst.value_at_risk = 0.021;
  RiskPictureData data = picture_of(result);
  data.cvar_level = 0.95;
  const std::string svg = sound_picture(data);
  for (const char* text : {">CVaR 95 % of the loss<", ">VaR before 0.005<", ">VaR after 0.021<"}) {
    EXPECT_TRUE(has(svg, text)) << text;
  }
}

TEST(RiskPictureTest, BothMarginalsFixed) {
  const MadeRisk made;
  RiskResult result = made.result();
  result.coupling = Result{};
  const std::string svg = sound_picture(picture_of(result));
  EXPECT_TRUE(has(svg,
                  "With both marginals fixed the expected loss is sum_j b_j l_j = 0.016 for every plan: no search "
                  "over plans can change it."));
  EXPECT_FALSE(has(svg, "class=\"curve\""));
}

TEST(RiskPictureTest, FlatWhereTheConstraintDoesNotBind) {
  const MadeRisk made;
  RiskResult result = made.result();
  result.largest_radius = 0.3;
  WorstCase flat = made.at(0.3);
  flat.is_binding = false;
  flat.lambda = 0;
  for (const double r : {0.01, 0.1, 0.4, 1.0}) {
    WorstCase one = r > 0.3 ? flat : made.at(r);
    one.radius = r;
    result.sweep.push_back(one);
  }
  result.worst = result.sweep.back();
  const std::vector<risk_drawing::CurvePoint> points = risk_drawing::curve_points(result);
  ASSERT_EQ(points.size(), 5U);
  EXPECT_EQ(points[2].radius, 0.3);
  EXPECT_EQ(points[2].loss, points[4].loss);
  const std::string svg = sound_picture(picture_of(result));
  EXPECT_TRUE(has(svg, "radius larger than needed"));
}

TEST(RiskPictureTest, ExtremeData) {
  MadeRisk made;
  made.scenarios = 1;
  made.days = 1;
  made.visited = 3;
  sound_picture(picture_of(made.result()));
  for (const double scale : {1e-9, 1e6, 1e-300, 1e90}) {
    MadeRisk scaled;
    scaled.before = -0.3 * scale;
    scaled.norm = 0.8 * std::sqrt(scale);
    scaled.radius = scale;
    scaled.bound = scale / 10;
    sound_picture(picture_of(scaled.result()));
  }
  MadeRisk many;
  many.days = 5000;
  many.scenarios = 900;
  many.visited = 200;
  const std::vector<std::string> days(5000, std::string(300, 'W'));
  const std::vector<std::string> scenarios(900, "A very long name of a scenario " + std::string(5000, 'M'));
  const RiskResult result = many.result();
  RiskPictureData data = picture_of(result);
  data.title = std::string(2000, 'W');
  data.day_labels = days;
  data.scenario_labels = scenarios;
  sound_picture(data);
}

TEST(RiskPictureTest, LosesNothingWhereAllIsEqual) {
  MadeRisk made;
  made.before = 1e6;
  made.norm = 1e-9;
  made.bound = 0;
  sound_picture(picture_of(made.result()));
  made.before = 0;
  made.norm = 0;
  made.radius = 0;
  sound_picture(picture_of(made.result()));
}

TEST(RiskPictureTest, OneLossAlone) {
  const MadeRisk made;
  RiskResult result = made.result();
  result.histogram = {.first = 3, .last = 3, .before = {1}, .after = {0.25, 0.75}};
  result.worst = made.at(0);
  result.visited.clear();
  const std::string svg = sound_picture(picture_of(result));
  EXPECT_TRUE(has(svg, "class=\"after\""));
  EXPECT_FALSE(has(svg, ">−0.5<")) << "of a radius";
}

TEST(RiskPictureTest, LeavesOutWhatIsNotANumber) {
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    MadeRisk made;
    RiskResult result = made.result();
    result.expected_loss = bad;
    result.histogram.before.clear();
    for (DayMove& move : result.moves) move.loss_before = bad;
    const std::string svg = sound_picture(picture_of(result));
    EXPECT_FALSE(has(svg, ">before: "));
    result.visited[3].dual = bad;
    result.visited[4].loss = bad;
    result.visited[5].lambda = bad;
    result.visited[6].radius = bad;
    result.histogram.after[7] = bad;
    result.worst.lambda = result.worst.transport_cost = result.worst.dual = bad;
    result.moves[3].cost = bad;
    result.moves[4].share = result.moves[4].loss_after = bad;
    sound_picture(picture_of(result));
    result.worst.loss = result.worst.radius = bad;
    sound_picture(picture_of(result));
    result.histogram.first = bad;
    sound_picture(picture_of(result));
  }
}

TEST(RiskPictureTest, SurvivesNothingAtAll) {
  const RiskResult nothing;
  const std::string svg = sound_picture(picture_of(nothing));
  EXPECT_TRUE(has(svg, "days stay with their clients"));
}

TEST(RiskPictureTest, SaysThatNoDayIsMoved) {
  const MadeRisk made;
  RiskResult result = made.result();
  for (DayMove& move : result.moves) move.cost = 0;
  EXPECT_TRUE(has(sound_picture(picture_of(result)), ">no day is moved<"));
}

TEST(RiskPictureTest, DaysThatMostlyStay) {
  const MadeRisk made;
  RiskResult result = made.result();
  for (DayMove& move : result.moves) {
    move.scenario = made.scenarios;
    move.stays = move.share = 0.75;
  }
  EXPECT_TRUE(has(sound_picture(picture_of(result)), ">mostly stays (75.0 %)<"));
}

TEST(RiskPictureTest, EscapesTexts) {
  const MadeRisk made;
  const RiskResult result = made.result();
  const std::vector<std::string> days(made.days, "<script>\"&'\n");
  const std::vector<std::string> scenarios(made.scenarios, "\xff</text>\x1b");
  RiskPictureData data = picture_of(result);
  data.title = "<script>alert(1)</script>";
  data.day_labels = days;
  data.scenario_labels = scenarios;
  const std::string svg = sound_picture(data);
  EXPECT_FALSE(has(svg, "<script"));
  EXPECT_TRUE(has(svg, "&lt;script&gt;"));
  EXPECT_FALSE(has(svg, "\xff"));
  EXPECT_FALSE(has(svg, "\x1b"));
}

TEST(RiskPictureTest, LabelsOfAClientBeginAtItsFirstDay) {
  const MadeRisk made;
  RiskResult result = made.result();
  result.moves = {result.moves[100], result.moves[99]};
  const std::vector<std::string> days{"my first", "my second"};
  RiskPictureData data = picture_of(result);
  data.day_labels = days;
  data.first_day = 100;
  const std::string svg = sound_picture(data);
  EXPECT_TRUE(has(svg, ">my first<"));
  EXPECT_TRUE(has(svg, ">day 99<"));
  EXPECT_FALSE(has(svg, "my second"));
}

// --------------------------------------------------------------------------------------------------- the curve

TEST(RiskCurveTest, PassesThroughItsPointsWithTheirSlopes) {
  const MadeRisk made;
  std::vector<risk_drawing::Knot> knots;
  for (const double r : {1.0, 2.0, 4.0, 7.0}) knots.push_back({r, std::sqrt(r), 0.5 / std::sqrt(r)});
  const std::vector<risk_drawing::Knot> given = knots;
  risk_drawing::limit_slopes(knots);
  for (std::size_t k = 0; k < knots.size(); ++k) EXPECT_EQ(knots[k].slope, given[k].slope) << k;
  EXPECT_EQ(risk_drawing::curve_commands(std::span(knots).first(2)), "C1.33 1.17 1.67 1.30 2.00 1.41");
  // The picture has every point on its curve.
  RiskResult result = made.result();
  const std::string svg = risk_picture(picture_of(result));
  const std::size_t from = svg.find("class=\"curve\"");
  const std::string_view curve = std::string_view(svg).substr(from, svg.find("/>", from) - from);
  EXPECT_EQ(occurrences(curve, "C"), 12U);  // 12 visited and the chosen one
  for (std::size_t at = svg.find("class=\"point\""); at != std::string::npos;
       at = svg.find("class=\"point\"", at + 1)) {
    const auto value = [&](const std::string& name) {
      const std::size_t begin = svg.find(name + "=\"", at) + name.size() + 2;
      return svg.substr(begin, svg.find('"', begin) - begin);
    };
    EXPECT_TRUE(has(curve, value("cx") + " " + value("cy"))) << value("cx");
  }
}

TEST(RiskCurveTest, HasNoBumps) {
  std::vector<risk_drawing::Knot> knots{{0, 0, 100}, {1, 1, -3}, {2, 1, 5}, {3, 4, kNan}, {4, 6, 50}, {5, 5, 2}};
  risk_drawing::limit_slopes(knots);
  for (std::size_t k = 1; k < knots.size(); ++k) {
    const auto& from = knots[k - 1];
    const auto& to = knots[k];
    double last = from.y;
    for (int step = 1; step <= 100; ++step) {
      const double t = step / 100.0;
      const double y = (1 + 2 * t) * (1 - t) * (1 - t) * from.y + t * (1 - t) * (1 - t) * from.slope +
                       t * t * (3 - 2 * t) * to.y + t * t * (t - 1) * to.slope;
      EXPECT_GE((y - last) * (to.y >= from.y ? 1 : -1), -1e-12) << k << " " << t;
      last = y;
    }
  }
}

TEST(RiskCurveTest, PointsAreInOrderAndDistinct) {
  const MadeRisk made;
  RiskResult result = made.result();
  result.sweep = {made.at(0.05), made.at(0.02), made.at(0.01)};
  const std::vector<risk_drawing::CurvePoint> points = risk_drawing::curve_points(result);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].radius, 0.01);
  EXPECT_EQ(points[2].radius, 0.05);
}

// ---------------------------------------------------------------------------------------------------- the axes

TEST(RiskAxisTest, TicksAreRoundNumbers) {
  using risk_drawing::linear_axis;
  const auto labels = [](const risk_drawing::Axis& axis) {
    std::string text;
    for (const risk_drawing::Tick& tick : ticks_of(axis, 5)) text += tick.label.empty() ? "" : tick.label + " ";
    return text + axis.unit();
  };
  EXPECT_EQ(labels(linear_axis({0, 1}, 0, 500, 0, 0)), "0.0 0.2 0.4 0.6 0.8 1.0 ");
  EXPECT_EQ(labels(linear_axis({-2e-9, 2e-9}, 0, 500, 0, 0)), "−2 −1 0 1 2  (× 10⁻⁹)");
  EXPECT_EQ(labels(linear_axis({0, 40000}, 0, 500, 0, 0)), "0 10,000 20,000 30,000 40,000 ");
  EXPECT_EQ(labels(linear_axis({}, 0, 500, 0, 0)), "−0.4 −0.2 0.0 0.2 0.4 ");
  EXPECT_EQ(labels(risk_drawing::log_axis({1e-2, 1}, 0, 500)), "0.01 0.1 1 0.02 0.2 0.05 0.5 ");
}

TEST(RiskAxisTest, Numbers) {
  EXPECT_EQ(risk_drawing::number_text(-0.0123456), "−0.0123");
  EXPECT_EQ(risk_drawing::number_text(1e-9), "10⁻⁹");
  EXPECT_EQ(risk_drawing::number_text(-39123), "−39,123");
  EXPECT_EQ(risk_drawing::number_text(99999.9), "100,000");
  EXPECT_EQ(risk_drawing::number_text(kNan), "not known");
  EXPECT_EQ(risk_drawing::number_text(-kInfinity), "−∞");
  EXPECT_EQ(risk_drawing::percent_text(0.12345), "12.3 %");
  EXPECT_EQ(risk_drawing::percent_text(0.000423), "0.042 %");
  EXPECT_EQ(risk_drawing::percent_text(1), "100 %");
  EXPECT_EQ(risk_drawing::percent_text(1e-7), "under 0.001 %");
}

}  // namespace
}  // namespace fedsinkhorn
