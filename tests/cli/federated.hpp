// What the tests of several clients share: a folder, inputs, and the program on threads or under mpirun.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "cli/random_inputs.hpp"
#include "cli/run_binary.hpp"

namespace fedsinkhorn::test {

enum class Transport { threads, mpi };
std::ostream& operator<<(std::ostream& stream, Transport transport);
/// For instantiations: those this build has.
[[nodiscard]] std::vector<Transport> available_transports();

[[nodiscard]] Values transposed(const Values& matrix, std::size_t rows);

/// NAME-0.npy, NAME-1.npy, ...: part k has the rows from cuts[k] to cuts[k + 1]. shape: that of the whole.
void write_parts(const std::filesystem::path& folder, const std::string& name, const Values& whole, const Shape& shape,
                 std::span<const std::size_t> cuts);

/// -inf on both sides is no difference; NaN and another size are infinite ones.
[[nodiscard]] double largest_difference(const Values& x, const Values& y);

/// Everything below a folder with its content, hidden files too.
[[nodiscard]] std::vector<std::string> snapshot(const std::filesystem::path& folder);

/// Flags that must not be taken, and what the one line about them says.
struct RefusedFlags {
  std::string name;
  std::string flags;
  std::vector<std::string> mentions;
};

inline void PrintTo(const RefusedFlags& refused, std::ostream* stream) { *stream << refused.flags; }

/// That the entries of the clients add up: rows without gaps, as many bytes received as sent, and none where there is
/// nobody to talk to.
void expect_sound_clients(const Json& summary, std::size_t clients);

class FederatedTest : public ::testing::Test {
 protected:
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
  [[nodiscard]] RunResult run(const std::string& command) const;
  /// On that many clients. Each computes with one thread: cores are few.
  [[nodiscard]] RunResult run_on(Transport transport, std::size_t clients, const std::string& command) const;
  [[nodiscard]] std::string bytes(const std::string& name) const { return read_bytes(folder() / name); }
  [[nodiscard]] Array array(const std::string& name) const { return read_npy(folder() / name); }
  [[nodiscard]] Json summary(const std::string& output) const { return read_json(folder() / output / "summary.json"); }
  void write(const std::string& name, const Values& values, const Shape& shape) const;

  /// f.npy and g.npy in two output folders.
  void expect_same_bytes(const std::string& output, const std::string& expected) const;
  void expect_close(const std::string& output, const std::string& expected, double tolerance) const;
  /// Exit status 2, one line of the program that mentions all this, and no file that was not there before.
  void expect_refused(const RunResult& result, const std::vector<std::string>& mentions,
                      const std::vector<std::string>& before) const;

 private:
  TemporaryFolder folder_;
};

/// With a problem of 60 x 83, which no number of clients divides evenly.
class RectangularTest : public FederatedTest {
 protected:
  static constexpr std::size_t n = 60;
  static constexpr std::size_t m = 83;

  RectangularTest();
  static std::string solve(const std::string& output, const std::string& flags = "");
};

}  // namespace fedsinkhorn::test
