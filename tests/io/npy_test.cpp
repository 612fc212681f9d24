#include "fedsinkhorn/npy.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "io/atomic_file.hpp"
#include "support/in_a_folder.hpp"
#include "support/line_of.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;

class NpyTest : public testing::InAFolder {};

class NpyFileTest : public NpyTest {};
class NpyWriterTest : public NpyTest {};

using testing::content;
using testing::Names;
using Shape = std::vector<std::size_t>;

Shape shape_of(const NpyFile& file) { return {file.shape().begin(), file.shape().end()}; }

/// A version 1.0 header whose data start at `data_offset`.
std::string padded_header(const std::string& descr, const std::string& shape, std::size_t data_offset = 128,
                          const std::string& fortran_order = "False") {
  std::string dictionary =
      "{'descr': '" + descr + "', 'fortran_order': " + fortran_order + ", 'shape': " + shape + ", }";
  dictionary.append(data_offset - 10 - dictionary.size() - 1, ' ');
  dictionary += '\n';
  const std::string length{static_cast<char>(dictionary.size() & 0xffU), static_cast<char>(dictionary.size() >> 8U)};
  return std::string("\x93NUMPY\x01\x00", 8) + length + dictionary;
}

template <class T>
std::string raw(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> values_of(const AnyMatrix& matrix) {
  const auto& view = std::get<MatrixView<T>>(matrix);
  return {view.data, view.data + view.rows * view.columns};
}

void expect_file_refused(const fs::path& path, const std::string& reason) {
  const std::string message = test::line_of<InputError>([&] { (void)NpyFile::open(path); });
  EXPECT_TRUE(message.starts_with(path.string() + ": " + reason))
      << "expected: " << reason << "\ngot:      " << message;
}

TEST_F(NpyFileTest, ReadsAMatrixOfFloat64) {
  const std::vector<double> values = {1.5, -2, 1e300, 4, 5, 6};
  const fs::path path = folder_ / "a.npy";
  write_file_atomically(path, padded_header("<f8", "(2, 3)") + raw(values));
  const NpyFile file = NpyFile::open(path);
  EXPECT_EQ(file.path(), path);
  EXPECT_EQ(shape_of(file), (Shape{2, 3}));
  EXPECT_FALSE(file.is_float32());
  EXPECT_EQ(rows_of(file.matrix()), 2U);
  EXPECT_EQ(columns_of(file.matrix()), 3U);
  EXPECT_EQ(values_of<double>(file.matrix()), values);
  EXPECT_EQ(file.to_vector(), values);
}

TEST_F(NpyFileTest, ReadsAMatrixOfFloat32) {
  const std::vector<float> values = {1.5F, -2, 0.1F, 4, 5, 6};
  write_file_atomically(folder_ / "a.npy", padded_header("<f4", "(3, 2)") + raw(values));
  const NpyFile file = NpyFile::open(folder_ / "a.npy");
  EXPECT_TRUE(file.is_float32());
  EXPECT_EQ(values_of<float>(file.matrix()), values);
  EXPECT_EQ(file.to_vector(), std::vector<double>(values.begin(), values.end()));
}

TEST_F(NpyFileTest, AVectorIsAColumn) {
  write_file_atomically(folder_ / "a.npy", padded_header("<f8", "(3,)") + raw<double>({1, 2, 3}));
  const NpyFile file = NpyFile::open(folder_ / "a.npy");
  EXPECT_EQ(shape_of(file), Shape{3});
  EXPECT_EQ(rows_of(file.matrix()), 3U);
  EXPECT_EQ(columns_of(file.matrix()), 1U);
  EXPECT_EQ(values_of<double>(file.rows(1, 2)), (std::vector<double>{2, 3}));
}

TEST_F(NpyFileTest, RowsAreSlices) {
  write_file_atomically(folder_ / "a.npy", padded_header("<f4", "(4, 2)") + raw<float>({0, 1, 2, 3, 4, 5, 6, 7}));
  const NpyFile file = NpyFile::open(folder_ / "a.npy");
  EXPECT_EQ(values_of<float>(file.rows(0, 1)), (std::vector<float>{0, 1}));
  EXPECT_EQ(values_of<float>(file.rows(1, 2)), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(values_of<float>(file.rows(3, 1)), (std::vector<float>{6, 7}));
  for (const std::size_t first : {0U, 2U, 4U}) {
    EXPECT_EQ(rows_of(file.rows(first, 0)), 0U);
    EXPECT_EQ(columns_of(file.rows(first, 0)), 2U);
  }
}

TEST_F(NpyFileTest, RowsOutsideAreAnErrorOfTheProgram) {
  write_npy(folder_ / "a.npy", std::vector<double>(8), Shape{4, 2});
  const NpyFile file = NpyFile::open(folder_ / "a.npy");
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, 5}, {4, 1}, {5, 0}, {1, kMax}, {kMax, 1}}) {
    EXPECT_THROW((void)file.rows(first, count), std::out_of_range);
  }
}

TEST_F(NpyFileTest, MovingKeepsViewsAlive) {
  write_npy(folder_ / "a.npy", std::vector<double>{1, 2}, Shape{2});
  write_npy(folder_ / "b.npy", std::vector<double>{3}, Shape{1});
  NpyFile first = NpyFile::open(folder_ / "a.npy");
  const AnyMatrix view = first.matrix();
  NpyFile second = std::move(first);
  EXPECT_EQ(values_of<double>(view), (std::vector<double>{1, 2}));
  second = NpyFile::open(folder_ / "b.npy");
  EXPECT_EQ(second.to_vector(), std::vector<double>{3});
}

TEST_F(NpyFileTest, AMappedFileMayBeReplacedOrRemoved) {
  const fs::path path = folder_ / "a.npy";
  write_npy(path, std::vector<double>{1, 2}, Shape{2});
  const NpyFile file = NpyFile::open(path);
  write_npy(path, std::vector<double>{3, 4, 5}, Shape{3});
  EXPECT_EQ(file.to_vector(), (std::vector<double>{1, 2}));
  fs::remove(path);
  EXPECT_EQ(file.to_vector(), (std::vector<double>{1, 2}));
}

TEST_F(NpyFileTest, ReadsDataThatAreAlignedForTheirTypeOnly) {
  write_file_atomically(folder_ / "a.npy", padded_header("<f8", "(2,)", 88) + raw<double>({1, 2}));
  EXPECT_EQ(NpyFile::open(folder_ / "a.npy").to_vector(), (std::vector<double>{1, 2}));
  write_file_atomically(folder_ / "b.npy", padded_header("<f4", "(2,)", 84) + raw<float>({1, 2}));
  EXPECT_EQ(NpyFile::open(folder_ / "b.npy").to_vector(), (std::vector<double>{1, 2}));
}

TEST_F(NpyFileTest, ReadsDataThatAreNotAligned) {
  write_file_atomically(folder_ / "a.npy", padded_header("<f8", "(2,)", 84) + raw<double>({1, 2}));
  EXPECT_EQ(NpyFile::open(folder_ / "a.npy").to_vector(), (std::vector<double>{1, 2}));
  write_file_atomically(folder_ / "b.npy", padded_header("<f4", "(2,)", 83) + raw<float>({1, 2}));
  EXPECT_EQ(NpyFile::open(folder_ / "b.npy").to_vector(), (std::vector<double>{1, 2}));
}

/// The same numbers, the bytes of each in the other order.
template <class T>
std::string swapped(const std::vector<T>& values) {
  std::string bytes = raw(values);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + sizeof(T)));
  }
  return bytes;
}

/// A file of two numbers, in both orders of bytes; the extremes of its type.
template <class T>
void expect_both_orders(const fs::path& path, const std::string& type) {
  const std::vector<T> values = {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
  for (const bool is_swapped : {false, true}) {
    SCOPED_TRACE(type + (is_swapped ? ", swapped" : ""));
    write_file_atomically(
        path, padded_header((is_swapped ? ">" : "<") + type, "(2,)") + (is_swapped ? swapped(values) : raw(values)));
    const NpyFile file = NpyFile::open(path);
    EXPECT_EQ(file.to_vector(), (std::vector<double>{static_cast<double>(values[0]), static_cast<double>(values[1])}));
    EXPECT_EQ(columns_of(file.matrix()), 1U);
    const bool is_mapped = !is_swapped && (type == "f4" || type == "f8");
    EXPECT_EQ(file.converted_bytes(), is_mapped ? 0U : 16U);
    EXPECT_EQ(file.is_float32(), type == "f4");
  }
}

TEST_F(NpyFileTest, ReadsEveryTypeOfRealNumbers) {
  const fs::path path = folder_ / "a.npy";
  expect_both_orders<std::int8_t>(path, "i1");
  expect_both_orders<std::uint8_t>(path, "u1");
  expect_both_orders<std::int16_t>(path, "i2");
  expect_both_orders<std::uint16_t>(path, "u2");
  expect_both_orders<std::int32_t>(path, "i4");
  expect_both_orders<std::uint32_t>(path, "u4");
  expect_both_orders<std::int64_t>(path, "i8");
  expect_both_orders<std::uint64_t>(path, "u8");
  expect_both_orders<float>(path, "f4");
  expect_both_orders<double>(path, "f8");

  write_file_atomically(path, padded_header("|b1", "(3,)") + std::string("\x00\x01\x02", 3));
  EXPECT_EQ(NpyFile::open(path).to_vector(), (std::vector<double>{0, 1, 1}));
  const std::vector<std::uint16_t> halves = {0x3c00, 0xc100, 0x7bff, 0x0001, 0x8000, 0x7c00, 0xfc00, 0x7e00};
  for (const std::string& bytes :
       {padded_header("<f2", "(8,)") + raw(halves), padded_header(">f2", "(8,)") + swapped(halves)}) {
    write_file_atomically(path, bytes);
    std::vector<double> numbers = NpyFile::open(path).to_vector();
    EXPECT_TRUE(std::isnan(numbers.back()));
    EXPECT_TRUE(std::signbit(numbers[4]));
    numbers.pop_back();
    constexpr double inf = std::numeric_limits<double>::infinity();
    EXPECT_EQ(numbers, (std::vector<double>{1, -2.5, 65504, std::ldexp(1, -24), 0, inf, -inf}));
  }
  if constexpr (sizeof(long double) == 16) {
    write_file_atomically(path, padded_header("<f16", "(2,)") + raw<long double>({0.1L, -3}));
    EXPECT_EQ(NpyFile::open(path).to_vector(), (std::vector<double>{0.1, -3}));
  }
}

TEST_F(NpyFileTest, FortranOrderIsTurned) {
  const std::vector<double> by_columns = {1, 4, 2, 5, 3, 6};
  const std::vector<double> by_rows = {1, 2, 3, 4, 5, 6};
  const fs::path path = folder_ / "a.npy";
  write_file_atomically(path, padded_header("<f8", "(2, 3)", 128, "True") + raw(by_columns));
  const NpyFile turned = NpyFile::open(path);
  EXPECT_EQ(shape_of(turned), (Shape{2, 3}));
  EXPECT_FALSE(turned.is_by_columns());
  EXPECT_EQ(values_of<double>(turned.matrix()), by_rows);
  EXPECT_EQ(values_of<double>(turned.rows(1, 1)), (std::vector<double>{4, 5, 6}));
  turned.release_rows(0, 2);
  EXPECT_EQ(turned.converted_bytes(), 48U);

  const NpyFile stored = NpyFile::open(path, NoRows::refused, Order::as_stored);
  EXPECT_TRUE(stored.is_by_columns());
  EXPECT_EQ(stored.converted_bytes(), 0U);
  EXPECT_EQ(rows_of(stored.matrix()), 3U);
  EXPECT_EQ(values_of<double>(stored.matrix()), by_columns);

  write_file_atomically(path, padded_header("<i2", "(2, 3)", 128, "True") + raw<std::int16_t>({1, 4, 2, 5, 3, 6}));
  const NpyFile integers = NpyFile::open(path, NoRows::refused, Order::as_stored);
  EXPECT_FALSE(integers.is_by_columns());
  EXPECT_EQ(values_of<double>(integers.matrix()), by_rows);
}

TEST_F(NpyFileTest, ManyColumnsInFortranOrderAreTurned) {
  constexpr std::size_t kRows = 5;
  constexpr std::size_t kColumns = 150;
  std::vector<std::int32_t> by_columns(kRows * kColumns);
  std::vector<double> by_rows(kRows * kColumns);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kColumns; ++j) {
      by_columns[j * kRows + i] = static_cast<std::int32_t>(1000 * i + j);
      by_rows[i * kColumns + j] = static_cast<double>(1000 * i + j);
    }
  }
  write_file_atomically(folder_ / "a.npy", padded_header("<i4", "(5, 150)", 128, "True") + raw(by_columns));
  EXPECT_EQ(NpyFile::open(folder_ / "a.npy").to_vector(), by_rows);
}

TEST_F(NpyFileTest, IsNotConvertedWithoutTheMemory) {
  const fs::path path = folder_ / "a.npy";
  write_file_atomically(path, padded_header("|u1", "(4000000, 1000000)"));
  fs::resize_file(path, 128 + 4'000'000'000'000);  // a hole: takes no disk
  expect_file_refused(path, "needs 32 TB to be converted to float64 in C order, but ");
}

TEST_F(NpyFileTest, RefusesWhatIsNotThere) {
  expect_file_refused(folder_ / "missing.npy", "cannot be opened: No such file or directory");
  expect_file_refused(folder_ / "missing" / "a.npy", "cannot be opened: No such file or directory");
}

TEST_F(NpyFileTest, RefusesWhatCannotBeRead) {
  fs::create_symlink("loop.npy", folder_ / "loop.npy");
  expect_file_refused(folder_ / "loop.npy", "cannot be opened: Too many levels of symbolic links");
  if (::geteuid() != 0) {  // root reads everything
    write_npy(folder_ / "secret.npy", std::vector<double>{1}, Shape{1});
    fs::permissions(folder_ / "secret.npy", fs::perms::none);
    expect_file_refused(folder_ / "secret.npy", "cannot be opened: Permission denied");
  }
}

TEST_F(NpyFileTest, RefusesWhatIsNoRegularFile) {
  expect_file_refused(folder_, "is a folder");
  expect_file_refused("/dev/zero", "is not a regular file");
  const fs::path fifo = folder_ / "fifo.npy";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  expect_file_refused(fifo, "is not a regular file");  // at once, though nobody writes to it
}

TEST_F(NpyFileTest, RefusesBadContentByItsPath) {
  const fs::path path = folder_ / "a.npy";
  const auto expect = [&](const std::string& bytes, const std::string& reason) {
    write_file_atomically(path, bytes);
    expect_file_refused(path, reason);
  };
  expect("", "the file is empty");
  expect("1,2\n3,4\n", "not a .npy file");
  expect(padded_header("<f8", "(2,)").substr(0, 50), "header longer than the file");
  expect(padded_header("<c8", "(2,)") + std::string(16, '\0'), "complex type '<c8' is not supported");
  expect(padded_header("<f8", "(2, 3)") + std::string(40, '\0'),
         "data truncated: shape (2, 3) needs 48 bytes, the file has 40");
  expect(padded_header("<f8", "(2, 3)") + std::string(56, '\0'), "has 8 bytes more than its header promises");
}

TEST_F(NpyFileTest, RefusesAHeaderThatFillsTheWholeWindow) {
  // A length of 65535 is the most that version 1.0 can say: all of it must have been read.
  std::string bytes = padded_header("<f8", "(2,)", 10 + 65535 - 5);
  bytes.resize(10 + 65535, ' ');
  bytes[8] = bytes[9] = '\xff';
  write_file_atomically(folder_ / "a.npy", bytes + std::string(16, '\0'));
  EXPECT_EQ(NpyFile::open(folder_ / "a.npy").to_vector(), (std::vector<double>{0, 0}));
}

/// Pages of the view's file that are in memory, whoever asked for them.
std::size_t resident_pages(const std::byte* start, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> residency((bytes + page - 1) / page);
  // mincore() does not write to the pages; its parameter is not const for historical reasons.
  if (::mincore(const_cast<std::byte*>(start), bytes, residency.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "mincore");
  }
  return static_cast<std::size_t>(std::ranges::count_if(residency, [](unsigned char r) { return (r & 1U) != 0; }));
}

TEST_F(NpyFileTest, TouchesOnlyTheRowsAskedFor) {
  constexpr std::size_t kRows = std::size_t{1} << 17U;
  constexpr std::size_t kColumns = std::size_t{1} << 13U;  // 64 KiB a row, 8 GiB in all
  constexpr std::size_t kOffset = 128;
  constexpr std::size_t kBytes = kOffset + kRows * kColumns * sizeof(double);
  const fs::path path = folder_ / "sparse.npy";
  write_file_atomically(path, padded_header("<f8", "(131072, 8192)"));
  fs::resize_file(path, kBytes);  // a hole: takes no disk
  {
    std::fstream stream(path, std::ios::binary | std::ios::in | std::ios::out);
    const double value = 42;
    stream.seekp(static_cast<std::streamoff>(kOffset + (100000 * kColumns + 5) * sizeof(double)));
    stream.write(reinterpret_cast<const char*>(&value), sizeof value);
  }

  const NpyFile file = NpyFile::open(path);
  const auto whole = std::get<MatrixView<double>>(file.matrix());
  EXPECT_EQ(whole.rows, kRows);
  const auto* start = reinterpret_cast<const std::byte*>(whole.data) - kOffset;
  const std::size_t at_first = resident_pages(start, kBytes);

  const auto slice = std::get<MatrixView<double>>(file.rows(100000, 16));  // 1 MiB
  double sum = 0;
  for (std::size_t i = 0; i < slice.rows; ++i) {
    for (std::size_t j = 0; j < slice.columns; ++j) sum += slice(i, j);
  }
  EXPECT_EQ(sum, 42);
  EXPECT_EQ(slice(0, 5), 42);
  const std::size_t after = resident_pages(start, kBytes);

  // The system reads ahead by up to some MiB; 1% of the file leaves room for that, reading it all would be 100%.
  const std::size_t limit = kBytes / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 100;
  EXPECT_LT(at_first, limit);
  EXPECT_LT(after, limit);
  EXPECT_GE(after, slice.rows * slice.columns * sizeof(double) / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
}

TEST_F(NpyWriterTest, RoundTripsEveryBit) {
  const std::vector<double> values = {0.0,
                                      -0.0,
                                      0.1,
                                      std::numeric_limits<double>::denorm_min(),
                                      std::numeric_limits<double>::max(),
                                      -std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::quiet_NaN(),
                                      1e-300};
  for (const Shape& shape : {Shape{8}, Shape{8, 1}, Shape{1, 8}, Shape{4, 2}}) {
    const fs::path path = folder_ / "a.npy";
    write_npy(path, values, shape);
    const NpyFile file = NpyFile::open(path);
    EXPECT_EQ(shape_of(file), shape);
    EXPECT_EQ(raw(file.to_vector()), raw(values));
  }
}

TEST_F(NpyWriterTest, WritesTheBytesThatNumpyWrites) {
  write_npy(folder_ / "a.npy", std::vector<double>(7), Shape{7, 1});
  const std::string expected = std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                               "{'descr': '<f8', 'fortran_order': False, 'shape': (7, 1), }" + std::string(58, ' ') +
                               "\n";
  EXPECT_EQ(content(folder_ / "a.npy"), expected + std::string(56, '\0'));
  write_npy(folder_ / "b.npy", std::vector<double>(3), Shape{3});
  EXPECT_NE(content(folder_ / "b.npy").find("'shape': (3,), }"), std::string::npos);
}

TEST_F(NpyWriterTest, DataStartAtAMultipleOf64) {
  for (std::size_t rows = 1; rows <= 100000; rows *= 10) {
    const fs::path path = folder_ / "a.npy";
    write_npy(path, std::vector<double>(rows), Shape{rows, 1});
    EXPECT_EQ((fs::file_size(path) - rows * sizeof(double)) % 64, 0U);
  }
}

TEST_F(NpyWriterTest, BlocksOfAllSizesArriveInOrder) {
  const fs::path path = folder_ / "a.npy";
  std::vector<double> values(40000);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = std::sqrt(static_cast<double>(k));
  NpyWriter writer(path, Shape{200, 200});
  std::size_t at = 0;
  for (const std::size_t size : {0U, 1U, 8191U, 8192U, 8193U, 200U, 15223U}) {
    writer.append(std::span(values).subspan(at, size));
    at += size;
  }
  ASSERT_EQ(at, values.size());
  writer.finish();
  EXPECT_EQ(NpyFile::open(path).to_vector(), values);
}

TEST_F(NpyWriterTest, NothingIsLeftWhenUnfinished) {
  {
    NpyWriter writer(folder_ / "a.npy", Shape{2, 2});
    writer.append(std::vector<double>{1, 2, 3, 4});
    EXPECT_FALSE(fs::exists(folder_ / "a.npy"));
  }
  EXPECT_EQ(listing(), Names{});
}

TEST_F(NpyWriterTest, AnExistingFileIsIntactUntilFinished) {
  const fs::path path = folder_ / "a.npy";
  write_npy(path, std::vector<double>{1, 2}, Shape{2});
  NpyWriter writer(path, Shape{3});
  writer.append(std::vector<double>{3, 4, 5});
  EXPECT_EQ(NpyFile::open(path).to_vector(), (std::vector<double>{1, 2}));
  writer.finish();
  EXPECT_EQ(NpyFile::open(path).to_vector(), (std::vector<double>{3, 4, 5}));
  EXPECT_EQ(listing(), Names{"a.npy"});
}

TEST_F(NpyWriterTest, TooFewOrTooManyValuesAreAnErrorOfTheProgram) {
  const fs::path path = folder_ / "a.npy";
  {
    NpyWriter writer(path, Shape{2, 2});
    writer.append(std::vector<double>{1, 2, 3});
    EXPECT_THROW(writer.finish(), std::logic_error);
    EXPECT_THROW(writer.append(std::vector<double>{4, 5}), std::logic_error);
  }
  EXPECT_THROW(write_npy(path, std::vector<double>{1, 2, 3}, Shape{2}), std::logic_error);
  EXPECT_THROW(write_npy(path, std::vector<double>{1, 2, 3}, Shape{4}), std::logic_error);
  EXPECT_EQ(listing(), Names{});
}

TEST_F(NpyWriterTest, OtherShapesAreAnErrorOfTheProgram) {
  constexpr std::size_t kHuge = std::size_t{1} << 40U;
  for (const Shape& shape : {Shape{}, Shape{1, 1, 1, 1}, Shape{kHuge, kHuge}}) {
    EXPECT_THROW(NpyWriter(folder_ / "a.npy", shape), std::invalid_argument);
  }
  EXPECT_EQ(listing(), Names{});
}

// A client may own no rows: its slice is still a file, though not one that will do as a whole.
TEST_F(NpyWriterTest, AnEmptySliceCanBeWrittenAndReadAsAPart) {
  write_npy(folder_ / "a.npy", {}, Shape{0, 3});
  EXPECT_EQ(fs::file_size(folder_ / "a.npy"), 128U);
  expect_file_refused(folder_ / "a.npy", "has no elements: its shape is (0, 3)");
  const NpyFile part = NpyFile::open(folder_ / "a.npy", NoRows::allowed);
  EXPECT_EQ(rows_of(part.matrix()), 0U);
  EXPECT_EQ(columns_of(part.matrix()), 3U);
  EXPECT_TRUE(part.to_vector().empty());

  write_npy(folder_ / "b.npy", {}, Shape{0});
  EXPECT_TRUE(NpyFile::open(folder_ / "b.npy", NoRows::allowed).to_vector().empty());
  write_npy(folder_ / "c.npy", {}, Shape{3, 0});
  EXPECT_NE(test::line_of<InputError>([&] {
              (void)NpyFile::open(folder_ / "c.npy", NoRows::allowed);
            }).find("has no elements: its shape is (3, 0)"),
            std::string::npos);
}

TEST_F(NpyWriterTest, AMissingFolderIsAnInputError) {
  const fs::path path = folder_ / "missing" / "a.npy";
  EXPECT_TRUE(test::line_of<InputError>([&] {
                NpyWriter(path, Shape{1});
              }).starts_with(path.string() + ": cannot be written: No such file or directory"));
}

}  // namespace
}  // namespace fedsinkhorn
