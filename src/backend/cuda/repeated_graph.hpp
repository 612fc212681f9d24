// Work that the device repeats by itself.
#pragma once

#include <functional>

#include "device/runtime.hpp"

namespace fedsinkhorn::cuda {

/// A graph whose body is repeated while a kernel in it sets the condition (cudaGraphSetConditional) to 1.
class RepeatedGraph {
 public:
  RepeatedGraph() = default;
  ~RepeatedGraph() { clear(); }
  RepeatedGraph(const RepeatedGraph&) = delete;
  RepeatedGraph& operator=(const RepeatedGraph&) = delete;

  [[nodiscard]] bool is_built() const { return executable_ != nullptr; }
  /// queue_body(handle) queues the body on the stream, which only records it; it must not allocate.
  void build(cudaStream_t stream, const std::function<void(cudaGraphConditionalHandle)>& queue_body);
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream), "launching rounds"); }
  void clear();

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace fedsinkhorn::cuda
