// What messages must not depend on. Private runs on data sets that differ in one record send the same ones, but for the
// contents of releases. Under policy sums nobody can tell from set-up whether a pair is forbidden.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/names.hpp"
#include "core/range.hpp"
#include "support/problems.hpp"
#include "support/repeatable_random.hpp"
#include "support/transcript.hpp"

namespace fedsinkhorn {
namespace {

using testing::Message;
using testing::Transcript;

/// What clients are given.
enum class Given { whole, rows_apart, points_apart, whole_with_public_masses };
constexpr std::array<std::string_view, 4> kGiven = {"Whole", "RowsApart", "PointsApart", "PublicMasses"};

struct Neighbourhood {
  std::string mechanism;
  std::string topology;
  std::size_t clients;
  Server server = Server::none;
  Given given = Given::whole;
};

std::vector<Neighbourhood> neighbourhoods() {
  std::vector<Neighbourhood> all;
  for (const std::size_t clients : {1U, 2U, 3U, 7U}) {
    for (const Server server : {Server::none, Server::sums}) {
      for (const Given given :
           {Given::whole, Given::rows_apart, Given::points_apart, Given::whole_with_public_masses}) {
        all.push_back({"marginal", "row-reduce", clients, server, given});
      }
    }
    for (const char* topology : {"all-to-all", "star"}) all.push_back({"scalings", topology, clients});
  }
  return all;
}

constexpr std::size_t kRecords = 9;
constexpr std::size_t kRecordColumns = 5;
constexpr double kRecordMass = 0.3;

/// Points of rows and columns in the plane, costs, and masses.
struct Records {
  testing::OwnedProblem costs = testing::random_problem(kRecords, kRecordColumns, 0.2, 61);
  std::vector<double> x = testing::random_problem(kRecords, 2, 1, 62).cost;
  std::vector<double> y = testing::random_problem(kRecordColumns, 2, 1, 63).cost;

  [[nodiscard]] std::span<double> costs_of(std::size_t row) {
    return std::span(costs.cost).subspan(row * kRecordColumns, kRecordColumns);
  }
  [[nodiscard]] std::vector<Problem> dealt(std::size_t clients, Given given) const {
    std::vector<Problem> problems(clients, costs.view());
    if (given == Given::whole || given == Given::whole_with_public_masses) return problems;
    for (std::size_t k = 0; k < clients; ++k) {
      const Range own{kRecords * k / clients, kRecords * (k + 1) / clients};
      problems[k].parts = {.rows = true, .a = true};
      problems[k].a = std::span(costs.a).subspan(own.first, own.size());
      if (given == Given::rows_apart) {
        problems[k].cost =
            CostMatrix{MatrixView<double>{costs.cost.data() + own.first * kRecordColumns, own.size(), kRecordColumns}};
      } else {
        problems[k].cost = PointClouds{MatrixView<double>{x.data() + 2 * own.first, own.size(), 2},
                                       MatrixView<double>{y.data(), kRecordColumns, 2}};
      }
    }
    return problems;
  }
};

/// Replaces one record: a row, and with mechanism scalings, where costs are public, a mass of a row or column.
void replace_one(const Neighbourhood& in, std::size_t step, Random& random, Records& records) {
  const std::size_t row = random.below(kRecords);
  const double mass = step % 3 == 2 ? 0 : random.uniform(0, kRecordMass);
  if (in.mechanism == "scalings") {
    if (step % 2 == 0) {
      records.costs.a[row] = mass;
    } else {
      records.costs.b[random.below(kRecordColumns)] = mass;
    }
    return;
  }
  for (double& cost : records.costs_of(row)) cost = random.uniform();
  for (double& coordinate : std::span(records.x).subspan(2 * row, 2)) coordinate = random.uniform(-5, 5);
  const std::size_t forbidden = std::array{0U, 1U, 3U, 5U}[step % 4];
  for (double& cost : records.costs_of(row).first(forbidden)) cost = testing::kInfinity;
  if (in.given != Given::whole_with_public_masses) records.costs.a[row] = mass;
}

Transcript sent(const Neighbourhood& in, const Records& records) {
  Options options;
  options.topology = in.topology;
  options.policy = "private";
  options.mechanism = in.mechanism;
  options.server = in.server;
  options.threads = 1;
  options.backend = "cpu";
  options.tolerance = 0;
  options.releases = in.given == Given::rows_apart ? 0 : 3;  // 0: as many as are best
  if (in.mechanism == "scalings") {
    options.noise = 0.1;
    options.clip = 6;
  } else {
    options.budget = {2, 1e-6};
    options.cost_bound = 1;
    if (in.given != Given::whole_with_public_masses) options.record_mass = kRecordMass;
  }
  return testing::record_solve(records.dealt(in.clients, in.given), options).messages;
}

/// All that may be seen of a message: of a release and of masked words not their contents.
std::string visible(const Message& message) {
  std::string line = fmt::format("message {} of client {} to {}: {} {} with tag {} and {} bytes", message.order,
                                 message.from, message.to, name_of(message.form), name_of(message.kind),
                                 static_cast<int>(message.tag), message.bytes.size());
  if (message.form == Form::masked || message.kind == Payload::release) return line;
  for (const std::byte byte : message.bytes) line += fmt::format(" {:02x}", byte);
  return line;
}

std::vector<std::string> visible(const Transcript& messages) {
  std::vector<std::string> lines;
  for (const Message& message : messages) lines.push_back(visible(message));
  return lines;
}

std::vector<std::vector<std::byte>> contents_of_releases(const Transcript& messages) {
  std::vector<std::vector<std::byte>> contents;
  for (const Message& message : messages) {
    if (message.kind == Payload::release) contents.push_back(message.bytes);
  }
  return contents;
}

class Neighbours : public ::testing::TestWithParam<Neighbourhood> {};
INSTANTIATE_TEST_SUITE_P(Neighbourhoods, Neighbours, ::testing::ValuesIn(neighbourhoods()), [](const auto& info) {
  const Neighbourhood& in = info.param;
  return fmt::format("{}Of{}{}{}{}", in.mechanism, in.clients, in.server == Server::sums ? "AndAServer" : "",
                     in.topology == "row-reduce" ? kGiven[static_cast<std::size_t>(in.given)] : "",
                     in.topology == "star" ? "Star" : "");
});

// 8 pairs in each of 40 neighbourhoods: every data set differs from the one before in one record.
TEST_P(Neighbours, SendTheSame) {
  const testing::RepeatableRandom repeatable;
  Random random(64);
  Records records;
  const Transcript first = sent(GetParam(), records);
  EXPECT_EQ(first.empty(), GetParam().clients == 1 && GetParam().server == Server::none);
  bool do_releases_differ = false;
  for (std::size_t pair = 0; pair < 8; ++pair) {
    replace_one(GetParam(), pair, random, records);
    const Transcript other = sent(GetParam(), records);
    ASSERT_EQ(visible(other), visible(first)) << "pair " << pair;
    do_releases_differ |= contents_of_releases(other) != contents_of_releases(first);
  }
  EXPECT_EQ(do_releases_differ, GetParam().clients > 1);  // the data do count
}

// ---------------------------------------------------------------------------------------------------------------------

/// How many messages each client sends during set-up, of which kind, form and length in all.
std::vector<std::string> sent_in_setup(const Records& records, const Options& options) {
  std::vector<std::string> lines;
  constexpr std::size_t kClients = 3;
  const std::vector<Result> results = testing::record_solve(records.dealt(kClients, Given::whole), options).results;
  for (std::size_t k = 0; k < kClients; ++k) {
    for (const ClientReport& report : results[k].clients) {
      if (report.client != k) continue;
      for (const SentMessages& sent : report.left) {
        if (sent.phase != "setup") continue;
        lines.push_back(fmt::format("client {}: {} {} messages of kind {} with {} bytes", k, sent.messages,
                                    sent.is_masked ? "masked" : "plain", sent.kind, sent.bytes));
      }
    }
  }
  return lines;
}

using PolicyAndServer = std::tuple<std::string, Server>;
class SetUp : public ::testing::TestWithParam<PolicyAndServer> {};
INSTANTIATE_TEST_SUITE_P(Policies, SetUp,
                         ::testing::Combine(::testing::Values("sums", "private"),
                                            ::testing::Values(Server::none, Server::sums)));

TEST_P(SetUp, DoesNotTellWhetherAPairIsForbidden) {
  Options options;
  std::tie(options.policy, options.server) = GetParam();
  options.topology = "row-reduce";
  options.threads = 1;
  options.backend = "cpu";
  if (options.policy == "private") {
    options.mechanism = "marginal";
    options.releases = 1;
    options.noise = 0.1;
    options.record_mass = kRecordMass;
  }
  Records records;
  const std::vector<std::string> expected = sent_in_setup(records, options);
  EXPECT_GT(expected.size(), 9U);
  for (const std::size_t row : {0U, 4U, 8U}) {
    records.costs_of(row)[row / 2] = testing::kInfinity;
    EXPECT_EQ(sent_in_setup(records, options), expected) << "with row " << row;
  }
}

}  // namespace
}  // namespace fedsinkhorn
