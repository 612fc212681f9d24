// One client's private run, with an eye on every release before and after its noise.
#pragma once

#include <cstdint>
#include <vector>

#include "mechanism/mechanism.hpp"

namespace fedsinkhorn::testing {

struct Release {
  std::vector<double> clean;
  std::vector<double> released;
};
using Releases = std::vector<Release>;

struct Tapped {
  Releases releases;
  Released outcome;
};

/// Options of one client that makes that many releases with that noise.
[[nodiscard]] Options alone_with(const std::string& mechanism, double noise, std::size_t releases);

/// Runs the mechanism of the options. Noise comes from the seed.
[[nodiscard]] Tapped record(const Problem& problem, const Options& options, std::uint64_t seed);

/// The same on other data, but what is released is what was released before: so both runs have the same past. The
/// outcome has the clean values of this problem.
[[nodiscard]] Tapped replay(const Problem& problem, const Options& options, const Releases& past);

/// L2.
[[nodiscard]] double distance(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace fedsinkhorn::testing
