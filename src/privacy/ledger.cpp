#include "privacy/ledger.hpp"

#include <algorithm>

namespace fedsinkhorn {
namespace {

GaussianRelease release_of(const LedgerLine& line) {
  return {line.sensitivity, line.sigma, static_cast<double>(line.count)};
}

bool are_alike(const LedgerLine& x, const LedgerLine& y) {
  return x.who == y.who && x.what == y.what && x.sensitivity == y.sensitivity && x.sigma == y.sigma;
}

}  // namespace

double Ledger::mu(double times) const {
  std::vector<GaussianRelease> releases;
  for (const LedgerLine& line : lines_) releases.push_back(release_of(line));
  for (GaussianRelease& release : releases) release.sigma *= times;
  return composed_mu(releases);
}

bool Ledger::affords(std::span<const LedgerLine> more) const {
  if (budget_.epsilon == std::numeric_limits<double>::infinity()) return true;
  std::vector<GaussianRelease> releases;
  for (const LedgerLine& line : lines_) releases.push_back(release_of(line));
  for (const LedgerLine& line : more) releases.push_back(release_of(line));
  // Sigma was rounded up when it was calibrated; the rest is rounding of sums of squares.
  constexpr double kRounding = 1e-12;
  return exact_epsilon(composed_mu(releases), budget_.delta) <= budget_.epsilon * (1 + kRounding);
}

void Ledger::enter(const LedgerLine& line) {
  const auto found = std::ranges::find_if(lines_, [&](const LedgerLine& other) { return are_alike(line, other); });
  if (found == lines_.end()) {
    lines_.push_back(line);
  } else {
    found->count += line.count;
  }
}

void Ledger::report(PrivacyReport& to) const {
  to.ledger = lines_;
  to.releases = 0;
  to.sensitivity = 0;
  to.sigma = lines_.empty() ? 0 : std::numeric_limits<double>::infinity();
  for (const LedgerLine& line : lines_) {
    to.releases += line.count;
    to.sensitivity = std::max(to.sensitivity, line.sensitivity);
    to.sigma = std::min(to.sigma, line.sigma);
  }
  to.delta = budget_.delta;
  to.epsilon_budget = budget_.epsilon == std::numeric_limits<double>::infinity() ? 0 : budget_.epsilon;
  to.mu = mu();
  to.epsilon_exact = exact_epsilon(to.mu, to.delta);
  const RenyiBound bound = renyi_epsilon(to.mu, to.delta, Conversion::tight);
  to.epsilon_rdp = bound.epsilon;
  to.rdp_order = bound.order;
  to.is_order_at_end = bound.is_at_end;
  to.epsilon_rdp_paper = renyi_epsilon(to.mu, to.delta, Conversion::papers).epsilon;
}

}  // namespace fedsinkhorn
