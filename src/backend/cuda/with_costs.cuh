// Costs on the device as what kernels are templates over: with_costs(costs, use) calls use(MatrixCosts or PointCosts).
#pragma once

#include <variant>

#include "backend/cuda/cost_tile.cuh"
#include "backend/cuda/costs.hpp"

namespace fedsinkhorn::cuda {

template <class F>
void with_costs(const DeviceMatrix& matrix, const F& use) {
  std::visit([&]<class T>(const T* data) { use(MatrixCosts<T>{data}); }, matrix.data());
}

template <class F>
void with_costs(const DevicePoints& points, const F& use) {
  const auto with = [&]<Metric metric>() {
    use(PointCosts<metric>{points.x.data(), points.y.data(), points.dimension, points.unit});
  };
  switch (points.metric) {
    case Metric::sqeuclidean: return with.template operator()<Metric::sqeuclidean>();
    case Metric::euclidean: return with.template operator()<Metric::euclidean>();
    case Metric::cosine: return with.template operator()<Metric::cosine>();
  }
}

template <class F>
void with_costs(const DeviceCosts& costs, const F& use) {
  std::visit([&](const auto& held) { with_costs(held, use); }, costs.source());
}

}  // namespace fedsinkhorn::cuda
