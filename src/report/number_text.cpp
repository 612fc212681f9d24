#include "report/number_text.hpp"
#include "core/printable.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/memory.hpp"
#include "report/svg.hpp"

namespace fedsinkhorn::report {

std::string count_text(std::uint64_t count) { return grouped(count); }

std::string number_text(double value, int digits) {
  if (std::isnan(value)) return "not known";
  const double size = std::abs(value);
  if (value == 0 || (size >= 1e-3 && size < 1e6) || std::isinf(value)) return fmt::format("{:.{}g}", value, digits);
  const std::string text = fmt::format("{:.{}e}", value, digits - 1);
  const std::size_t e = text.find('e');
  std::string mantissa = text.substr(0, e);
  while (mantissa.back() == '0') mantissa.pop_back();
  if (mantissa.back() == '.') mantissa.pop_back();
  const std::string power = svg::power_of_ten(std::stoi(text.substr(e + 1)));
  return mantissa == "1" ? power : mantissa + " × " + power;
}

std::string seconds_text(double seconds) {
  if (std::isnan(seconds)) return "not known";
  if (seconds == 0) return "0 s";
  if (seconds < 1e-3) return fmt::format("{:.3g} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.3g} s", seconds);
  return fmt::format("{} min {:.0f} s", static_cast<std::int64_t>(seconds / 60), std::fmod(seconds, 60));
}

Cell bytes_cell(std::uint64_t bytes) { return {human_bytes(bytes), true}; }

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace fedsinkhorn::report
