// Worst-case risk of clients that are processes: run under mpirun, each rank has some of the days. Exits with 1, and
// says why, if the answer is not that of one client.
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>

#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/risk.hpp"
#include "fedsinkhorn/solve.hpp"
#include "risk/reference.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::size_t kDays = 29;

bool is_wrong(bool wrong, const std::string& what, const Session& session) {
  if (wrong) std::fprintf(stderr, "rank %zu: %s\n", session.rank(), what.c_str());
  return wrong;
}

/// Rank k has days [k^2 n / K^2, (k + 1)^2 n / K^2).
RiskProblem part_of(const testing::RiskInstance& instance, const Session& session) {
  const std::size_t k = session.rank();
  const std::size_t all = session.size() * session.size();
  return instance.part(k * k * kDays / all, (k + 1) * (k + 1) * kDays / all);
}

bool fails(const testing::RiskInstance& instance, const std::string& policy, Session& session) {
  RiskOptions options;
  options.options.threads = 1;
  const RiskResult alone = worst_case(instance.view(), options);
  options.options.policy = policy;
  const RiskProblem part = part_of(instance, session);
  const RiskResult result = worst_case(part, options, session);
  const bool is_open = policy == "open";
  const double room = is_open ? 0 : 1e-10;
  bool failed = is_wrong(!(std::abs(result.worst.loss - alone.worst.loss) <= room), policy + ": loss", session);
  failed |= is_wrong(!(std::abs(result.worst.lambda - alone.worst.lambda) <= 10 * room * alone.worst.lambda),
                     policy + ": lambda", session);
  failed |= is_wrong(result.status != Status::converged, policy + ": status", session);
  failed |= is_wrong(result.client_count != session.size() || result.this_client != session.rank(),
                     policy + ": clients", session);
  const std::size_t days = is_open && session.rank() == 0 ? kDays : rows_of(part.returns);
  failed |= is_wrong(result.moves.size() != days, policy + ": moves", session);
  return failed;
}

bool is_not_refused(testing::RiskInstance instance, Session& session) {
  instance.settings.radius = 0;
  try {
    (void)worst_case(part_of(instance, session), {}, session);
  } catch (const InputError& error) {
    return is_wrong(std::string(error.what()).find("radius: 0 is less than") != 0, error.what(), session);
  }
  return is_wrong(true, "a radius that is too small was not refused", session);
}

bool plan_fails(testing::RiskInstance instance, Session& session) {
  const std::vector<double> b(instance.m, 1.0);
  RiskOptions options;
  options.options.threads = 1;
  options.options.backend = "cpu";
  const StressMarginal stress{b, 1.0};
  const RiskResult alone = stressed_plan(instance.view(), stress, options);
  const RiskResult result = stressed_plan(part_of(instance, session), stress, options, session);
  return is_wrong(!(std::abs(result.worst.transport_cost - alone.worst.transport_cost) <= 1e-8), "stressed plan",
                  session);
}

bool run() {
  MpiSession session;
  testing::RiskInstance instance = testing::random_points(kDays, 23, 3, 77);
  instance.settings.epsilon = 0.02;
  instance.settings.radius = 0.4;
  bool failed = fails(instance, "open", session);
  failed |= fails(instance, "sums", session);
  instance.settings.cvar_level = 0.9;
  failed |= fails(instance, "sums", session);
  failed |= plan_fails(instance, session);
  failed |= is_not_refused(instance, session);
  return failed;
}

}  // namespace
}  // namespace fedsinkhorn

int main() {
  try {
    return fedsinkhorn::run() ? 1 : 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
