// Seeds on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>

namespace fedsinkhorn {

/// CLI11 would read "-1", or a number with too many digits, into an unsigned number as a huge one.
[[nodiscard]] inline CLI::Validator is_seed() {
  return {[](const std::string& word) {
            std::uint64_t seed = 0;
            const char* end = word.data() + word.size();
            const auto [stop, wrong] = std::from_chars(word.data(), end, seed);
            return wrong == std::errc() && stop == end ? "" : "is no seed; give a whole number from 0 to 2^64 - 1";
          },
          "", "seed"};
}

}  // namespace fedsinkhorn
