// Checks of XML as this project writes it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fedsinkhorn::testing {

[[nodiscard]] inline std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

[[nodiscard]] inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// A small reader of XML as this project writes it (no comments, CDATA or processing instructions): says what is wrong
/// with the nesting of tags, the quoting of attributes or the escaping of text; empty when nothing is.
[[nodiscard]] inline std::string xml_fault(std::string_view text) {
  std::vector<std::string> open;
  std::size_t roots = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '&') {
      const std::size_t end = text.find(';', at);
      const std::string_view entity = text.substr(at, end == std::string_view::npos ? end : end - at + 1);
      if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;" && entity != "&quot;") return "bare ampersand";
    }
    if (text[at] == '>') return "bare >";
    if (text[at] != '<') {
      if (open.empty() && text[at] != '\n') return "text outside the root";
      ++at;
      continue;
    }
    const bool closing = text.substr(at, 2) == "</";
    at += closing ? 2 : 1;
    const std::size_t name_end = text.find_first_of(" />\n", at);
    if (name_end == std::string_view::npos || name_end == at) return "tag without a name";
    const std::string name(text.substr(at, name_end - at));
    at = name_end;
    bool quoted = false;
    while (at < text.size() && (quoted || text[at] != '>')) {
      if (text[at] == '"') quoted = !quoted;
      if (text[at] == '<') return "< inside the tag " + name;
      ++at;
    }
    if (at == text.size()) return "unfinished tag " + name;
    const bool empty_element = text[at - 1] == '/';
    ++at;
    if (closing) {
      if (open.empty() || open.back() != name) return "unexpected </" + name + ">";
      open.pop_back();
    } else {
      if (open.empty() && ++roots > 1) return "second root " + name;
      if (!empty_element) open.push_back(name);
    }
  }
  return open.empty() ? "" : "unclosed " + open.back();
}

}  // namespace fedsinkhorn::testing
