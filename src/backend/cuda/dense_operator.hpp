// A kernel stored on the device.
#pragma once

#include <memory>

#include "backend/cuda/costs.hpp"
#include "backend/cuda/operator.hpp"

namespace fedsinkhorn::cuda {

/// The costs must outlive it. targets: maximum at once.
[[nodiscard]] std::unique_ptr<Operator> make_dense_operator(const DeviceCosts& costs, Storage storage,
                                                            std::size_t targets);
/// Device memory it will take, without the costs.
[[nodiscard]] double dense_operator_bytes(Storage storage, std::size_t rows, std::size_t columns, std::size_t targets);

}  // namespace fedsinkhorn::cuda
