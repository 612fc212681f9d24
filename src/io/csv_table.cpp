#include "io/csv_table.hpp"

#include <csv.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <exception>
#include <new>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "core/printable.hpp"
#include "fedsinkhorn/error.hpp"
#include "io/atomic_file.hpp"
#include "io/cannot_be.hpp"
#include "io/descriptor.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr const char* kGiveANumber = "give a finite number";

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  return shortened(escaped(text), kLongest);
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// LF, CRLF and CR alone all end a line.
std::size_t count_line_breaks(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '\n' || (text[k] == '\r' && (k + 1 == text.size() || text[k + 1] != '\n'))) ++count;
  }
  return count;
}

enum class Kind { finite, not_finite, out_of_range, text };

struct Number {
  Kind kind = Kind::text;
  double value = 0;
};

/// Independent of the locale, unlike strtod.
Number parse_number(std::string_view field) {
  std::string_view text = without_blanks(field);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return {};
  }
  Number number;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number.value);
  if (error == std::errc::invalid_argument || stop != end) return {};
  if (error == std::errc::result_out_of_range) {
    number.kind = Kind::out_of_range;
  } else {
    number.kind = std::isfinite(number.value) ? Kind::finite : Kind::not_finite;
  }
  return number;
}

/// For telling a header from a first row: "nan" is a bad number, not the name of a column.
bool looks_like_a_number(std::string_view field) { return parse_number(field).kind != Kind::text; }

/// Takes fields and ends of rows and makes a table of them. Its errors are thrown by end_row() and finish().
class TableBuilder {
 public:
  TableBuilder(std::string name, NoRows no_rows, Infinity infinity)
      : name_(std::move(name)), no_rows_(no_rows), infinity_(infinity) {}

  /// is_missing: nothing between two commas, not even quotes.
  void field(std::string_view text, bool is_missing) {
    if (fields_ == 0) row_line_ = line_;
    if (!has_first_row_) {
      first_row_.push_back({std::string(text), is_missing});
    } else {
      data_field(fields_, text, is_missing);
    }
    ++fields_;
    line_ += count_line_breaks(text);
    last_end_ = 0;
  }

  /// end: CR, LF, or -1 at the end of the file. Called for empty lines too.
  void end_row(int end) {
    if (fields_ > 0) {
      if (has_first_row_) {
        end_data_row();
      } else {
        end_first_row();
      }
      fields_ = 0;
    }
    // The second character of CRLF does not end another line.
    if (end != '\n' || last_end_ != '\r') ++line_;
    last_end_ = end;
  }

  CsvTable finish() {
    if (!has_first_row_) throw InputError(name_, "is empty", "give a table of numbers");
    if (table_.rows == 0) {
      if (no_rows_ == NoRows::refused) {
        const auto word = std::ranges::find_if_not(names_, looks_like_a_number);
        throw InputError(name_,
                         fmt::format("has no rows: line {} is its header, since '{}' is not a number", row_line_,
                                     word == names_.end() ? "" : shown(*word)),
                         "give at least one row of numbers");
      }
      take_names();
    }
    return std::move(table_);
  }

  /// The line that the field being read begins on.
  [[nodiscard]] std::size_t line() const { return line_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  struct FirstField {
    std::string text;
    bool is_missing;
  };

  void end_first_row() {
    has_first_row_ = true;
    row_width_ = first_row_.size();
    if (row_width_ == 1) refuse_other_separators(first_row_.front().text);
    const bool is_header =
        !std::ranges::all_of(first_row_, [](const FirstField& field) { return looks_like_a_number(field.text); });
    if (is_header) {
      for (FirstField& field : first_row_) names_.push_back(std::move(field.text));
      check_names();
    } else {
      for (std::size_t k = 0; k < row_width_; ++k) data_field(k, first_row_[k].text, first_row_[k].is_missing);
      end_data_row();
    }
    first_row_ = {};
  }

  /// A file of one column that has separators of another kind in its first line.
  void refuse_other_separators(std::string_view line) const {
    for (const auto& [separator, word] : std::array{std::pair{';', "semicolons"}, std::pair{'\t', "tabs"}}) {
      if (line.find(separator) == std::string_view::npos) continue;
      throw InputError(name_, fmt::format("its fields are separated by {}", word),
                       "separate them by commas, and write decimals with a point");
    }
  }

  void check_names() const {
    std::unordered_map<std::string_view, std::size_t> seen;
    for (std::size_t k = 0; k < names_.size(); ++k) {
      if (names_[k].empty()) {
        if (k == 0 && names_.size() > 1) continue;  // labels
        throw InputError(name_, fmt::format("line {}: column {} has no name", row_line_, k + 1),
                         "name every column in the header");
      }
      const auto [other, is_new] = seen.try_emplace(names_[k], k);
      if (is_new) continue;
      throw InputError(
          name_, fmt::format("columns {} and {} are both named \"{}\"", other->second + 1, k + 1, shown(names_[k])),
          "give each column a name of its own");
    }
  }

  void data_field(std::size_t column, std::string_view text, bool is_missing) {
    if (table_.rows == 0 && column == 0) {
      const bool has_no_name = !names_.empty() && names_.front().empty();
      has_labels_ = row_width_ > 1 && (has_no_name || (!is_missing && !looks_like_a_number(text)));
    }
    if (column >= row_width_ || !row_error_.empty()) return;  // only counted from here on
    if (column == 0 && has_labels_) {
      table_.labels.emplace_back(text);
      return;
    }
    const Number number = parse_number(text);
    if (number.kind == Kind::finite || (infinity_ == Infinity::allowed && std::isinf(number.value))) {
      table_.values.push_back(number.value);
    } else {
      note_bad_field(column, text, number.kind, is_missing);
    }
  }

  void note_bad_field(std::size_t column, std::string_view text, Kind kind, bool is_missing) {
    row_error_ = fmt::format("line {}, column {}: ", line_, column_name(column));
    row_remedy_ = kGiveANumber;
    if (is_missing || without_blanks(text).empty()) {
      row_error_ += "the field is empty";
    } else if (kind == Kind::out_of_range) {
      row_error_ += fmt::format("'{}' is too large or too small", shown(text));
    } else if (kind == Kind::not_finite) {
      row_error_ += fmt::format("'{}' is not finite", shown(text));
    } else {
      row_error_ += fmt::format("'{}' is not a number", shown(text));
      if (text.find(';') != std::string_view::npos) {
        row_remedy_ = "separate fields by commas, and write decimals with a point";
      } else if (text.find(',') != std::string_view::npos) {
        row_remedy_ = "write decimals with a point";
      }
    }
  }

  [[nodiscard]] std::string column_name(std::size_t column) const {
    if (names_.empty() || names_[column].empty()) return std::to_string(column + 1);
    return '"' + shown(names_[column]) + '"';
  }

  void end_data_row() {
    // First: a comma too many or too few moves every field behind it.
    if (fields_ != row_width_) {
      throw InputError(name_, fmt::format("line {} has {} field{}", row_line_, fields_, fields_ == 1 ? "" : "s"),
                       fmt::format("the {} has {}", names_.empty() ? "first row" : "header", row_width_));
    }
    if (!row_error_.empty()) throw InputError(name_, row_error_, row_remedy_);
    if (table_.rows == 0) take_names();
    ++table_.rows;
    table_.lines.push_back(row_line_);
  }

  /// Once it is known whether there are labels.
  void take_names() {
    const std::size_t labels = has_labels_ || (!names_.empty() && names_.front().empty()) ? 1 : 0;
    table_.width = row_width_ - labels;
    if (!names_.empty()) table_.columns.assign(names_.begin() + static_cast<std::ptrdiff_t>(labels), names_.end());
  }

  std::string name_;
  NoRows no_rows_;
  Infinity infinity_;
  CsvTable table_;

  std::vector<FirstField> first_row_;
  std::vector<std::string> names_;  // of all columns, that of the labels too; empty: there is no header
  std::size_t row_width_ = 0;       // fields in the first row
  bool has_first_row_ = false;
  bool has_labels_ = false;

  // The row being read.
  std::size_t fields_ = 0;
  std::size_t row_line_ = 1;
  std::string row_error_;
  std::string row_remedy_;

  std::size_t line_ = 1;
  int last_end_ = 0;
};

/// libcsv with a TableBuilder. Exceptions do not pass through its C code: they wait until it returns.
class Parser {
 public:
  Parser(std::string name, NoRows no_rows, Infinity infinity) : builder_(std::move(name), no_rows, infinity) {
    // CSV_REPALL_NL: empty lines are reported, or lines could not be counted.
    constexpr unsigned char kOptions = CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL | CSV_EMPTY_IS_NULL;
    if (csv_init(&parser_, kOptions) != 0) throw std::bad_alloc();
  }
  ~Parser() { csv_free(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  /// The next bytes of the file. The first call must have at least eight, or all there are.
  void parse(std::string_view bytes) {
    const bool is_start = std::exchange(is_start_, false);
    if (is_start && bytes.starts_with(kNpyMagic)) {
      throw InputError(builder_.name(), "is a .npy file", "give a CSV file");
    }
    if (bytes.find('\0') != std::string_view::npos) {
      throw InputError(builder_.name(), "is not text: it has zero bytes", "give a CSV file in UTF-8");
    }
    if (is_start && bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
    const std::size_t done = csv_parse(&parser_, bytes.data(), bytes.size(), take_field, take_end, this);
    check(done == bytes.size(), "a quote inside a field", "put the whole field in quotes and double those inside");
  }

  CsvTable finish() {
    check(csv_fini(&parser_, take_field, take_end, this) == 0, "a quote is opened and never closed", "close it");
    return builder_.finish();
  }

 private:
  static void take_field(void* text, std::size_t size, void* self) {
    auto& parser = *static_cast<Parser*>(self);
    const bool is_missing = text == nullptr;
    parser.guarded([&] {
      parser.builder_.field(is_missing ? std::string_view() : std::string_view(static_cast<char*>(text), size),
                            is_missing);
    });
  }

  static void take_end(int end, void* self) {
    auto& parser = *static_cast<Parser*>(self);
    parser.guarded([&] { parser.builder_.end_row(end); });
  }

  /// After the first error the rest is ignored.
  template <class Body>
  void guarded(const Body& body) noexcept {
    if (error_) return;
    try {
      body();
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  void check(bool is_well_formed, const char* reason, const char* remedy) {
    if (error_) std::rethrow_exception(error_);
    if (is_well_formed) return;
    if (csv_error(&parser_) != CSV_EPARSE) throw std::bad_alloc();
    throw InputError(builder_.name(), fmt::format("line {}: {}", builder_.line(), reason), remedy);
  }

  TableBuilder builder_;
  csv_parser parser_{};
  std::exception_ptr error_;
  bool is_start_ = true;
};

/// Fills the buffer, unless the file ends before. Returns how much there is.
std::size_t read_some(int descriptor, std::vector<char>& buffer, const std::string& name) {
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const ssize_t count = ::read(descriptor, buffer.data() + filled, buffer.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_be(name, "read", errno);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  return filled;
}

}  // namespace

CsvTable read_csv(const std::filesystem::path& path, NoRows no_rows, Infinity infinity) {
  const std::string name = display_name(path);
  // Non-blocking: otherwise open() would wait for a named pipe instead of refusing it.
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor.get() < 0) cannot_be(name, "opened", errno);
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) cannot_be(name, "examined", errno);
  if (S_ISDIR(status.st_mode)) throw InputError(name, "is a folder", "give a CSV file");
  if (!S_ISREG(status.st_mode)) throw InputError(name, "is not a regular file", "give a CSV file on a disk");

  constexpr std::size_t kBuffer = std::size_t{256} * 1024;
  std::vector<char> buffer(kBuffer);
  Parser parser(name, no_rows, infinity);
  while (const std::size_t count = read_some(descriptor.get(), buffer, name)) parser.parse({buffer.data(), count});
  return parser.finish();
}

CsvTable parse_csv(std::string_view content, const std::string& name, NoRows no_rows, Infinity infinity) {
  Parser parser(name, no_rows, infinity);
  parser.parse(content);
  return parser.finish();
}

}  // namespace fedsinkhorn
