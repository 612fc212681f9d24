#include "privacy.hpp"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "numbers.hpp"
#include "privacy/gaussian_accounting.hpp"

namespace fedsinkhorn::python {
namespace {

void require(bool holds, const char* name, double value, const char* reason, const char* remedy) {
  if (!holds) throw InputError(name, fmt::format("{} {}", value, reason), remedy);
}

double delta_of(py::handle given) {
  const double delta = real_number(given, "delta");
  require(delta > 0 && delta < 1, "delta", delta, "is not between 0 and 1", "give a small probability, such as 1e-6");
  return delta;
}

double sensitivity_of(py::handle given) {
  const double sensitivity = real_number(given, "sensitivity");
  require(sensitivity >= 0 && std::isfinite(sensitivity), "sensitivity", sensitivity, "is no distance",
          "give the largest L2 distance between releases of neighbouring data sets");
  return sensitivity;
}

double sigma_of(py::handle given) {
  const double sigma = real_number(given, "sigma");
  require(sigma > 0 && std::isfinite(sigma), "sigma", sigma, "is no standard deviation of noise", "give one above 0");
  return sigma;
}

double releases_of(py::handle given) {
  constexpr std::int64_t most = std::int64_t{1} << 53U;  // beyond it float64 does not count
  const auto count = static_cast<double>(whole_number(given, "releases", most));
  require(count >= 1, "releases", count, "is no number of releases", "give 1 or more");
  return count;
}

/// One number, or one for each kind of release.
template <class Read>
std::vector<double> one_or_more(py::handle given, const char* name, const Read& read) {
  std::vector<double> numbers;
  if (is_number(given)) return {read(given)};
  const bool is_text =
      py::isinstance<py::str>(given) || py::isinstance<py::bytes>(given) || PyByteArray_Check(given.ptr()) != 0;
  if (is_text || PySequence_Check(given.ptr()) == 0) {
    throw InputError(name, fmt::format("a {} was given", type_name(given)), "give a number or a list of numbers");
  }
  for (const py::handle element : py::iter(given)) numbers.push_back(read(element));
  return numbers;
}

py::dict account(const py::object& sigma, const py::object& sensitivity, const py::object& releases,
                 const py::object& delta) {
  const std::vector<double> sigmas = one_or_more(sigma, "sigma", sigma_of);
  const std::vector<double> sensitivities = one_or_more(sensitivity, "sensitivity", sensitivity_of);
  const std::vector<double> counts = one_or_more(releases, "releases", releases_of);
  const std::size_t kinds = std::max({sigmas.size(), sensitivities.size(), counts.size()});
  const auto check = [kinds](const char* name, const std::vector<double>& numbers) {
    if (numbers.size() == 1 || numbers.size() == kinds) return;
    throw InputError(name, fmt::format("has {} values where another list has {}", numbers.size(), kinds),
                     fmt::format("give {}, or one for all", kinds));
  };
  check("sigma", sigmas);
  check("sensitivity", sensitivities);
  check("releases", counts);
  const auto at = [](const std::vector<double>& numbers, std::size_t k) {
    return numbers.size() == 1 ? numbers.front() : numbers[k];
  };
  std::vector<GaussianRelease> all;
  for (std::size_t k = 0; k < kinds; ++k) all.push_back({at(sensitivities, k), at(sigmas, k), at(counts, k)});
  const double mu = composed_mu(all);
  const double own_delta = delta_of(delta);
  const RenyiBound tight = renyi_epsilon(mu, own_delta, Conversion::tight);
  const RenyiBound papers = renyi_epsilon(mu, own_delta, Conversion::papers);
  py::dict result;
  result["epsilon"] = exact_epsilon(mu, own_delta);
  result["epsilon_rdp"] = tight.epsilon;
  result["epsilon_rdp_paper"] = papers.epsilon;
  result["rdp_order"] = tight.order;
  result["rdp_paper_order"] = papers.order;
  result["delta"] = own_delta;
  result["mu"] = mu;
  return result;
}

py::dict calibrate(const py::object& epsilon, const py::object& delta, const py::object& sensitivity,
                   const py::object& releases) {
  const double budget = real_number(epsilon, "epsilon");
  require(budget > 0 && std::isfinite(budget), "epsilon", budget, "is no budget", "give a number above 0");
  const double own_delta = delta_of(delta);
  const double distance = sensitivity_of(sensitivity);
  const double count = releases_of(releases);
  const double sigma = calibrated_sigma(budget, own_delta, distance, count);
  if (!std::isfinite(sigma)) {
    throw InputError("sensitivity", "asks for more noise than float64 can hold", "give the data in other units");
  }
  const double mu = composed_mu(std::array{GaussianRelease{distance, sigma, count}});
  py::dict result;
  result["sigma"] = sigma;
  result["epsilon"] = exact_epsilon(mu, own_delta);
  result["delta"] = own_delta;
  result["mu"] = mu;
  return result;
}

}  // namespace

void bind_privacy(py::module_& module) {
  module.def("account", &account);
  module.def("calibrate", &calibrate);
}

}  // namespace fedsinkhorn::python
