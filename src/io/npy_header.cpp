#include "io/npy_header.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/checked_size.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxDictionary = 65535;
constexpr std::size_t kMaxRank = 2;
constexpr const char* kSaveAgain = "write it again with np.save(path, x)";

/// Makes text from the file safe for a message: a hostile file must not forge lines or flood a terminal.
std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 32;
  std::string result = "'";
  for (const char c : text.substr(0, kLongest)) result += (c >= ' ' && c <= '~') ? c : '?';
  result += text.size() > kLongest ? "...'" : "'";
  return result;
}

std::string to_text(std::span<const std::size_t> shape) {
  std::string result = "(";
  for (std::size_t k = 0; k < shape.size(); ++k) result += (k == 0 ? "" : ", ") + std::to_string(shape[k]);
  return result + (shape.size() == 1 ? ",)" : ")");
}

std::size_t little_endian(std::span<const std::byte> bytes) {
  std::size_t value = 0;
  for (std::size_t k = bytes.size(); k-- > 0;) value = value << 8U | std::to_integer<std::size_t>(bytes[k]);
  return value;
}

/// The three entries, as written.
struct Dictionary {
  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  bool has_shape = false;
  std::size_t rank = 0;            // dimensions in the file; only the first kMaxRank are kept
  std::vector<std::size_t> shape;  // valid if rank <= kMaxRank
};

/// Recursive descent parser for the Python literal that NumPy writes: a dictionary of a string, a bool and a tuple.
/// Anything else that Python would evaluate (escapes, 1_000, u'...') is malformed here.
class DictionaryParser {
 public:
  DictionaryParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Dictionary parse() {
    Dictionary result;
    expect('{');
    while (!accept('}')) {
      entry(result);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (at_ != text_.size()) malformed("something follows the dictionary at byte " + std::to_string(at_));
    if (!result.descr) malformed("no entry 'descr'");
    if (!result.fortran_order) malformed("no entry 'fortran_order'");
    if (!result.has_shape) malformed("no entry 'shape'");
    return result;
  }

 private:
  void entry(Dictionary& result) {
    const std::string_view key = string();
    expect(':');
    if (key == "descr") {
      if (result.descr) repeated(key);
      if (peek() == '[') {
        throw InputError(name_, "structured type is not supported",
                         "save one field as float64: np.save(path, x['field'].astype(np.float64))");
      }
      result.descr = string();
    } else if (key == "fortran_order") {
      if (result.fortran_order) repeated(key);
      result.fortran_order = boolean();
    } else if (key == "shape") {
      if (result.has_shape) repeated(key);
      result.has_shape = true;
      shape(result);
    } else {
      malformed("unknown entry " + quoted(key));
    }
  }

  void shape(Dictionary& result) {
    expect('(');
    bool comma = true;
    while (!accept(')')) {
      // In Python, "(3)" is a number, not a tuple, and "(3 4)" is invalid.
      if (!comma) malformed("expected ',' at byte " + std::to_string(at_));
      const std::size_t dimension = number();
      if (++result.rank <= kMaxRank) result.shape.push_back(dimension);
      comma = accept(',');
      if (!comma && result.rank == 1) malformed("shape is not a tuple at byte " + std::to_string(at_));
    }
  }

  std::string_view string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed("expected a string at byte " + std::to_string(at_));
    const std::size_t first = ++at_;
    at_ = std::min(text_.find(quote, first), text_.size());
    if (at_ == text_.size()) malformed("a string does not end");
    const std::string_view content = text_.substr(first, at_++ - first);
    if (content.find('\\') != std::string_view::npos) malformed("escape in the string " + quoted(content));
    return content;
  }

  bool boolean() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    malformed("expected True or False at byte " + std::to_string(at_));
  }

  std::size_t number() {
    constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
    if (!is_digit(peek())) malformed("expected a dimension at byte " + std::to_string(at_));
    const std::size_t first = at_;
    std::size_t value = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      const auto digit = static_cast<std::size_t>(text_[at_] - '0');
      if (value > (kMax - digit) / 10) {
        throw InputError(name_, "shape overflows: a dimension has more than 64 bits", kSaveAgain);
      }
      value = 10 * value + digit;
    }
    if (text_[first] == '0' && at_ - first > 1) {
      malformed("a dimension starts with 0 at byte " + std::to_string(first));
    }
    return value;
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  void skip_spaces() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  /// The next character that is not a space; at the end NUL, which no rule accepts.
  char peek() {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) malformed("expected " + quoted({&c, 1}) + " at byte " + std::to_string(at_));
  }

  [[noreturn]] void repeated(std::string_view key) const { malformed("entry " + quoted(key) + " appears twice"); }

  [[noreturn]] void malformed(const std::string& what) const {
    throw InputError(name_, "malformed header: " + what, kSaveAgain);
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

/// Returns the bytes of the dictionary. Checks the magic, the version and the lengths.
std::span<const std::byte> find_dictionary(std::span<const std::byte> start, std::uint64_t file_size,
                                           const std::string& name) {
  if (file_size == 0) throw InputError(name, "the file is empty", kSaveAgain);
  const auto begins_with = [&](std::string_view prefix) {
    return std::equal(prefix.begin(),
                      prefix.begin() + static_cast<std::ptrdiff_t>(std::min(prefix.size(), start.size())),
                      start.begin(), [](char c, std::byte b) { return static_cast<std::byte>(c) == b; });
  };
  const auto too_short = [&] {
    return InputError(name, "too short to hold a .npy header (" + std::to_string(start.size()) + " bytes)", kSaveAgain);
  };
  if (start.size() >= 4 && begins_with("PK\x03\x04")) {
    throw InputError(name, "not a .npy file but a .npz archive", "save only one array: np.save(path, x)");
  }
  if (!begins_with(kMagic)) throw InputError(name, "not a .npy file", "write it with np.save(path, x)");
  if (start.size() < kMagic.size() + 2) throw too_short();

  const auto major = std::to_integer<unsigned>(start[kMagic.size()]);
  const auto minor = std::to_integer<unsigned>(start[kMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    throw InputError(
        name, "unsupported version " + std::to_string(major) + "." + std::to_string(minor) + " of the .npy format",
        "versions 1.0, 2.0 and 3.0 are supported: " + std::string(kSaveAgain));
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t length_at = kMagic.size() + 2;
  if (start.size() < length_at + length_bytes) throw too_short();

  const std::size_t first = length_at + length_bytes;
  const std::size_t length = little_endian(start.subspan(length_at, length_bytes));
  if (length > file_size - first || (length <= kMaxDictionary && length > start.size() - first)) {
    throw InputError(name,
                     "header longer than the file: it should end at byte " + std::to_string(first + length) +
                         ", the file at byte " + std::to_string(file_size),
                     "the file is cut off or damaged: " + std::string(kSaveAgain));
  }
  if (length > kMaxDictionary) {
    throw InputError(name,
                     "header of " + std::to_string(length) + " bytes is longer than the " +
                         std::to_string(kMaxDictionary) + " that a plain array could need",
                     kSaveAgain);
  }
  return start.subspan(first, length);
}

NumberFormat read_format(std::string_view descr, const std::string& name) {
  constexpr std::array<std::string_view, 13> kFormats = {"f2", "f4", "f8", "f16", "i1", "i2", "i4",
                                                         "i8", "u1", "u2", "u4",  "u8", "b1"};
  const std::string_view format = descr.substr(std::min<std::size_t>(descr.size(), 1));
  if (std::ranges::find(kFormats, format) != kFormats.end()) {
    const std::size_t bytes = format == "f16" ? 16 : static_cast<std::size_t>(format[1] - '0');
    const bool has_order = descr.front() == '<' || descr.front() == '>' || (descr.front() == '|' && bytes == 1);
    const bool is_known_here = bytes <= sizeof(double) || bytes == sizeof(long double);
    if (has_order && is_known_here) return {format.front(), bytes, descr.front() == '>'};
  }
  const std::string is_not_supported = "type " + quoted(descr) + " is not supported";
  const std::string save_as_float64 = "save it as float64: np.save(path, x.astype(np.float64))";
  switch (descr.size() >= 2 ? descr[1] : '\0') {
    case 'c':
      throw InputError(name, "complex " + is_not_supported,
                       "save its real part as float64: np.save(path, x.real.astype(np.float64))");
    case 'O': throw InputError(name, "Python object " + is_not_supported, save_as_float64);
    case 'S':
    case 'a':
    case 'U': throw InputError(name, "string " + is_not_supported, save_as_float64);
    case 'V': throw InputError(name, "structured or raw " + is_not_supported, save_as_float64);
    case 'm':
    case 'M': throw InputError(name, "date or time " + is_not_supported, save_as_float64);
    default: throw InputError(name, is_not_supported, save_as_float64);
  }
}

void check_shape(const Dictionary& dictionary, const std::string& name, NoRows no_rows) {
  if (dictionary.rank == 0) {
    throw InputError(name, "a single number with 0 dimensions",
                     "save it with one or two dimensions: np.save(path, x.reshape(1))");
  }
  if (dictionary.rank > kMaxRank) {
    throw InputError(name, "has " + std::to_string(dictionary.rank) + " dimensions",
                     "save it with one or two: np.save(path, x.reshape(len(x), -1))");
  }
  const auto& shape = dictionary.shape;
  const auto may_be_zero = no_rows == NoRows::allowed ? 1 : 0;
  if (std::find(shape.begin() + may_be_zero, shape.end(), 0U) != shape.end()) {
    throw InputError(name, "has no elements: its shape is " + to_text(shape), "save an array with at least one");
  }
}

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> file_start, std::uint64_t file_size, const std::string& name,
                           NoRows no_rows) {
  const auto start = file_start.first(static_cast<std::size_t>(std::min<std::uint64_t>(file_start.size(), file_size)));
  const auto bytes = find_dictionary(start, file_size, name);
  // char may alias std::byte.
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Dictionary dictionary = DictionaryParser(text, name).parse();

  NpyHeader header;
  header.format = read_format(*dictionary.descr, name);
  check_shape(dictionary, name, no_rows);
  header.shape = std::move(dictionary.shape);
  header.by_columns = *dictionary.fortran_order && header.shape.size() == 2 &&
                      std::ranges::all_of(header.shape, [](std::size_t length) { return length > 1; });
  header.data_offset = static_cast<std::size_t>(bytes.data() - start.data()) + bytes.size();

  // A dimension of 0 must not hide an overflow in the rest.
  const bool is_vector = header.shape.size() == 1;
  const auto row = product_of({header.format.bytes, is_vector ? 1 : header.shape.back()});
  const auto all = row ? product_of({*row, header.shape.front()}) : std::nullopt;
  if (!all) {
    throw InputError(name, "shape overflows: " + to_text(header.shape) + " has more bytes than 64 bits can count",
                     kSaveAgain);
  }
  const std::uint64_t promised = *all;
  const std::uint64_t present = file_size - header.data_offset;
  if (present < promised) {
    throw InputError(name,
                     "data truncated: shape " + to_text(header.shape) + " needs " + std::to_string(promised) +
                         " bytes, the file has " + std::to_string(present),
                     "copy or save it again");
  }
  if (present > promised) {
    throw InputError(name, "has " + std::to_string(present - promised) + " bytes more than its header promises",
                     "save one array per file: np.save(path, x)");
  }
  return header;
}

}  // namespace fedsinkhorn
