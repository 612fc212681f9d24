#include "cli/number_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace fedsinkhorn {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Removes underscores between digits; none if there is one elsewhere.
std::optional<std::string> without_underscores(std::string_view word) {
  std::string result;
  for (std::size_t k = 0; k < word.size(); ++k) {
    if (word[k] != '_') {
      result += word[k];
    } else if (k == 0 || k + 1 == word.size() || !is_digit(word[k - 1]) || !is_digit(word[k + 1])) {
      return std::nullopt;
    }
  }
  return result;
}

/// A decimal number, (-1)^negative * digits * 10^exponent. No digits: zero.
struct Decimal {
  bool is_negative = false;
  std::string digits;  // neither the first nor the last is 0
  std::int64_t exponent = 0;
};

std::string_view take_digits(std::string_view& word) {
  const auto count = static_cast<std::size_t>(std::find_if_not(word.begin(), word.end(), is_digit) - word.begin());
  const std::string_view digits = word.substr(0, count);
  word.remove_prefix(count);
  return digits;
}

bool take_sign(std::string_view& word) {
  const bool is_negative = word.starts_with('-');
  if (is_negative || word.starts_with('+')) word.remove_prefix(1);
  return is_negative;
}

/// [+-] digits [. digits] [e [+-] digits], with digits on at least one side of the point.
std::optional<Decimal> read_decimal(std::string_view word) {
  Decimal result;
  result.is_negative = take_sign(word);
  const std::string_view whole = take_digits(word);
  std::string_view fraction;
  if (word.starts_with('.')) {
    word.remove_prefix(1);
    fraction = take_digits(word);
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  if (word.starts_with('e') || word.starts_with('E')) {
    word.remove_prefix(1);
    const bool is_negative = take_sign(word);
    const std::string_view digits = take_digits(word);
    if (digits.empty()) return std::nullopt;
    constexpr std::int64_t beyond_all = 1000000;
    const auto [stop, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), result.exponent);
    if (wrong != std::errc() || result.exponent > beyond_all) result.exponent = beyond_all;
    if (is_negative) result.exponent = -result.exponent;
  }
  if (!word.empty()) return std::nullopt;
  result.digits = std::string(whole) + std::string(fraction);
  result.exponent -= static_cast<std::int64_t>(fraction.size());
  while (result.digits.ends_with('0')) {
    result.digits.pop_back();
    ++result.exponent;
  }
  result.digits.erase(0, result.digits.find_first_not_of('0'));
  return result;
}

/// The absolute value of an integer; none if it is 2^64 or more.
std::optional<std::uint64_t> magnitude(const Decimal& decimal) {
  if (decimal.digits.empty()) return 0;
  constexpr std::int64_t most_digits = 20;
  if (static_cast<std::int64_t>(decimal.digits.size()) + decimal.exponent > most_digits) return std::nullopt;
  const std::string digits = decimal.digits + std::string(static_cast<std::size_t>(decimal.exponent), '0');
  std::uint64_t value = 0;
  const auto [stop, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (wrong != std::errc()) return std::nullopt;
  return value;
}

std::string integer_range_text(IntegerRange range) {
  if (range.most == std::numeric_limits<std::int64_t>::max()) return fmt::format("of {} or more", range.least);
  return fmt::format("from {} to {}", range.least, range.most);
}

/// For a word in place of a value. No file, number or choice starts with "--" and a letter.
bool looks_like_option(const std::string& word) {
  return word.starts_with("--") && word.size() > 2 && std::isalpha(static_cast<unsigned char>(word[2])) != 0;
}

std::string forgotten(const std::string& next) { return "has no value: " + next + " follows"; }

/// Splits at commas and keeps empty elements.
std::vector<std::string> parts_of(const std::vector<std::string>& words) {
  std::vector<std::string> parts;
  for (const std::string& word : words) {
    std::size_t begin = 0;
    for (std::size_t comma = word.find(','); comma != std::string::npos; comma = word.find(',', begin)) {
      parts.push_back(word.substr(begin, comma - begin));
      begin = comma + 1;
    }
    parts.push_back(word.substr(begin));
  }
  return parts;
}

template <class Number, class Normalize>
CLI::Option* add_list(CLI::App& app, const std::string& flag, std::vector<Number>& values,
                      const std::string& description, const Normalize& normalize) {
  const auto read = [&values, flag, normalize](const std::vector<std::string>& words) {
    values.clear();
    for (std::string& part : parts_of(words)) {
      const std::string wrong =
          part.empty() ? "has an empty place; give numbers with single commas between them" : normalize(part);
      if (!wrong.empty()) throw CLI::ValidationError(flag, wrong);
      Number value{};
      std::from_chars(part.data(), part.data() + part.size(), value);
      values.push_back(value);
    }
  };
  return app.add_option_function<std::vector<std::string>>(flag, read, description)
      ->type_name("NUMBER,...")
      ->option_text("NUMBER,...");
}

}  // namespace

std::string normalize_integer(std::string& word, IntegerRange range) {
  if (looks_like_option(word)) return forgotten(word);
  const std::optional<std::string> grouped = without_underscores(word);
  const std::optional<Decimal> decimal = grouped ? read_decimal(*grouped) : std::nullopt;
  if (!decimal || (!decimal->digits.empty() && decimal->exponent < 0)) {
    return fmt::format("'{}' is no whole number; give one {}", word, integer_range_text(range));
  }
  const bool is_negative = decimal->is_negative && !decimal->digits.empty();
  const std::optional<std::uint64_t> value = magnitude(*decimal);
  if (is_negative || (value && *value < range.least)) {
    return fmt::format("{} is too small; give a whole number {}", word, integer_range_text(range));
  }
  if (!value || *value > range.most) {
    return fmt::format("{} is too large; give a whole number from {} to {}", word, range.least, range.most);
  }
  word = std::to_string(*value);
  return "";
}

std::string normalize_real(std::string& word, double most) {
  if (looks_like_option(word)) return forgotten(word);
  const std::optional<std::string> grouped = without_underscores(word);
  if (!grouped || !read_decimal(*grouped)) {
    return fmt::format("'{}' is no number; give a finite one, such as 0.01 or 1e-2", word);
  }
  std::string_view digits = *grouped;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double value = 0;
  const auto [stop, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (wrong != std::errc()) return fmt::format("{} is beyond the numbers a float64 can hold", word);
  if (value > most) return fmt::format("{} is too large; give at most {:g}", word, most);
  word = fmt::format("{:.17g}", value);
  return "";
}

CLI::Validator integer(IntegerRange range) {
  return {[range](std::string& word) { return normalize_integer(word, range); }, "", "integer"};
}

CLI::Validator real(double most) {
  return {[most](std::string& word) { return normalize_real(word, most); }, "", "real"};
}

CLI::Validator integer_or_auto(IntegerRange range) {
  return {[range](std::string& word) {
            if (word != "auto") return normalize_integer(word, range);
            word = "0";
            return std::string();
          },
          "", "integer or auto"};
}

CLI::Validator seed() { return integer({0, std::numeric_limits<std::uint64_t>::max()}); }

CLI::Option* add_integer_list(CLI::App& app, const std::string& flag, std::vector<int>& values, IntegerRange range,
                              const std::string& description) {
  return add_list(app, flag, values, description,
                  [range](std::string& word) { return normalize_integer(word, range); });
}

CLI::Option* add_integer_list(CLI::App& app, const std::string& flag, std::vector<std::uint64_t>& values,
                              IntegerRange range, const std::string& description) {
  return add_list(app, flag, values, description,
                  [range](std::string& word) { return normalize_integer(word, range); });
}

CLI::Option* add_real_list(CLI::App& app, const std::string& flag, std::vector<double>& values,
                           const std::string& description) {
  return add_list(app, flag, values, description, [](std::string& word) { return normalize_real(word); });
}

void refuse_options_as_values(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    refuse_options_as_values(*command);
    for (CLI::Option* option : command->get_options()) {
      if (!option->nonpositional() || option->get_items_expected_max() == 0) continue;
      option->check([](const std::string& word) { return looks_like_option(word) ? forgotten(word) : ""; });
    }
  }
}

}  // namespace fedsinkhorn
