#include "cost/function_input.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

/// C(row, chosen[k]) for all k, with one call per run of consecutive columns.
void fill_chosen(const CostFunction& function, std::size_t row, std::span<const std::size_t> chosen, double* out) {
  std::size_t done = 0;
  while (done < chosen.size()) {
    std::size_t last = done + 1;
    while (last < chosen.size() && chosen[last] == chosen[last - 1] + 1) ++last;
    try {
      function.fill(row, chosen[done], {out + done, last - done});
    } catch (const InputError& error) {
      throw std::runtime_error(error.what());  // an InputError is one that all clients have agreed on
    }
    done = last;
  }
}

class FunctionCost final : public CostSource {
 public:
  FunctionCost(std::shared_ptr<const CostFunction> function, CostBlock block)
      : function_(std::move(function)), block_(std::move(block)) {}

  [[nodiscard]] std::size_t rows() const override { return block_.rows.size(); }
  [[nodiscard]] std::size_t columns() const override { return block_.columns.size(); }

  void fill(std::size_t row, std::size_t row_count, std::size_t column, std::size_t column_count, double* out,
            std::size_t stride) const override {
    const auto rows = std::span(block_.rows).subspan(row, row_count);
    const auto columns = std::span(block_.columns).subspan(column, column_count);
    if (!block_.transposed) {
      for (std::size_t k = 0; k < row_count; ++k) {
        fill_chosen(*function_, rows[k] - block_.first_held, columns, out + k * stride);
      }
      return;
    }
    std::vector<double> across(row_count);
    for (std::size_t j = 0; j < column_count; ++j) {
      fill_chosen(*function_, columns[j] - block_.first_held, rows, across.data());
      for (std::size_t k = 0; k < row_count; ++k) out[k * stride + j] = across[k];
    }
  }

 private:
  std::shared_ptr<const CostFunction> function_;
  CostBlock block_;
};

class FunctionInput final : public CostInput {
 public:
  explicit FunctionInput(std::shared_ptr<const CostFunction> function) : function_(std::move(function)) {}

  [[nodiscard]] CostShape shape() const override {
    if (function_ == nullptr) return {};
    return {function_->rows(), function_->columns()};
  }
  [[nodiscard]] std::unique_ptr<CostSource> source(const CostBlock& block, const cpu::Simd& /*simd*/) const override {
    return std::make_unique<FunctionCost>(function_, block);
  }

 private:
  std::shared_ptr<const CostFunction> function_;
};

}  // namespace

std::shared_ptr<const CostInput> make_function_input(std::shared_ptr<const CostFunction> function) {
  return std::make_shared<FunctionInput>(std::move(function));
}

}  // namespace fedsinkhorn
