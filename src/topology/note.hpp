// What clients tell each other about a target at the end of a round, besides the scalings.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "comm/from_peer.hpp"
#include "core/marginal_error.hpp"

namespace fedsinkhorn {

/// Sent as five numbers plus those that an acceleration adds. All clients' notes of a round have the same shape.
struct Note {
  static constexpr unsigned kStretched = 1;  ///< some scaling left the safe range
  static constexpr unsigned kUnusable = 2;   ///< some scaling is zero, infinite or not a number
  static constexpr unsigned kStop = 4;       ///< this client was asked to stop
  static constexpr unsigned kRunaway = 8;    ///< potentials beyond what any plan could justify
  static constexpr unsigned kAllFlags = 15;

  double flags = 0;
  ErrorPart error_a{};  ///< before the update of u; on checks only
  ErrorPart error_b{};  ///< before the update of v

  std::vector<ExactSum> sums{};  ///< added up over the clients
  std::size_t known_sums = 0;    ///< of them, those that follow from the sums of columns
  std::vector<double> maxima{};  ///< largest over the clients

  [[nodiscard]] bool has(unsigned flag) const { return (static_cast<unsigned>(flags) & flag) != 0; }
  void set(unsigned flag) { flags = static_cast<double>(static_cast<unsigned>(flags) | flag); }
};
inline constexpr std::size_t kNoteNumbers = 5;  // without sums and maxima

[[nodiscard]] inline std::size_t numbers_in(const Note& note) {
  return kNoteNumbers + 2 * note.sums.size() + note.maxima.size();
}
[[nodiscard]] inline std::size_t numbers_in(std::span<const Note> notes) {
  std::size_t numbers = 0;
  for (const Note& note : notes) numbers += numbers_in(note);
  return numbers;
}

inline void write_notes(std::span<const Note> notes, double* to) {
  for (const Note& note : notes) {
    for (const double x : {note.flags, note.error_a.value, note.error_a.rest, note.error_b.value, note.error_b.rest}) {
      *to++ = x;
    }
    for (const ExactSum& sum : note.sums) {
      *to++ = sum.value;
      *to++ = sum.rest;
    }
    to = std::copy(note.maxima.begin(), note.maxima.end(), to);
  }
}

/// Reads another client's note. shape: a note with as many sums and maxima.
[[nodiscard]] inline Note read_note(const FromPeer& peer, const double* from, const Note& shape = {}) {
  (void)peer.count(from[0], Note::kAllFlags, "flags");
  // NaN if scalings are NaN, but an error is never negative.
  for (const double error : {from[1], from[3]}) {
    if (error < 0) peer.refuse(fmt::format("an error of {:g}", error));
  }
  Note note{from[0], {from[1], from[2]}, {from[3], from[4]}, {}, {}};
  from += kNoteNumbers;
  for (std::size_t k = 0; k < shape.sums.size(); ++k, from += 2) note.sums.push_back({from[0], from[1]});
  note.maxima.assign(from, from + shape.maxima.size());
  return note;
}

/// Adds another client's note. The order of clients is the same everywhere, so all reach the same result.
inline void add_note(Norm norm, Note& note, const Note& other) {
  note.flags = static_cast<double>(static_cast<unsigned>(note.flags) | static_cast<unsigned>(other.flags));
  note.error_a = combined(norm, note.error_a, other.error_a);
  note.error_b = combined(norm, note.error_b, other.error_b);
  for (std::size_t k = 0; k < note.sums.size(); ++k) note.sums[k].add(other.sums[k]);
  for (std::size_t k = 0; k < note.maxima.size(); ++k) note.maxima[k] = worse(note.maxima[k], other.maxima[k]);
}

/// Reads the notes of several clients, in the order of the clients.
class NoteReader {
 public:
  NoteReader(Norm norm, std::span<Note> notes) : norm_(norm), notes_(notes) {}

  /// Reads the next client's notes. Afterwards the notes combine those of all clients so far.
  const double* take(const FromPeer& peer, const double* from) {
    for (Note& note : notes_) {
      Note said = read_note(peer, from, note);
      from += numbers_in(note);
      if (is_first_) {
        note = std::move(said);
      } else {
        add_note(norm_, note, said);
      }
    }
    is_first_ = false;
    return from;
  }

 private:
  Norm norm_;
  std::span<Note> notes_;
  bool is_first_ = true;
};

}  // namespace fedsinkhorn
