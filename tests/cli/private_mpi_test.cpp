// solve --policy private among processes: the releases of one process, and reasons that stay with their client.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/federated.hpp"
#include "cli/run_binary.hpp"
#include "cli/secure.hpp"

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;

class PrivateRanks : public SecureTest {
 protected:
  PrivateRanks() {
    write("C.npy", random_values(n * m, 1), {n, m});
    write("a.npy", random_masses(n, 2), {n});
  }
  [[nodiscard]] RunResult run_clients(const std::string& command, std::size_t servers = 0) const {
    return run_ranks({{kClients + servers, words_of(command)}}, {.folder = folder()});
  }
};

TEST_F(PrivateRanks, GiveTheBitsOfOneProcess) {
  const std::string flags = "--cost C-{client}.npy --policy private --budget 1,1e-6 --releases 4 --noise-seed 5 ";
  ASSERT_EQ(run(solve(flags + "--clients 4", "one")).status, 0);
  for (const std::size_t servers : {0U, 1U}) {
    SCOPED_TRACE(servers);
    fs::remove_all(folder() / "r");
    const RunResult result = run_clients(solve(flags + (servers > 0 ? "--server sums" : ""), "r"), servers);
    ASSERT_EQ(result.status, 0) << result;
    EXPECT_EQ(own_lines(result.err), std::vector<std::string>{}) << result;
    expect_same_potentials("r", "one");
    EXPECT_EQ(summary("r")["transport"], "mpi");
  }
}

// Every client says for itself what it has released.
TEST_F(PrivateRanks, EachSummaryStatesTheGuarantee) {
  for (const std::string flags :
       {"--cost C-{client}.npy --policy private --budget 1,1e-6 --releases 4",
        "--cost C.npy --a a.npy --policy private --mechanism scalings --clip 5 --budget 1,1e-6 --releases 4",
        "--cost C.npy --a a.npy --policy private --mechanism scalings --clip 5 --budget 1,1e-6 --releases 4 "
        "--topology star"}) {
    SCOPED_TRACE(flags);
    fs::remove_all(folder() / "r");
    const RunResult result = run_clients(solve(flags, "r"));
    ASSERT_EQ(result.status, 0) << result;
    for (std::size_t k = 0; k < kClients; ++k) {
      const Json json = read_json(folder() / "r" / ("summary-" + std::to_string(k) + ".json"));
      EXPECT_EQ(json["privacy"]["is_private"], true);
      EXPECT_LE(json["privacy"]["epsilon_exact"], 1);
      EXPECT_GT(json["privacy"]["epsilon_exact"], 0.999);
      EXPECT_TRUE(json["cost"]["linear"].is_null());
      EXPECT_EQ(json["clients"].size(), 1U);
    }
  }
}

// Which of its masses is too large is nobody else's business.
TEST_F(PrivateRanks, AReasonStaysWithItsClient) {
  Values a = random_masses(n, 2);
  a[kRows[2] + 4] = 0.2;
  write_parts(folder(), "large", a, {n}, kRows);
  const auto before = snapshot(folder());
  for (const std::size_t servers : {0U, 1U}) {
    const std::string flags =
        "--cost C-{client}.npy --a large-{client}.npy --record-mass 0.1 --policy private --budget 1,1e-6 ";
    const RunResult result = run_clients(solve(flags + (servers > 0 ? "--server sums" : ""), "new/results"), servers);
    SCOPED_TRACE(::testing::PrintToString(result));
    EXPECT_EQ(result.status, 2);
    std::vector<std::string> lines = own_lines(result.err);
    const std::string reason = "large-2.npy: entry 4 is 0.2, more than";
    std::ranges::sort(lines, {}, [&](const std::string& line) { return line.find(reason) == std::string::npos; });
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_NE(lines[0].find(reason), std::string::npos);
    EXPECT_EQ(lines[1],
              "fedsinkhorn: client 2 cannot go on; the reason is not shared: see the standard error of client 2");
    EXPECT_EQ(snapshot(folder()), before);
  }
}

}  // namespace
}  // namespace fedsinkhorn::test
