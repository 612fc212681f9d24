// Kinds of messages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fedsinkhorn {

/// Every message has a kind, so that policies can tell them apart and none is mistaken for another. A message with two
/// parts, such as a slice followed by a note, has the kind of its main part.
///   options    options that must be the same on all clients
///   shape      sizes, counts, names of hosts, devices, memory
///   slice      a client's part of a vector or of the problem: u, v, q, r, masses, points, allowed pairs
///   sum        addends and sums over clients
///   note       errors, flags, maxima: what decisions are based on
///   potential  absorbed potentials, log-domain sums
///   result     costs, f and g, reports
///   text       error messages
///   control    who is there, who has finished
///   keys       public keys, and what is needed to agree on secret ones
///   release    of a private run: what has noise, and what is computed from such numbers alone (src/mechanism)
enum class Payload : std::uint16_t {
  options,
  shape,
  slice,
  sum,
  note,
  potential,
  result,
  text,
  control,
  keys,
  release
};

inline constexpr std::array kPayloads = {Payload::options, Payload::shape,     Payload::slice,  Payload::sum,
                                         Payload::note,    Payload::potential, Payload::result, Payload::text,
                                         Payload::control, Payload::keys,      Payload::release};

[[nodiscard]] constexpr std::string_view name_of(Payload kind) {
  constexpr std::array<std::string_view, kPayloads.size()> names = {
      "options", "shape", "slice", "sum", "note", "potential", "result", "text", "control", "keys", "release"};
  return names.at(static_cast<std::size_t>(kind));
}

/// plain: as it is. masked: behind masks that cancel only in the sum over all clients (comm/secure_sums.hpp).
enum class Form : std::uint16_t { plain, masked };

[[nodiscard]] constexpr std::string_view name_of(Form form) { return form == Form::plain ? "plain" : "masked"; }

}  // namespace fedsinkhorn
