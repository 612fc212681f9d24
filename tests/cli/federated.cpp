#include "cli/federated.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

#include "fedsinkhorn/npy.hpp"

namespace fedsinkhorn::test {

namespace fs = std::filesystem;

std::ostream& operator<<(std::ostream& stream, Transport transport) {
  return stream << (transport == Transport::mpi ? "mpi" : "threads");
}

std::vector<Transport> available_transports() {
  std::vector<Transport> transports = {Transport::threads};
  if (has_mpirun()) transports.push_back(Transport::mpi);
  return transports;
}

Values transposed(const Values& matrix, std::size_t rows) {
  const std::size_t columns = matrix.size() / rows;
  Values result(matrix.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) result[j * rows + i] = matrix[i * columns + j];
  }
  return result;
}

void write_parts(const fs::path& folder, const std::string& name, const Values& whole, const Shape& shape,
                 std::span<const std::size_t> cuts) {
  const std::size_t width = whole.size() / shape.front();
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    Shape part_shape = shape;
    part_shape.front() = cuts[k + 1] - cuts[k];
    const std::span part = std::span(whole).subspan(cuts[k] * width, part_shape.front() * width);
    write_npy(folder / (name + "-" + std::to_string(k) + ".npy"), part, part_shape);
  }
}

double largest_difference(const Values& x, const Values& y) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (x.size() != y.size()) return infinity;
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i]) continue;
    const double difference = std::abs(x[i] - y[i]);
    largest = std::max(largest, std::isnan(difference) ? infinity : difference);
  }
  return largest;
}

std::vector<std::string> snapshot(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const bool is_file = fs::is_regular_file(entry.symlink_status());
    const std::size_t content = is_file ? std::hash<std::string>()(read_bytes(entry.path())) : 0;
    files.push_back(fs::relative(entry.path(), folder).string() + " " + std::to_string(content));
  }
  std::sort(files.begin(), files.end());
  return files;
}

void expect_sound_clients(const Json& summary, std::size_t clients) {
  ASSERT_EQ(summary["clients"].size(), clients);
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  double compute_seconds = 0;
  std::size_t next_row = 0;
  for (std::size_t k = 0; k < clients; ++k) {
    SCOPED_TRACE("client " + std::to_string(k));
    const Json& client = summary["clients"][k];
    EXPECT_EQ(client["client"], k);
    EXPECT_EQ(client["rows"][0], next_row);
    next_row = client["rows"][1];
    sent += client["bytes_sent"].get<std::uint64_t>();
    received += client["bytes_received"].get<std::uint64_t>();
    compute_seconds += client["compute_seconds"].get<double>();
    if (clients > 1) {
      EXPECT_GT(client["communication_seconds"], 0);
      EXPECT_GT(client["bytes_sent"], 0);
      EXPECT_GT(client["bytes_received"], 0);
    }
    for (const auto& [total, phases] : {std::pair("bytes_sent", "sent"), std::pair("bytes_received", "received")}) {
      std::uint64_t sum = 0;
      for (const Json& bytes : client[phases]) sum += bytes.get<std::uint64_t>();
      EXPECT_EQ(client[total], sum);
    }
  }
  EXPECT_EQ(summary["rows"], next_row);
  EXPECT_EQ(sent, received);
  EXPECT_GT(compute_seconds, 0);  // of the server alone, in a simulated star
  if (clients == 1) {
    EXPECT_EQ(sent, 0U);
    EXPECT_EQ(summary["exchanges"], 0);
  } else {
    EXPECT_GT(summary["exchanges"], 0);
  }
}

RunResult FederatedTest::run(const std::string& command) const {
  return run_binary(words_of(command), {.folder = folder()});
}

RunResult FederatedTest::run_on(Transport transport, std::size_t clients, const std::string& command) const {
  const Arguments arguments = words_of(command + " --threads 1");
  if (transport == Transport::mpi) return run_ranks({{clients, arguments}}, {.folder = folder()});
  return run(command + " --threads 1 --clients " + std::to_string(clients));
}

void FederatedTest::write(const std::string& name, const Values& values, const Shape& shape) const {
  write_npy(folder() / name, values, shape);
}

void FederatedTest::expect_same_bytes(const std::string& output, const std::string& expected) const {
  for (const std::string name : {"/f.npy", "/g.npy"}) {
    // Not EXPECT_EQ: nobody wants to see the bytes.
    EXPECT_TRUE(bytes(output + name) == bytes(expected + name))
        << name << " differs by " << largest_difference(array(output + name).values, array(expected + name).values);
  }
}

void FederatedTest::expect_close(const std::string& output, const std::string& expected, double tolerance) const {
  for (const std::string name : {"/f.npy", "/g.npy"}) {
    EXPECT_EQ(array(output + name).shape, array(expected + name).shape) << name;
    EXPECT_LE(largest_difference(array(output + name).values, array(expected + name).values), tolerance) << name;
  }
}

void FederatedTest::expect_refused(const RunResult& result, const std::vector<std::string>& mentions,
                                   const std::vector<std::string>& before) const {
  SCOPED_TRACE(::testing::PrintToString(result));
  EXPECT_EQ(result.status, 2);
  const std::vector<std::string> lines = own_lines(result.err);
  EXPECT_EQ(lines.size(), 1U);
  for (const std::string& text : mentions) {
    EXPECT_TRUE(!lines.empty() && lines[0].find(text) != std::string::npos) << "does not mention " << text;
  }
  EXPECT_EQ(snapshot(folder()), before);
}

RectangularTest::RectangularTest() {
  write("C.npy", random_values(n * m, 1), {n, m});
  write("a.npy", random_masses(n, 2), {n});
  write("b.npy", random_masses(m, 3), {m});
}

std::string RectangularTest::solve(const std::string& output, const std::string& flags) {
  return "solve --cost C.npy --a a.npy --b b.npy --epsilon 0.05 --quiet --output " + output + " " + flags;
}

}  // namespace fedsinkhorn::test
