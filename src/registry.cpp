#include "registry.hpp"

#include <array>

#include "topology/centralized.hpp"

namespace fedsinkhorn {

std::span<const TopologyEntry> topologies() {
  static constexpr std::array entries = {
      TopologyEntry{"centralized", make_centralized},
  };
  return entries;
}

std::span<const MethodEntry> methods() {
  static constexpr std::array entries = {
      MethodEntry{"sinkhorn"},
  };
  return entries;
}

std::span<const BackendEntry> backends() {
  static constexpr std::array entries = {
      BackendEntry{"auto", ""},
      BackendEntry{"cpu", ""},
      BackendEntry{"cuda", "built without CUDA"},
  };
  return entries;
}

}  // namespace fedsinkhorn
