// What messages are about.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

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

inline constexpr std::array kPayloads = {Payload::options, Payload::shape, Payload::slice,
                                         Payload::sum,     Payload::note,  Payload::potential,
                                         Payload::result,  Payload::text,  Payload::control};

[[nodiscard]] constexpr std::string_view name_of(Payload kind) {
  constexpr std::array<std::string_view, kPayloads.size()> names = {"options",   "shape",  "slice", "sum",    "note",
                                                                    "potential", "result", "text",  "control"};
  return names.at(static_cast<std::size_t>(kind));
}

}  // namespace fedsinkhorn
