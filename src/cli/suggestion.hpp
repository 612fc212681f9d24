// Suggestions after typing errors.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fedsinkhorn {

/// Damerau-Levenshtein distance: the fewest insertions, deletions, replacements and swaps of neighbours, with no letter
/// changed twice.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest candidate that is a few typing errors away or contains the word. The first of equals; none if none is
/// near.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// "did you mean X?", or `otherwise` if no candidate is near.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                                       const std::string& otherwise);

// Call after app.parse() has thrown. Each returns a line about one possible cause; none if that is not the cause.

/// The first unknown option, with a suggestion.
[[nodiscard]] std::optional<std::string> unknown_option(const CLI::App& app);
/// The first option with too many values, perhaps because it was given twice.
[[nodiscard]] std::optional<std::string> given_too_often(const CLI::App& app);
/// A command that needs another one after it, and got a word that is none, or nothing.
[[nodiscard]] std::optional<std::string> unknown_command(const CLI::App& app);
/// The first unexpected word.
[[nodiscard]] std::optional<std::string> stray_word(const CLI::App& app);

/// Names of the commands that --help lists.
[[nodiscard]] std::vector<std::string> command_names(const CLI::App& app);
/// "there are: solve, generate, ..."
[[nodiscard]] std::string known_commands(const CLI::App& app);

}  // namespace fedsinkhorn
