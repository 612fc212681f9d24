#include "cost/device_input.hpp"

#include <memory>
#include <mutex>

#include "core/buffer.hpp"
#include "cost/matrix_input.hpp"
#include "device/device_matrix.hpp"

namespace fedsinkhorn {
namespace {

template <class T>
class DeviceInput final : public CostInput {
 public:
  explicit DeviceInput(const DeviceCostMatrix& given)
      : given_(given), rows_(rows_of(given.matrix)), columns_(columns_of(given.matrix)) {}

  [[nodiscard]] CostShape shape() const override { return {rows_, columns_, 0, sizeof(T)}; }
  [[nodiscard]] const DeviceCostMatrix* device_matrix() const override { return &given_; }

  [[nodiscard]] std::unique_ptr<CostSource> source(const CostBlock& block, const cpu::Simd& simd) const override {
    return on_host().source(block, simd);
  }

  [[nodiscard]] CostScan scan(const CostBlock& block, const ScanSettings& settings) const override {
    if (settings.fingerprint_seed) return on_host().scan(block, settings);
    CostScan scan;
    if (block.empty()) return scan;
    settings.stop.throw_if_made();
    const Range rows{block.rows.front() - block.first_held, block.rows.back() + 1 - block.first_held};
    const Range columns{block.columns.front(), block.columns.back() + 1};
    const cuda::DeviceScan found = cuda::scan({given_, rows, columns});
    scan.has_forbidden = found.has_forbidden;
    scan.largest = found.largest;
    if (found.first_bad) {
      const std::size_t row = *found.first_bad / columns.size();
      const std::size_t column = columns.first + *found.first_bad % columns.size();
      scan.first_bad = BadCost{block.rows.front() + row, column, cuda::entry_of(given_, rows.first + row, column)};
    }
    return scan;
  }

 private:
  /// A copy in the memory of the host, made when it is first asked for.
  const CostInput& on_host() const {
    std::call_once(copied_, [this] {
      copy_ = Buffer<T>(rows_ * columns_);
      cuda::copy_to_host(given_, copy_.data());
      on_host_ = make_matrix_input(CostMatrix{MatrixView<T>{copy_.data(), rows_, columns_}});
    });
    return *on_host_;
  }

  DeviceCostMatrix given_;
  std::size_t rows_, columns_;
  mutable std::once_flag copied_;
  mutable Buffer<T> copy_;
  mutable std::shared_ptr<const CostInput> on_host_;
};

}  // namespace

std::shared_ptr<const CostInput> make_device_input(const DeviceCostMatrix& matrix) {
  return std::visit(
      [&]<class T>(const MatrixView<T>& /*view*/) -> std::shared_ptr<const CostInput> {
        return std::make_shared<DeviceInput<T>>(matrix);
      },
      matrix.matrix);
}

std::optional<std::size_t> piece_on_device(const CostBlock& block, int device) {
  const DeviceCostMatrix* given = block.costs->device_matrix();
  if (given == nullptr || given->device != device || block.transposed || block.empty()) return std::nullopt;
  const bool consecutive = block.rows.back() - block.rows.front() + 1 == block.rows.size();
  if (!consecutive || block.columns.size() != columns_of(given->matrix)) return std::nullopt;
  return block.rows.front() - block.first_held;
}

}  // namespace fedsinkhorn
