// What a private run has released so far, and what it may still release.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "fedsinkhorn/result.hpp"
#include "privacy/gaussian_accounting.hpp"

namespace fedsinkhorn {

/// What all releases together may cost.
struct Budget {
  double epsilon = std::numeric_limits<double>::infinity();
  double delta = 1e-6;
};

class Ledger {
 public:
  explicit Ledger(const Budget& budget) : budget_(budget) {}

  /// Whether the budget allows these as well.
  [[nodiscard]] bool affords(std::span<const LedgerLine> more) const;
  /// To be called before the numbers leave. Equal lines become one.
  void enter(const LedgerLine& line);

  [[nodiscard]] const std::vector<LedgerLine>& lines() const { return lines_; }
  [[nodiscard]] double delta() const { return budget_.delta; }
  /// Of everything entered, if each sigma were so many times as large.
  [[nodiscard]] double mu(double times = 1) const;
  /// Writes what the lines amount to: sensitivity, sigma, releases, mu and every epsilon.
  void report(PrivacyReport& to) const;

 private:
  Budget budget_;
  std::vector<LedgerLine> lines_;
};

}  // namespace fedsinkhorn
