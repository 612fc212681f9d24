// What somebody may have meant.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fedsinkhorn {

/// Least number of letters to insert, leave out, replace or swap with their neighbour (Damerau and Levenshtein; no
/// letter is changed twice).
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate that is near enough to be meant: by few typing errors, or as a part of it. The first of equals; none
/// if there is none.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// "did you mean X?", or the other text if nothing is near.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                                       const std::string& otherwise);

// After app.parse() has thrown, for whatever reason, a line about what may be behind it; none if it is not that.

/// The first option that nobody knows, with the one that may have been meant.
[[nodiscard]] std::optional<std::string> unknown_option(const CLI::App& app);
/// The first option that has more values than it takes, since it was given twice perhaps.
[[nodiscard]] std::optional<std::string> given_too_often(const CLI::App& app);
/// The first word that nobody takes.
[[nodiscard]] std::optional<std::string> stray_word(const CLI::App& app);

/// Names of the commands that --help lists.
[[nodiscard]] std::vector<std::string> command_names(const CLI::App& app);
/// "there are: solve, generate, ..."
[[nodiscard]] std::string known_commands(const CLI::App& app);

}  // namespace fedsinkhorn
