// Bytes and messages counted are those a topology states (Exchanges::sent_each_round), and those documented
// (docs/clients.md, "Bytes per round" and below).
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/range.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/problems.hpp"
#include "support/stated.hpp"
#include "topology/topologies.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::uint64_t kNumber = 8;
constexpr std::uint64_t kNote = 40;  // a target

/// One client's sizes, and those of all.
struct Sizes {
  std::uint64_t c = 1;        // clients
  std::uint64_t k = 0;        // this one
  std::uint64_t rows = 0;     // its rows
  std::uint64_t columns = 0;  // its columns
  std::uint64_t n = 0;        // all rows
  std::uint64_t m = 0;        // all columns
  std::uint64_t targets = 1;  // N
  std::uint64_t server_rows = 0;
  std::uint64_t server_columns = 0;
  GridShape grid{};
  std::uint64_t grid_rows = 0;     // rows of its grid row
  std::uint64_t grid_columns = 0;  // columns of its grid column
};

/// What a client sends: in a round, before the first, and to measure the marginals once.
struct Documented {
  std::uint64_t round = 0;
  std::uint64_t messages = 0;  // in a round
  std::uint64_t start = 0;
  std::uint64_t measurement = 0;
  std::uint64_t exchanges = 2;  // a round
};

/// x numbers from everybody to everybody.
std::uint64_t small(const Sizes& s, std::uint64_t x) { return (s.c - 1) * kNumber * x; }

Documented all_to_all(const Sizes& s) {
  const std::uint64_t others = s.c - 1;
  const std::uint64_t u = others * kNumber * s.rows;     // for one target
  const std::uint64_t v = others * kNumber * s.columns;  // for one target
  const std::uint64_t share = s.targets * (v + others * kNote);
  Documented bytes;
  bytes.round = s.targets * u + share;
  bytes.messages = 2 * others;
  bytes.start = (v + 2 * u) + small(s, 4) + (v + u) + share;
  bytes.measurement = s.targets * (u + v) + small(s, 4 * s.targets);
  return bytes;
}

Documented row_reduce(const Sizes& s) {
  const std::uint64_t others = s.c - 1;
  const std::uint64_t r = kNumber * (s.m - s.columns);  // summands for the others
  const std::uint64_t v = others * kNumber * s.columns;
  const std::uint64_t share = s.targets * (v + others * kNote);
  Documented bytes;
  bytes.round = s.targets * r + share;
  bytes.messages = 2 * others;
  // The grid of the potentials; psi; x and notes; the round, whose notes have a sum more; the errors it met.
  bytes.start = small(s, 1) + v + share + s.targets * r + small(s, 3) + share + s.targets * small(s, 2);
  bytes.measurement = s.targets * (v + r) + small(s, 4 * s.targets);
  bytes.exchanges = 1;
  return bytes;
}

Documented grid(const Sizes& s) {
  const std::uint64_t across = s.grid.columns - 1;  // others in the grid row
  const std::uint64_t down = s.grid.rows - 1;       // others in the grid column
  const std::uint64_t q = kNumber * (s.grid_rows - s.rows);
  const std::uint64_t u = across * kNumber * s.rows;
  const std::uint64_t r = kNumber * (s.grid_columns - s.columns);
  const std::uint64_t v = down * kNumber * s.columns;
  const std::uint64_t share = s.targets * (v + (down + across) * kNote);
  Documented bytes;
  bytes.round = s.targets * (q + u + r) + share;
  bytes.messages = 3 * across + 2 * down;
  // In a single column it is row-reduce.
  bytes.start = across == 0 ? row_reduce(s).start : (v + q) + (2 * u + r) + small(s, 4) + (u + v) + share;
  bytes.measurement = s.targets * (v + q + u + r) + small(s, 4 * s.targets);
  bytes.exchanges = (across > 0 ? 1U : 0U) + (down > 0 ? 1U : 0U);
  return bytes;
}

Documented star(const Sizes& s) {
  Documented bytes;
  if (s.k > 0) {
    const std::uint64_t u = kNumber * s.rows;
    const std::uint64_t v = kNumber * s.columns;
    bytes.round = s.targets * (u + v + kNote);
    bytes.messages = 2;
    bytes.start = (v + 2 * u) + 4 * kNumber + (u + v) + s.targets * (v + kNote);
    bytes.measurement = s.targets * (u + v) + 4 * kNumber * s.targets;
    return bytes;
  }
  const std::uint64_t others = s.c - 1;
  const std::uint64_t q = kNumber * (s.n - s.server_rows);
  const std::uint64_t r = kNumber * (s.m - s.server_columns);
  bytes.round = s.targets * (q + r + others * kNote);
  bytes.messages = 3 * others;
  bytes.start = (q + r) + others * s.c * 4 * kNumber + s.targets * others * kNote;
  bytes.measurement = s.targets * (q + r) + others * s.c * 4 * kNumber * s.targets;
  return bytes;
}

Sizes sizes_at(const Result& result, std::size_t k, GridShape shape) {
  const auto rows = [&](std::size_t client) {
    return result.clients[client].last_row - result.clients[client].first_row;
  };
  const auto columns = [&](std::size_t client) {
    return result.clients[client].last_column - result.clients[client].first_column;
  };
  Sizes s;
  s.c = result.clients.size();
  s.k = k;
  s.rows = rows(k);
  s.columns = columns(k);
  s.n = result.rows;
  s.m = result.columns;
  s.targets = result.targets;
  s.server_rows = rows(0);
  s.server_columns = columns(0);
  s.grid = shape;
  for (std::size_t client = 0; client < s.c; ++client) {
    if (client / shape.columns == k / shape.columns) s.grid_rows += rows(client);
    if (client % shape.columns == k % shape.columns) s.grid_columns += columns(client);
  }
  return s;
}

/// The tables of docs/clients.md, which know nothing of the topologies' own statements.
const std::map<std::string, Documented (*)(const Sizes&)> kTables = {
    {"all-to-all", all_to_all}, {"star", star}, {"grid", grid}, {"row-reduce", row_reduce}};

Options plain(const std::string& topology, std::size_t clients) {
  Options options;
  options.method = "sinkhorn";
  options.topology = topology;
  options.clients = clients;
  options.threads = 1;
  options.tolerance = 0;
  options.max_iterations = 12;
  return options;
}

class Bytes : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Topologies, Bytes, ::testing::ValuesIn(testing::topologies_in_step()),
                         [](const auto& info) { return testing::without_dashes(info.param); });

TEST_P(Bytes, CountedAreBytesDocumented) {
  for (const std::size_t targets : {1, 16}) {
    const testing::OwnedProblem owned = testing::random_problem(53, 40, 0.2, 21, targets);
    for (std::size_t clients = 2; clients <= 8; ++clients) {
      SCOPED_TRACE(std::to_string(clients) + " clients, " + std::to_string(targets) + " targets");
      const Options options = plain(GetParam(), clients);
      const std::vector<testing::StatedRound> stated = testing::stated_rounds(owned.view(), options);
      const Result result = solve(owned.view(), options);
      ASSERT_EQ(result.absorptions, 0);
      std::uint64_t sent = 0;
      std::uint64_t received = 0;
      for (std::size_t k = 0; k < clients; ++k) {
        SCOPED_TRACE("client " + std::to_string(k));
        EXPECT_EQ(result.clients[k].sent.rounds, 11 * stated[k].sent.bytes);  // the first iteration is the start
        EXPECT_EQ(result.clients[k].exchanges, 11 * stated[k].exchanges);
        if (const auto table = kTables.find(GetParam()); table != kTables.end()) {
          const Documented bytes = table->second(sizes_at(result, k, grid_shape(clients, {})));
          EXPECT_EQ(result.clients[k].sent.rounds, 11 * bytes.round);
          EXPECT_EQ(result.clients[k].sent.rebuilds, bytes.start + bytes.measurement);
          EXPECT_EQ(result.clients[k].exchanges, 11 * bytes.exchanges);
          EXPECT_EQ(stated[k].sent.messages, bytes.messages);
        }
        sent += result.clients[k].sent.total();
        received += result.clients[k].received.total();
      }
      EXPECT_EQ(sent, received);
    }
  }
}

// Some clients have no rows, some no columns: what is empty is not sent, except by a star's server and to it.
TEST_P(Bytes, AndMessagesOfARoundAreThoseStated) {
  using Shape = std::pair<std::size_t, std::size_t>;
  for (const auto& [rows, columns] : {Shape{53, 40}, Shape{3, 5}, Shape{9, 2}}) {
    for (const std::size_t targets : {1, 3}) {
      const testing::OwnedProblem owned = testing::random_problem(rows, columns, 0.2, 24, targets);
      for (const std::size_t clients : {1, 2, 4, 7}) {
        for (const Passes passes : {Passes::two, Passes::fused}) {
          SCOPED_TRACE(std::to_string(clients) + " clients, " + std::to_string(rows) + " rows");
          Options options = plain(GetParam(), clients);
          options.passes = passes;
          testing::expect_rounds_as_stated(owned.view(), options);
        }
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Policy sums

/// What client k of c sends to add up so many words of 16 bytes and one to check them: its words to those who add up,
/// and the sums of its part to the others. Client 0 adds up if there are no more than 64 per client.
Sent sent_for(std::uint64_t words, std::uint64_t c, std::uint64_t k) {
  const std::uint64_t all = words + 1;
  if (all <= 64 * c) return k == 0 ? Sent{16 * (c - 1) * all, c - 1} : Sent{16 * all, 1};
  const std::uint64_t own = all * (k + 1) / c - all * k / c;
  return {16 * (all - own + (c - 1) * own), 2 * (c - 1)};
}

/// Per target, a note has four flags, one for numbers that do not fit, and two errors of six words.
constexpr std::uint64_t kWordsOfNote = 5 + 2 * 6;

TEST(Bytes, OfSecureSumsAreThoseStatedAndDocumented) {
  for (const std::size_t targets : {1U, 3U, 16U}) {
    testing::OwnedProblem owned = testing::random_problem(53, 41, 0.2, 25, targets);
    for (std::size_t clients = 2; clients <= 8; ++clients) {
      // Shares are of the mass, so its unit changes nothing.
      for (double& a : owned.a) a *= 10;
      for (double& b : owned.b) b *= 10;
      SCOPED_TRACE(std::to_string(clients) + " clients, " + std::to_string(targets) + " targets");
      Options options = plain("row-reduce", clients);
      options.policy = "sums";
      testing::expect_rounds_as_stated(owned.view(), options);
      const std::vector<testing::StatedRound> stated = testing::stated_rounds(owned.view(), options);
      const Result result = solve(owned.view(), options);
      ASSERT_EQ(result.absorptions, 0);
      for (std::size_t k = 0; k < clients; ++k) {
        SCOPED_TRACE("client " + std::to_string(k));
        const Sent r = sent_for(targets * 41 + 1, clients, k);  // and a flag
        const Sent v = sent_for((targets * 41 + 1) / 2 + targets * kWordsOfNote, clients, k);
        EXPECT_EQ(stated[k].sent.bytes, r.bytes + v.bytes);
        EXPECT_EQ(stated[k].sent.messages, r.messages + v.messages);
        EXPECT_EQ(result.clients[k].sent.rounds, 11 * stated[k].sent.bytes);
        EXPECT_EQ(result.clients[k].exchanges, 11 * stated[k].exchanges);
      }
    }
  }
}

// By a server: a request of 32 bytes and the words, twice a round.
TEST(Bytes, ToAServerAreTheWordsAndARequest) {
  const testing::OwnedProblem owned = testing::random_problem(53, 41, 0.2, 26, 3);
  Options options = plain("row-reduce", 4);
  options.policy = "sums";
  options.server = Server::sums;
  const Result result = solve(owned.view(), options);
  ASSERT_EQ(result.absorptions, 0);
  const std::uint64_t words = (3 * 41 + 1 + 1) + ((3 * 41 + 1) / 2 + 3 * kWordsOfNote + 1);
  for (const ClientReport& client : result.clients) {
    EXPECT_EQ(client.sent.rounds, 11 * (16 * words + 2 * 32));
    EXPECT_EQ(client.received.rounds, 11 * 16 * words);
  }
}

// As plain, but for what notes say beside: sums of two numbers and maxima of one, more of them as the history grows.
TEST(Bytes, AccelerationAddsNumbersToNotesAndNoMessages) {
  const testing::OwnedProblem owned = testing::random_problem(53, 40, 0.2, 21);
  constexpr std::size_t clients = 4;
  constexpr int rounds = 11;  // after the first iteration
  Options options;
  options.topology = "all-to-all";
  options.clients = clients;
  options.threads = 1;
  options.tolerance = 0;
  options.max_iterations = rounds + 1;
  options.method = "sinkhorn";
  const Result plain = solve(owned.view(), options);
  options.method = "anderson";
  const Result accelerated = solve(owned.view(), options);
  ASSERT_EQ(accelerated.absorptions, 0);
  ASSERT_EQ(accelerated.rejected, 0);
  // 5 sums and 2 maxima; from the second round on 3 sums more, and 2 for every earlier difference.
  std::uint64_t numbers = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t differences = round < 2 ? 0 : round - 1;
    numbers += 2 * (5 + (round > 0 ? 3 : 0) + 2 * differences) + 2;
  }
  for (std::size_t k = 0; k < clients; ++k) {
    EXPECT_EQ(accelerated.clients[k].exchanges, plain.clients[k].exchanges);
    EXPECT_EQ(accelerated.clients[k].sent.rounds - plain.clients[k].sent.rounds,
              (clients - 1) * numbers * sizeof(double));
  }
}

// A level opens like the first iteration; its errors are six numbers more, and the constant of f and g is two at the
// end.
TEST(Bytes, LevelsOpenLikeTheFirstIteration) {
  const testing::OwnedProblem owned = testing::point_problem(53, 40, 1e-4, 23);
  constexpr std::size_t clients = 4;
  Options options;
  options.topology = "all-to-all";
  options.clients = clients;
  options.threads = 1;
  options.method = "auto";
  const Result result = solve(owned.view(), options);
  ASSERT_EQ(result.status, Status::converged);
  ASSERT_EQ(result.absorptions, 0);
  ASSERT_GT(result.levels, 1);
  for (std::size_t k = 0; k < clients; ++k) {
    const Documented bytes = all_to_all(sizes_at(result, k, grid_shape(clients, {})));
    const auto levels = static_cast<std::uint64_t>(result.levels);
    const std::uint64_t others = clients - 1;
    EXPECT_EQ(result.clients[k].sent.rebuilds,
              bytes.start + levels * (bytes.start + others * 6 * kNumber) + bytes.measurement + others * 3 * kNumber);
  }
}

TEST(Bytes, OneClientSendsNothing) {
  const testing::OwnedProblem owned = testing::random_problem(20, 20, 0.2, 22);
  for (const TopologyEntry& topology : topologies()) {
    if (topology.is_asynchronous) continue;
    Options options;
    options.topology = topology.name;
    const Result result = solve(owned.view(), options);
    EXPECT_EQ(result.clients.at(0).sent.total(), 0U) << topology.name;
    EXPECT_EQ(result.exchanges, 0U) << topology.name;
  }
}

}  // namespace
}  // namespace fedsinkhorn
