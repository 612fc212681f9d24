// Agreements: every client ends up with the same numbers, and so makes the same decisions. Where numbers of clients may
// not leave in plain (Collectives::sums), they are combined by secure sums, which costs some verbs their exactness:
// each says which.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/collectives.hpp"
#include "core/marginal_error.hpp"

namespace fedsinkhorn {

/// The greatest of the clients' values, element by element; NaN if one is. By secure sums: the next power of two, 0 if
/// none is positive, infinity if one is infinite or NaN. It does not show whose it is.
[[nodiscard]] double greatest_of_all(const Collectives& clients, double x);
void greatest_of_all(const Collectives& clients, std::vector<double>& values);

/// The same of values that all clients know anyway, or may know: exact, and every client sees whose it is.
[[nodiscard]] double greatest_of_known(const Collectives& clients, double x);
void greatest_of_known(const Collectives& clients, std::vector<double>& values);

/// Sets each flag that is set at any client.
void any_of_all(const Collectives& clients, std::vector<bool>& flags);

/// Adds up each sum over all clients. By secure sums: NaN wherever one of a client's numbers is not finite.
void add_up_of_all(const Collectives& clients, std::span<ExactSum> sums, Payload kind = Payload::sum);
/// Combines each part over all clients.
void combine_of_all(const Collectives& clients, Norm norm, std::span<ErrorPart> parts, Payload kind = Payload::note);

/// The same by secure sums, of any numbers.
void add_up_any(SecureSums& sums, std::span<ExactSum> numbers, Payload kind);

/// log of the sum over all clients of exp(x), element by element; -inf where all are -inf.
void add_up_logs_of_all(const Collectives& clients, std::span<double> logs, Payload kind = Payload::sum);

/// The same by secure sums.
void add_up_logs(SecureSums& sums, std::span<double> logs, Payload kind);

/// A vector that all clients may know, of which counts[k] values are client k's. The own ones are already there.
void gather_known(const Collectives& clients, std::span<double> whole, std::span<const std::size_t> counts);

}  // namespace fedsinkhorn
