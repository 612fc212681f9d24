// The loop of mechanism scalings: in step (scalings.cpp), and without waiting for each other (scalings_async.cpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mechanism/mechanism.hpp"
#include "privacy/grid_noise.hpp"

namespace fedsinkhorn {

class Scalings {
 public:
  explicit Scalings(const MechanismContext& context);
  [[nodiscard]] Released run();

 private:
  /// Log-scalings of the rows, or of the columns: targets x lines.
  struct Half {
    std::string what;
    std::size_t size = 0;        // own lines
    std::size_t known_size = 0;  // lines known here
    Range place;                 // of the own ones among them
    std::size_t largest = 0;     // slice of any client
    std::size_t rounded = 0;     // lines that a record can move, whose rounding counts
    double sensitivity = 0;
    std::int64_t releases = 0;
    std::vector<double> log_masses;
    std::vector<double> own;
    std::vector<double> told;  // the own ones as released last
    std::vector<double> known;
    std::vector<double> centres;  // by target: mean of what was released last
  };

  [[nodiscard]] Half side(const Side& of_problem, const char* what, Exchanges::Known known) const;
  [[nodiscard]] LedgerLine line_of(const Half& half) const;
  [[nodiscard]] bool affords_releases() const;
  void update(Half& half, std::span<const double> log_products) const;
  void release(Half& half);
  void place_own(Half& half) const;
  [[nodiscard]] std::vector<double> potentials(const std::vector<double>& logs) const;
  [[nodiscard]] std::vector<double> row_logs() const;
  [[nodiscard]] std::vector<double> column_logs() const;
  void note_error(std::span<const double> log_products);
  void run_together();
  void run_apart();
  void describe(PrivacyReport& report) const;

  const MechanismContext& context_;
  const CheckedProblem& problem_;
  const std::size_t targets_;
  Half u_, v_;
  const GridNoise noise_;
  Ledger ledger_;
  Status status_ = Status::budget_spent;
  std::int64_t iterations_ = 0;
  std::int64_t told_at_ = 0;        // iteration of the last release
  std::int64_t most_releases_ = 0;  // of u or v, by any client, if they do not keep in step
  std::vector<double> own_errors_;
};

}  // namespace fedsinkhorn
