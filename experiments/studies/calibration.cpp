// Latency and bandwidth of the exchanges: T(B) = alpha + beta B.
#include "costmodel/calibrate.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "studies.hpp"

namespace fedsinkhorn::experiments::calibration {
namespace {

struct Printed {
  std::size_t clients;
  const char* alpha;
  const char* beta;
  const char* bandwidth;
  const char* r_squared;
};

struct Primitive {
  const char* exchange;  ///< as in ExchangeTime
  const char* title;
  std::vector<Printed> printed{};  ///< by the paper; empty: it has no such exchange
};

const std::vector<Primitive>& primitives() {
  static const std::vector<Primitive> all = {{"gather",
                                              "Allgather",
                                              {{2, "481.45 µs", "1.0047 × 10⁻⁹", "0.995", "0.993"},
                                               {4, "801.35 µs", "8.7851 × 10⁻¹⁰", "1.138", "0.968"},
                                               {8, "1322.50 µs", "9.4662 × 10⁻¹⁰", "1.056", "0.936"}}},
                                             {"broadcast",
                                              "Star: broadcast",
                                              {{2, "19.63 µs", "2.8493 × 10⁻¹⁰", "3.510", "0.995"},
                                               {4, "21.94 µs", "4.3798 × 10⁻¹⁰", "2.283", "0.998"},
                                               {8, "28.26 µs", "7.5910 × 10⁻¹⁰", "1.317", "0.997"}}},
                                             {"collect",
                                              "Star: uplink",
                                              {{2, "19.67 µs", "1.0994 × 10⁻¹⁰", "9.096", "0.998"},
                                               {4, "28.06 µs", "1.2795 × 10⁻¹⁰", "7.816", "0.994"},
                                               {8, "45.27 µs", "1.6485 × 10⁻¹⁰", "6.066", "0.999"}}},
                                             {"deal", "Star: slices dealt out"},
                                             {"sum", "Row-reduce: sum"}};
  return all;
}

std::string key_of(const Primitive& primitive, const char* what) {
  return std::string(primitive.exchange) + "_" + what;
}

TableView table_of(const Primitive& primitive) {
  const auto printed = [&](const char* Printed::*text) {
    std::vector<PaperFigure> figures;
    for (const Printed& one : primitive.printed) figures.push_back({{{"clients", one.clients}}, one.*text});
    return figures;
  };
  return {
      .caption = primitive.title,
      .rows = {{"clients", "clients"}},
      .figures = {
          {.title = "alpha", .key = key_of(primitive, "alpha"), .format = "seconds", .paper = printed(&Printed::alpha)},
          {.title = "beta (s/byte)", .key = key_of(primitive, "beta"), .paper = printed(&Printed::beta)},
          {.title = "bandwidth (GB/s)", .key = key_of(primitive, "bandwidth"), .paper = printed(&Printed::bandwidth)},
          {.title = "R²", .key = key_of(primitive, "r_squared"), .paper = printed(&Printed::r_squared)}}};
}

ChartView chart_of(const Primitive& primitive) {
  return {.id = primitive.exchange,
          .title = std::string(primitive.title) + ": fitted time by size",
          .description = "A line per number of clients: alpha + beta B over the sizes that were measured.",
          .kind = "curves",
          .groups = {{"clients", "c = {}"}},
          .figures = {{.title = "time", .key = key_of(primitive, "fit")}},
          .x_axis = {{"title", "size of the vector"}, {"unit", "B"}, {"log", true}},
          .y_axis = {{"title", "time"}, {"unit", "s"}, {"log", true}},
          .where = {{"repeat", 0}}};
}

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      "Exchanges as the topologies make them, between clients on threads of one process, as `fedsinkhorn calibrate` "
      "measures them: vectors of 64 to 262,144 float64 numbers, the broadcast up to 4,096, a pause before each as in "
      "an iteration. B: bytes of the whole vector. alpha and beta by robust least squares of relative errors. Medians "
      "of the repeats.",
      "Our star deals out slices instead of broadcasting the whole vector; it broadcasts short notes only."};
  design.differences = {
      "The paper's clients exchange by MPI over InfiniBand, and its Allgather stages data of GPUs through host memory. "
      "Ours copy within one memory. Clients beyond the number of cores also wait for a core; where that hides the cost "
      "of a byte, beta is not resolved: it is then 0 and the bandwidth infinite, or R² is low."};
  const int repeats = setting.by_scale(1, 3, 5);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const std::size_t clients : setting.by_scale<std::vector<std::size_t>>({2}, {2, 4, 8}, {2, 4, 8})) {
      design.cells.push_back({{"clients", clients}, {"repeat", repeat}});
    }
  }
  for (const Primitive& primitive : primitives()) {
    design.tables.push_back(table_of(primitive));
    design.charts.push_back(chart_of(primitive));
  }
  return design;
}

Json measure(const Json& parameters) {
  CalibrationPlan plan;
  plan.clients = {parameters.at("clients").get<std::size_t>()};
  plan.with_passes = false;
  plan.with_secure_sums = false;
  const Profile profile = calibrate_threads(plan);
  Json measured = Json::object();
  for (const ExchangeTime& time : profile.exchanges) {
    measured[time.exchange + "_alpha"] = time.alpha;
    measured[time.exchange + "_beta"] = time.beta;
    measured[time.exchange + "_bandwidth"] = measured_number(1e-9 / time.beta);
    measured[time.exchange + "_r_squared"] = measured_number(time.r_squared);
    Json fit = Json::array();
    for (double bytes = 512; bytes <= time.largest_bytes; bytes *= 4) {
      fit.push_back({bytes, time.alpha + time.beta * bytes});
    }
    measured[time.exchange + "_fit"] = fit;
  }
  return measured;
}

}  // namespace

Study study() {
  return {"calibration",
          "Latency and bandwidth of the exchanges",
          "What do exchanges cost, as alpha + beta B?",
          "appendix, calibration table: c = 2, 4, 8",
          true,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::calibration
