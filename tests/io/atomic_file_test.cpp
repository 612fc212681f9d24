#include "io/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include "fedsinkhorn/error.hpp"
#include "support/in_a_folder.hpp"
#include "support/line_of.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public testing::InAFolder {};

using testing::content;
using testing::Names;

TEST_F(AtomicFileTest, TheFileAppearsInCommit) {
  const fs::path path = folder_ / "result.json";
  AtomicFile file(path);
  file.write("{\"a\": ");
  file.write("1}\n");
  EXPECT_FALSE(fs::exists(path));
  file.commit();
  EXPECT_EQ(content(path), "{\"a\": 1}\n");
  EXPECT_EQ(listing(), Names{"result.json"});
}

TEST_F(AtomicFileTest, TheTemporaryFileIsHiddenBesideTheFinalOne) {
  AtomicFile file(folder_ / "result.json");
  ASSERT_EQ(listing().size(), 1U);
  EXPECT_TRUE(listing()[0].starts_with(".result.json."));
  EXPECT_EQ(listing()[0].size(), std::string(".result.json.XXXXXX").size());
}

TEST_F(AtomicFileTest, NothingIsLeftWithoutCommit) {
  {
    AtomicFile file(folder_ / "result.json");
    file.write(std::string(1U << 20U, 'x'));
  }
  EXPECT_EQ(listing(), Names{});
}

TEST_F(AtomicFileTest, AnExistingFileIsIntactUntilCommit) {
  const fs::path path = folder_ / "result.json";
  write_file_atomically(path, "old");
  {
    AtomicFile file(path);
    file.write("half of the ne");
    EXPECT_EQ(content(path), "old");
  }
  EXPECT_EQ(content(path), "old");
  write_file_atomically(path, "new");
  EXPECT_EQ(content(path), "new");
  EXPECT_EQ(listing(), Names{"result.json"});
}

TEST_F(AtomicFileTest, PiecesOfAllSizesArriveInOrder) {
  const fs::path path = folder_ / "pieces";
  std::string expected;
  AtomicFile file(path);
  for (const std::size_t size : {0U, 1U, 65535U, 1U, 65536U, 65537U, 3U, 200000U, 0U, 7U}) {
    std::string piece(size, 'a');
    for (std::size_t k = 0; k < size; ++k) piece[k] = static_cast<char>('a' + (expected.size() + k) % 26);
    file.write(piece);
    expected += piece;
  }
  file.commit();
  EXPECT_TRUE(content(path) == expected);
}

TEST_F(AtomicFileTest, AnEmptyFileCanBeWritten) {
  write_file_atomically(folder_ / "empty", "");
  EXPECT_EQ(fs::file_size(folder_ / "empty"), 0U);
}

TEST_F(AtomicFileTest, TheModeIsThatOfAnOrdinaryFile) {
  for (const mode_t mask : {mode_t{022}, mode_t{027}, mode_t{0}}) {
    const fs::path path = folder_ / "mode";
    const mode_t before = ::umask(mask);
    write_file_atomically(path, "x");
    ::umask(before);
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0666U & ~mask);
  }
}

TEST_F(AtomicFileTest, AMissingFolderIsAnInputError) {
  const fs::path path = folder_ / "missing" / "result.json";
  const std::string message = test::line_of<InputError>([&] { AtomicFile file(path); });
  EXPECT_EQ(message, path.string() + ": cannot be written: No such file or directory; create its folder first");
}

TEST_F(AtomicFileTest, AFileInThePlaceOfTheFolderIsAnInputError) {
  write_file_atomically(folder_ / "file", "x");
  const fs::path path = folder_ / "file" / "result.json";
  EXPECT_EQ(test::line_of<InputError>([&] { AtomicFile file(path); }),
            path.string() + ": cannot be written: Not a directory");
}

TEST_F(AtomicFileTest, AFolderInThePlaceOfTheFileIsAnInputError) {
  EXPECT_TRUE(test::line_of<InputError>([&] {
                AtomicFile file(folder_);
              }).starts_with(folder_.string() + ": cannot be written: it is a folder"));
  EXPECT_TRUE(test::line_of<InputError>([&] { AtomicFile file(folder_ / ""); }).find("it names no file") !=
              std::string::npos);
  EXPECT_TRUE(
      test::line_of<InputError>([] { AtomicFile file(""); }).starts_with("'': cannot be written: it names no file"));
}

// Renaming over /dev/null as root would break the machine.
TEST_F(AtomicFileTest, OnlyRegularFilesAreReplaced) {
  const fs::path fifo = folder_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const fs::path& path : {fifo, fs::path("/dev/null")}) {
    EXPECT_TRUE(test::line_of<InputError>([&] {
                  write_file_atomically(path, "x");
                }).starts_with(path.string() + ": cannot be written: it is not a regular file"));
  }
  EXPECT_EQ(listing(), Names{"fifo"});
}

TEST_F(AtomicFileTest, ALinkStaysAndItsTargetIsReplaced) {
  fs::create_directory(folder_ / "elsewhere");
  write_file_atomically(folder_ / "elsewhere" / "target", "old");
  fs::create_symlink("elsewhere/target", folder_ / "link");
  write_file_atomically(folder_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(content(folder_ / "elsewhere" / "target"), "new");
}

TEST_F(AtomicFileTest, AFolderMadeInThePlaceMeanwhileIsAnInputError) {
  const fs::path path = folder_ / "result";
  AtomicFile file(path);
  file.write("x");
  fs::create_directory(path);
  EXPECT_TRUE(test::line_of<InputError>([&] { file.commit(); }).starts_with(path.string() + ": cannot be written: "));
  EXPECT_EQ(listing(), Names{"result"});
}

TEST_F(AtomicFileTest, RelativePathsOutliveAChangeOfFolder) {
  const fs::path before = fs::current_path();
  fs::create_directory(folder_ / "other");
  fs::current_path(folder_);
  AtomicFile file("relative");
  file.write("x");
  fs::current_path(folder_ / "other");
  file.commit();
  fs::current_path(before);
  EXPECT_EQ(listing(), (Names{"other", "relative"}));
}

TEST_F(AtomicFileTest, TheLongestFileNameWorks) {
  const std::string name(255, 'n');
  write_file_atomically(folder_ / name, "x");
  EXPECT_EQ(listing(), Names{name});
}

/// Lets files grow to `bytes` while it lives: a full disk without needing one.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limited{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limited);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_F(AtomicFileTest, AFailedWriteIsAnInputErrorAndLeavesTheOldFile) {
  const fs::path path = folder_ / "result";
  write_file_atomically(path, "old");
  AtomicFile file(path);
  std::string message;
  {
    const FileSizeLimit limit(100000);
    message = test::line_of<InputError>([&] {
      for (int k = 0; k < 100; ++k) file.write(std::string(5000, 'x'));
    });
  }
  EXPECT_EQ(message, path.string() + ": cannot be written: File too large");
  // A part is missing now: nobody may give the rest the final name.
  EXPECT_THROW(file.write("y"), std::logic_error);
  EXPECT_THROW(file.commit(), std::logic_error);
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(listing(), Names{"result"});
}

TEST_F(AtomicFileTest, AFailureInTheLastFlushIsAnInputError) {
  const fs::path path = folder_ / "result";
  AtomicFile file(path);
  file.write(std::string(5000, 'x'));
  std::string message;
  {
    const FileSizeLimit limit(1000);
    message = test::line_of<InputError>([&] { file.commit(); });
  }
  EXPECT_EQ(message, path.string() + ": cannot be written: File too large");
  EXPECT_EQ(listing(), Names{});
}

TEST_F(AtomicFileTest, UseAfterCommitIsAnErrorOfTheProgram) {
  AtomicFile file(folder_ / "result");
  file.commit();
  EXPECT_THROW(file.write("x"), std::logic_error);
  EXPECT_THROW(file.commit(), std::logic_error);
  EXPECT_EQ(content(folder_ / "result"), "");
}

TEST(DisplayName, KeepsMessagesOnOneLine) {
  EXPECT_EQ(display_name("a/b\n\x1b[0m.npy"), R"(a/b\n\x1b[0m.npy)");
  EXPECT_EQ(display_name("\xc3\xa9t\xc3\xa9.npy"), "\xc3\xa9t\xc3\xa9.npy");
  EXPECT_EQ(display_name(""), "''");
}

}  // namespace
}  // namespace fedsinkhorn
