#include "study.hpp"

#include <algorithm>
#include <cmath>

namespace fedsinkhorn::experiments {

std::string_view name_of(Scale scale) {
  switch (scale) {
    case Scale::smoke: return "smoke";
    case Scale::machine: return "machine";
    default: return "paper";
  }
}

const Study* find_study(std::string_view name) {
  const auto all = studies();
  const auto found = std::ranges::find(all, name, &Study::name);
  return found == all.end() ? nullptr : &*found;
}

Json measured_number(double value) {
  if (std::isinf(value) && value > 0) return report::kInfinite;
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace fedsinkhorn::experiments
