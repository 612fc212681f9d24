// One field of a CSV file.
#pragma once

#include <string>
#include <string_view>

namespace fedsinkhorn {

/// RFC 4180: in quotes, with its quotes doubled, if it holds a comma, a quote or a line break. Also if it begins or
/// ends with a blank, which readers may drop.
[[nodiscard]] inline std::string csv_field(std::string_view text) {
  const bool is_plain =
      text.find_first_of(",\"\r\n") == std::string_view::npos && !text.starts_with(' ') && !text.ends_with(' ');
  if (is_plain) return std::string(text);
  std::string field = "\"";
  for (const char c : text) {
    if (c == '"') field += '"';
    field += c;
  }
  return field + '"';
}

}  // namespace fedsinkhorn
