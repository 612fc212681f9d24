// What a command prints: a table to read, or JSON.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "cli/choices.hpp"
#include "cli/word_option.hpp"

namespace fedsinkhorn {

enum class Format { table, json };

constexpr std::string_view name_of(Format format) {
  switch (format) {
    case Format::table: return "table";
    case Format::json: return "json";
  }
  return {};
}

inline void add_format(CLI::App& command, std::string& format) {
  command.add_option("--format", format, "A table to read, or JSON")
      ->type_name(choices<Format>())
      ->check(not_empty())
      ->capture_default_str();
}

}  // namespace fedsinkhorn
