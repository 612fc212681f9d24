// The kernel that a topology holds, for methods that ask about it.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "comm/agreement.hpp"
#include "method/acceleration.hpp"
#include "topology/topology.hpp"

namespace fedsinkhorn {

class TopologyKernel final : public KernelAccess {
 public:
  /// shares_matrices: although sums are secure.
  TopologyKernel(Topology& topology, const CheckedProblem& problem, std::int64_t most_products, bool shares_matrices)
      : topology_(topology),
        slices_(problem.columns.slices),
        all_rows_(problem.rows.size()),
        fewest_rows_of_others_(std::min(problem.rows.size(), fewest_of_others(problem.rows.given_slices))),
        products_left_(most_products),
        may_add_up_matrices_(topology.clients().sums() == nullptr || shares_matrices) {}

  [[nodiscard]] std::int64_t products_left() const override { return products_left_; }

  void rows(std::span<const double> y, std::span<double> products) override {
    topology_.row_products(1, y.data(), products.data());
  }
  void columns(std::span<const double> x, std::span<double> products) override {
    topology_.column_products(1, x.data(), products.data());
  }
  void weighted(std::span<const double> w, std::span<const double> y, std::span<double> products) override {
    --products_left_;
    topology_.weighted(w.data(), y.data(), products.data());
  }
  void own_weighted(std::span<const double> w, std::span<const double> y, std::span<double> products) override {
    --products_left_;
    topology_.own_weighted(w.data(), y.data(), products.data());
  }
  [[nodiscard]] bool sums_are_secure() const override { return topology_.clients().sums() != nullptr; }
  [[nodiscard]] bool may_add_up_matrices() const override { return may_add_up_matrices_; }
  [[nodiscard]] std::uint64_t matrices_added_up() const { return matrices_added_up_; }
  void add_up(std::span<double> values) override;
  void add_up_shares(std::span<double> values) override;
  [[nodiscard]] std::vector<SparseEntry> add_up_sparse(std::vector<SparseEntry> own, std::uint64_t positions) override;
  [[nodiscard]] std::vector<double> gather(std::vector<double> own, std::size_t total) override;
  [[nodiscard]] double greatest(double value) override { return greatest_of_known(topology_.clients(), value); }
  [[nodiscard]] std::vector<double> all_columns(std::span<const double> own) override {
    std::vector<std::size_t> counts;
    std::size_t total = 0;
    for (const Range& slice : slices_) {
      counts.push_back(slice.size());
      total += slice.size();
    }
    std::vector<double> whole(total);
    std::ranges::copy(own, whole.begin() + static_cast<std::ptrdiff_t>(first_column()));
    gather_known(topology_.clients().of(Payload::slice), whole, counts);
    return whole;
  }
  [[nodiscard]] std::size_t first_column() const override {
    std::size_t first = 0;
    for (std::size_t k = 0; k < topology_.clients().rank(); ++k) first += slices_[k].size();
    return first;
  }
  [[nodiscard]] std::size_t clients() const override { return topology_.clients().size(); }

  [[nodiscard]] bool holds_whole_rows() const override { return topology_.holds_whole_rows(); }
  [[nodiscard]] std::size_t held_rows() const override { return topology_.held_rows(); }
  [[nodiscard]] std::size_t all_rows() const override { return all_rows_; }
  [[nodiscard]] std::size_t fewest_rows_of_others() const override { return fewest_rows_of_others_; }
  [[nodiscard]] std::vector<double> held(std::span<const double> own) override { return topology_.held(own.data()); }
  void copy_rows(std::size_t first, std::size_t count, double* to) override { topology_.copy_rows(first, count, to); }

 private:
  [[nodiscard]] static std::size_t fewest_of_others(std::span<const Range> slices);
  void count_matrix(std::size_t size);

  Topology& topology_;
  const std::span<const Range> slices_;
  const std::size_t all_rows_;
  const std::size_t fewest_rows_of_others_;
  std::int64_t products_left_;
  const bool may_add_up_matrices_;
  std::uint64_t matrices_added_up_ = 0;
};

}  // namespace fedsinkhorn
