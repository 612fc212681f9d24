// What clients tell each other about a target at the end of a round, beside the scalings.
#pragma once

#include <cstddef>
#include <span>

#include "core/marginal_error.hpp"

namespace fedsinkhorn {

/// Sent as the five numbers it is made of.
struct Note {
  static constexpr unsigned kStretched = 1;  ///< some scaling left the safe range
  static constexpr unsigned kUnusable = 2;   ///< some scaling is zero, infinite or not a number
  static constexpr unsigned kStop = 4;       ///< this client was asked to stop
  static constexpr unsigned kRunaway = 8;    ///< potentials beyond what any plan could justify

  double flags = 0;
  ErrorPart error_a;  ///< before the update of u; on checks only
  ErrorPart error_b;  ///< before the update of v

  [[nodiscard]] bool has(unsigned flag) const { return (static_cast<unsigned>(flags) & flag) != 0; }
  void set(unsigned flag) { flags = static_cast<double>(static_cast<unsigned>(flags) | flag); }
};
inline constexpr std::size_t kNoteNumbers = 5;

inline void write_notes(std::span<const Note> notes, double* to) {
  for (const Note& note : notes) {
    for (const double x : {note.flags, note.error_a.value, note.error_a.rest, note.error_b.value, note.error_b.rest}) {
      *to++ = x;
    }
  }
}
[[nodiscard]] inline Note read_note(const double* from) { return {from[0], {from[1], from[2]}, {from[3], from[4]}}; }

/// Adds what another client says. Clients are taken in the same order everywhere, so all come to the same conclusion.
inline void add_note(Norm norm, Note& note, const Note& other) {
  note.flags = static_cast<double>(static_cast<unsigned>(note.flags) | static_cast<unsigned>(other.flags));
  note.error_a = combined(norm, note.error_a, other.error_a);
  note.error_b = combined(norm, note.error_b, other.error_b);
}

}  // namespace fedsinkhorn
