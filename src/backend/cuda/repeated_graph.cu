#include "backend/cuda/repeated_graph.hpp"

#include <utility>

namespace fedsinkhorn::cuda {

void RepeatedGraph::build(cudaStream_t stream, const std::function<void(cudaGraphConditionalHandle)>& queue_body) {
  clear();
  check(cudaGraphCreate(&graph_, 0), "making a graph");
  cudaGraphConditionalHandle handle{};
  check(cudaGraphConditionalHandleCreate(&handle, graph_, 1, cudaGraphCondAssignDefault), "making a condition");
  cudaGraphNodeParams repeat{};
  repeat.type = cudaGraphNodeTypeConditional;
  repeat.conditional.handle = handle;
  repeat.conditional.type = cudaGraphCondTypeWhile;
  repeat.conditional.size = 1;
  cudaGraphNode_t node{};
  check(cudaGraphAddNode(&node, graph_, nullptr, nullptr, 0, &repeat), "adding a loop to a graph");
  cudaGraph_t body = repeat.conditional.phGraph_out[0];
  check(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal),
        "recording rounds");
  try {
    queue_body(handle);
  } catch (...) {
    cudaGraph_t unused{};
    cudaStreamEndCapture(stream, &unused);
    throw;
  }
  cudaGraph_t recorded{};
  check(cudaStreamEndCapture(stream, &recorded), "recording rounds");
  check(cudaGraphInstantiate(&executable_, graph_, 0), "preparing a graph");
}

void RepeatedGraph::clear() {
  if (executable_ != nullptr) cudaGraphExecDestroy(std::exchange(executable_, nullptr));
  if (graph_ != nullptr) cudaGraphDestroy(std::exchange(graph_, nullptr));
}

}  // namespace fedsinkhorn::cuda
