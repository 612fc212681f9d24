// libFuzzer target for the .npy header parser, and for reading what a header says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "io/npy_header.hpp"
#include "io/npy_numbers.hpp"

namespace {

void require(bool condition) {
  if (!condition) __builtin_trap();
}

/// A refusal is one short printable line that names the file; an accepted header means exactly file_size bytes.
void check(std::span<const std::byte> start, std::uint64_t file_size) {
  fedsinkhorn::NpyHeader header;
  try {
    header = fedsinkhorn::parse_npy_header(start, file_size, "fuzz.npy");
  } catch (const fedsinkhorn::InputError& error) {
    const std::string_view message = error.what();
    require(message.starts_with("fuzz.npy: ") && message.size() > 10 && message.size() < 250);
    require(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; }));
    return;
  }
  require(header.shape.size() == 1 || header.shape.size() == 2);
  std::uint64_t bytes = header.format.bytes;
  for (const std::size_t dimension : header.shape) {
    require(dimension > 0);
    require(!__builtin_mul_overflow(bytes, std::uint64_t{dimension}, &bytes));
  }
  require(header.data_offset <= std::min<std::uint64_t>(start.size(), file_size));
  require(bytes == file_size - header.data_offset);
  if (file_size <= start.size()) {
    const std::vector<double> numbers = fedsinkhorn::converted_numbers(header, start.data() + header.data_offset);
    require(numbers.size() == bytes / header.format.bytes);
  }
}

}  // namespace

// libFuzzer looks the function up by this name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {  // NOLINT(readability-identifier-naming)
  const auto start = std::as_bytes(std::span(data, size));
  check(start, size);
  // The data of a large array need not be there to be counted: the last bytes serve as the size of the file too.
  std::uint64_t claimed = 0;
  for (const std::uint8_t byte : std::span(data, size).last(std::min<std::size_t>(size, 8)))
    claimed = claimed << 8U | byte;
  check(start, claimed);
  check(start, size + 8);
  return 0;
}
