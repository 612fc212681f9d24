// How clients meet before they look for the worst case.
#pragma once

#include "comm/communicator.hpp"
#include "core/stop_request.hpp"
#include "fedsinkhorn/risk.hpp"
#include "risk/days.hpp"
#include "risk/given.hpp"
#include "solve/link.hpp"

namespace fedsinkhorn {

/// Keys, options and data agreed on. Collective. Not movable: members refer to each other.
struct RiskMeeting {
  RiskMeeting(const RiskProblem& problem, const RiskOptions& options, Communicator& communicator);
  RiskMeeting(const RiskMeeting&) = delete;
  RiskMeeting& operator=(const RiskMeeting&) = delete;

  Options options;  ///< those of the exchange of sums
  int threads;
  Link link;
  Collectives clients;
  std::uint64_t most_sums = 0;  ///< the smallest of all clients' limits; 0: none
  StopRequest stop;
  RiskComputing computing;
  Days days;

  /// The mean and the covariance of the returns, where they are added up over clients; else 0.
  [[nodiscard]] static std::uint64_t numbers_of_moments(const RiskProblem& problem);
  /// Whether these are more numbers than a vector over the scenarios has.
  [[nodiscard]] static bool adds_up_a_matrix(const RiskProblem& problem) {
    return numbers_of_moments(problem) > scenarios_given(problem);
  }

 private:
  [[nodiscard]] Collectives connect(const RiskProblem& problem);
  [[nodiscard]] std::uint64_t agreed_limit(const RiskProblem& problem) const;
};

/// Numbers that sums may show after a search, a bound: a few passes, the masses of the scenarios, the histograms.
[[nodiscard]] constexpr std::uint64_t numbers_at_the_end_of_risk(std::size_t scenarios) { return 2 * scenarios + 512; }

/// Numbers in a row of days, costs or coordinates, that other clients do not know.
[[nodiscard]] std::size_t numbers_of_a_day(const RiskProblem& problem);
/// What the meeting's sums have shown, and what is unknown to the clients reported. Nothing for policy open.
void report_sums(const RiskProblem& problem, const RiskMeeting& meeting, RiskResult& result);

}  // namespace fedsinkhorn
