// What messages are about.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/names.hpp"

namespace fedsinkhorn {

/// Every message names its kind, so that a rule may be made for each, and none is taken for another. A message that
/// carries two, such as a slice with a note behind it, is of the kind of its main part.
///   options    what all clients have to ask for alike
///   shape      sizes, counts, names of hosts, devices, memory
///   slice      a client's part of a vector or of the problem: u, v, q, r, masses, points, allowed pairs
///   sum        addends and sums over clients
///   note       errors, flags, greatest values: what decisions are taken on
///   potential  absorbed potentials, sums in logs
///   result     costs, f and g, reports
///   text       what went wrong
///   control    who is there, who has finished
enum class Payload : std::uint16_t { options, shape, slice, sum, note, potential, result, text, control };

template <>
struct Names<Payload> {
  static constexpr std::array kList = {
      std::pair{Payload::options, "options"}, std::pair{Payload::shape, "shape"},
      std::pair{Payload::slice, "slice"},     std::pair{Payload::sum, "sum"},
      std::pair{Payload::note, "note"},       std::pair{Payload::potential, "potential"},
      std::pair{Payload::result, "result"},   std::pair{Payload::text, "text"},
      std::pair{Payload::control, "control"}};
};
inline constexpr std::size_t kPayloads = Names<Payload>::kList.size();

}  // namespace fedsinkhorn
