// How clients meet before they look for the worst case.
#pragma once

#include "comm/communicator.hpp"
#include "core/stop_request.hpp"
#include "fedsinkhorn/risk.hpp"
#include "risk/days.hpp"
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
  StopRequest stop;
  RiskComputing computing;
  Days days;

 private:
  [[nodiscard]] Collectives connect(const RiskProblem& problem);
};

}  // namespace fedsinkhorn
