// Every attack with a problem it is tried on: what the curious client makes of the messages, beside what is true.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fedsinkhorn/options.hpp"
#include "privacy/attackers.hpp"
#include "support/transcript.hpp"

namespace fedsinkhorn::testing {

/// The ranks in all of them.
inline constexpr std::size_t kCurious = 0;
inline constexpr std::size_t kVictim = 1;

struct Attempt {
  std::vector<double> estimate;  ///< empty if the attack came to nothing
  std::vector<double> truth;     ///< what only the victim should know
};

struct Reconstruction {
  std::string name;  ///< for GoogleTest
  double within;     ///< largest error in plain messages
  /// Solves one problem or more, each with a transcript. The topology, the method and the number of rounds are the
  /// attack's; the rest of the options, such as the policy, is the caller's.
  std::function<std::vector<Transcript>(Options options)> record;
  std::function<Attempt(const std::vector<Transcript>& messages, Reading read)> attempt;
};

[[nodiscard]] const std::vector<Reconstruction>& reconstructions();

}  // namespace fedsinkhorn::testing
