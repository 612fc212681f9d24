#include "fedsinkhorn/npy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "core/memory.hpp"
#include "fedsinkhorn/error.hpp"
#include "io/atomic_file.hpp"
#include "io/cannot_be.hpp"
#include "io/descriptor.hpp"
#include "io/file_mapping.hpp"
#include "io/mapped_files.hpp"
#include "io/npy_header.hpp"
#include "io/npy_numbers.hpp"

namespace fedsinkhorn {
namespace {

static_assert(std::endian::native == std::endian::little, "the data of .npy files are used as they lie in the file");

/// Reads the start of the file with pread(), not through the map: a failing disk is then an error, not a signal.
std::vector<std::byte> read_start(int descriptor, std::uint64_t file_size, const std::string& name) {
  std::vector<std::byte> start(static_cast<std::size_t>(std::min<std::uint64_t>(file_size, kNpyHeaderWindow)));
  std::size_t filled = 0;
  while (filled < start.size()) {
    const ssize_t count = ::pread(descriptor, start.data() + filled, start.size() - filled, static_cast<off_t>(filled));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_be(name, "read", errno);
    if (count == 0) break;  // became shorter since it was opened; the parser reports it
    filled += static_cast<std::size_t>(count);
  }
  start.resize(filled);
  return start;
}

/// Number of values in an array of this shape. Throws std::invalid_argument unless they can be counted and addressed.
std::size_t count_values(std::span<const std::size_t> shape) {
  if (shape.empty() || shape.size() > 3) throw std::invalid_argument("NpyWriter: shape must have 1 to 3 dimensions");
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / sizeof(double);
  std::size_t count = 1;
  for (const std::size_t dimension : shape) {
    if (dimension != 0 && count > kMost / dimension) throw std::invalid_argument("NpyWriter: shape overflows");
    count *= dimension;
  }
  return count;
}

/// Version 1.0, as NumPy writes it. The data start at a multiple of 64, so that mapped data are aligned.
std::string header_text(std::span<const std::size_t> shape) {
  constexpr std::size_t kAlignment = 64;
  constexpr std::size_t kPrefix = 10;
  std::string dictionary = "{'descr': '<f8', 'fortran_order': False, 'shape': (" + std::to_string(shape[0]) + ",";
  for (std::size_t k = 1; k < shape.size(); ++k) dictionary += (k > 1 ? ", " : " ") + std::to_string(shape[k]);
  dictionary += "), }";
  const std::size_t unpadded = kPrefix + dictionary.size() + 1;
  dictionary.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  dictionary += '\n';

  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dictionary.size() & 0xffU);
  header += static_cast<char>(dictionary.size() >> 8U);
  return header + dictionary;
}

}  // namespace

struct NpyFile::State {
  State(std::filesystem::path where, NpyHeader what, Order order, int descriptor, std::size_t file_size)
      : path(std::move(where)), header(std::move(what)) {
    const std::byte* data = file.emplace(descriptor, file_size, display_name(path)).pages.data() + header.data_offset;
    const bool is_float = header.format == NumberFormat{'f', 8} || header.format == NumberFormat{'f', 4};
    const bool is_in_order = !header.by_columns || order == Order::as_stored;
    if (is_float && is_in_order && header.data_offset % header.format.bytes == 0) {
      is_by_columns = header.by_columns;
      return;
    }
    require_memory();
    converted = converted_numbers(header, data);
    file.reset();
  }

  struct Mapped {
    Mapped(int descriptor, std::size_t size, const std::string& name)
        : pages(descriptor, size), entry(pages.data(), size, name) {}
    FileMapping pages;
    MappedFile entry;
  };

  std::filesystem::path path;
  NpyHeader header;
  bool is_by_columns = false;
  std::optional<Mapped> file;  // unless it is converted
  std::vector<double> converted;

  /// Of the matrix as it lies in memory.
  [[nodiscard]] std::size_t rows() const { return header.shape[is_by_columns ? 1 : 0]; }
  [[nodiscard]] std::size_t columns() const {
    if (header.shape.size() == 1) return 1;
    return header.shape[is_by_columns ? 0 : 1];
  }
  [[nodiscard]] bool holds_float32() const { return file && header.format.bytes == sizeof(float); }

  template <class T>
  [[nodiscard]] MatrixView<T> view(std::size_t first, std::size_t count) const {
    // Aligned: others are converted.
    const T* data = reinterpret_cast<const T*>(file->pages.data() + header.data_offset);
    return {data + first * columns(), count, columns()};
  }

 private:
  void require_memory() const {
    const std::size_t needed = rows() * columns() * sizeof(double);
    const std::uint64_t available = available_memory();
    if (needed <= available) return;
    throw InputError(display_name(path),
                     fmt::format("needs {} to be converted to float64 in C order, but {} is available",
                                 human_bytes(needed), human_bytes(available)),
                     "save it so: np.save(path, np.ascontiguousarray(x, dtype=np.float64))");
  }
};

NpyFile::NpyFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
NpyFile::NpyFile(NpyFile&&) noexcept = default;
NpyFile& NpyFile::operator=(NpyFile&&) noexcept = default;
NpyFile::~NpyFile() = default;

NpyFile NpyFile::open(const std::filesystem::path& path, NoRows no_rows, Order order) {
  const std::string name = display_name(path);
  // Non-blocking: otherwise open() would wait for a named pipe instead of refusing it.
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor.get() < 0) cannot_be(name, "opened", errno);
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) cannot_be(name, "examined", errno);
  if (S_ISDIR(status.st_mode)) throw InputError(name, "is a folder", "give a .npy file");
  if (!S_ISREG(status.st_mode)) throw InputError(name, "is not a regular file", "give a .npy file on a disk");

  const auto file_size = static_cast<std::uint64_t>(status.st_size);
  NpyHeader header = parse_npy_header(read_start(descriptor.get(), file_size, name), file_size, name, no_rows);
  try {
    return NpyFile(
        std::make_unique<State>(path, std::move(header), order, descriptor.get(), static_cast<std::size_t>(file_size)));
  } catch (const std::system_error& error) {
    cannot_be(name, "mapped into memory", error.code().value());
  }
}

const std::filesystem::path& NpyFile::path() const { return state_->path; }
std::span<const std::size_t> NpyFile::shape() const { return state_->header.shape; }
bool NpyFile::is_float32() const { return state_->header.format.kind == 'f' && state_->header.format.bytes == 4; }
bool NpyFile::is_by_columns() const { return state_->is_by_columns; }
std::size_t NpyFile::converted_bytes() const { return state_->converted.size() * sizeof(double); }

AnyMatrix NpyFile::matrix() const { return rows(0, state_->rows()); }

AnyMatrix NpyFile::rows(std::size_t first, std::size_t count) const {
  const std::size_t total = state_->rows();
  if (first > total || count > total - first) {
    throw std::out_of_range("NpyFile: rows " + std::to_string(first) + " and " + std::to_string(count) +
                            " further of " + std::to_string(total));
  }
  const std::size_t columns = state_->columns();
  if (!state_->file) return MatrixView<double>{state_->converted.data() + first * columns, count, columns};
  if (state_->holds_float32()) return state_->view<float>(first, count);
  return state_->view<double>(first, count);
}

void NpyFile::release_rows(std::size_t first, std::size_t count) const {
  if (!state_->file) return;
  const std::size_t row = state_->columns() * state_->header.format.bytes;
  const std::size_t offset = state_->header.data_offset;
  state_->file->pages.release(offset + first * row, offset + (first + count) * row);
}

std::vector<double> NpyFile::to_vector() const {
  return std::visit(
      [](const auto& view) { return std::vector<double>(view.data, view.data + view.rows * view.columns); }, matrix());
}

struct NpyWriter::State {
  State(const std::filesystem::path& path, std::size_t count) : file(path), missing(count) {}

  AtomicFile file;
  std::size_t missing;  // values not appended yet
};

NpyWriter::NpyWriter(const std::filesystem::path& path, std::span<const std::size_t> shape) {
  const std::size_t count = count_values(shape);
  state_ = std::make_unique<State>(path, count);
  state_->file.write(header_text(shape));
}

NpyWriter::~NpyWriter() = default;

void NpyWriter::append(std::span<const double> values) {
  if (values.size() > state_->missing) throw std::logic_error("NpyWriter: more values than the shape has");
  state_->file.write(std::as_bytes(values));
  state_->missing -= values.size();
}

void NpyWriter::finish() {
  if (state_->missing != 0) {
    throw std::logic_error("NpyWriter: " + std::to_string(state_->missing) + " values of the shape are missing");
  }
  state_->file.commit();
}

void write_npy(const std::filesystem::path& path, std::span<const double> values, std::span<const std::size_t> shape) {
  NpyWriter writer(path, shape);
  writer.append(values);
  writer.finish();
}

}  // namespace fedsinkhorn
