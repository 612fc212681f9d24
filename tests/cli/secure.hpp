// What the tests of policy sums share: a problem of which every client has its part, and what a run must leave.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cli/federated.hpp"

namespace fedsinkhorn::test {

class SecureTest : public FederatedTest {
 protected:
  static constexpr std::size_t n = 60;
  static constexpr std::size_t m = 83;
  static constexpr std::size_t kClients = 4;
  static constexpr std::array<std::size_t, kClients + 1> kRows = {0, 20, 21, 40, 60};
  static constexpr std::array<std::size_t, kClients + 1> kColumns = {0, 20, 41, 60, 83};
  static constexpr const char* kFiles = "--cost C-{client}.npy --a a-{client}.npy";
  static constexpr const char* kBadFiles = "--cost C-{client}.npy --a bad-{client}.npy";
  static constexpr const char* kOwnPoints = "--points X-{client}.npy Y-{client}.npy";

  SecureTest() {
    write_parts(folder(), "C", random_values(n * m, 1), {n, m}, kRows);
    Values a = random_masses(n, 2);
    write_parts(folder(), "a", a, {n}, kRows);
    a[kRows[2] + 4] = -0.25;
    write_parts(folder(), "bad", a, {n}, kRows);
    write_parts(folder(), "X", random_values(n * 3, 3), {n, 3}, kRows);
    write_parts(folder(), "Y", random_values(m * 3, 4), {m, 3}, kColumns);
  }

  static std::string solve(const std::string& flags, const std::string& output) {
    return "solve --epsilon 0.05 --threads 1 --quiet --timeout 30 --output " + output + " " + flags;
  }
  static std::string solve_sums(const std::string& flags, const std::string& output = "new/results") {
    return solve(kFiles + std::string(" --policy sums ") + flags, output);
  }

  static std::vector<std::string> files_of_all() {
    std::vector<std::string> names;
    for (const char* name : {"f-", "summary-"}) {
      for (std::size_t k = 0; k < kClients; ++k) {
        names.push_back(name + std::to_string(k) + (name[0] == 'f' ? ".npy" : ".json"));
      }
    }
    names.insert(names.begin() + kClients, "g.npy");
    names.insert(names.end(), {"summary.json", "trace.csv"});
    return names;
  }

  /// Files of all clients and nothing else: no f.npy. The potentials have the bits of another run's.
  void expect_same_potentials(const std::string& output, const std::string& expected) const {
    ASSERT_EQ(listing(folder() / output), files_of_all());
    for (const std::string& name : files_of_all()) {
      if (!name.ends_with(".npy")) continue;
      EXPECT_TRUE(bytes(output + "/" + name) == bytes(expected + "/" + name)) << output << "/" << name;
    }
  }

  /// Each client's summary: data left masked, if at all.
  void expect_only_masked_data(const std::string& output, bool has_server) const {
    for (std::size_t k = 0; k < kClients; ++k) {
      const Json json = read_json(folder() / output / ("summary-" + std::to_string(k) + ".json"));
      EXPECT_EQ(json["policy"], "sums");
      EXPECT_EQ(json["server"], has_server ? "sums" : "none");
      EXPECT_EQ(json["client_count"], kClients);
      const std::string privacy = json["privacy"]["sentence"];
      EXPECT_NE(privacy.find("clients have seen only sums over all clients"), std::string::npos) << privacy;
      EXPECT_EQ(privacy.find("server only masked numbers") != std::string::npos, has_server) << privacy;
      for (const Json& client : json["clients"]) expect_only_masked(client["left"], has_server);
    }
  }

  /// `privacy key` for each client: key-0, key-1, ... Returns the fingerprints, a line each.
  [[nodiscard]] std::vector<std::string> make_keys() const {
    std::vector<std::string> fingerprints;
    for (std::size_t k = 0; k < kClients; ++k) {
      fingerprints.push_back(run("privacy key --output key-" + std::to_string(k)).out);
    }
    return fingerprints;
  }
  void write_fingerprints(const std::string& name, const std::vector<std::string>& fingerprints) const {
    std::string text = "# of all clients\n\n";
    for (const std::string& line : fingerprints) text += line;
    write_bytes(folder() / name, text);
  }

 private:
  static void expect_only_masked(const Json& left, bool has_server) {
    std::vector<std::string> plain = {"control", "keys"};
    if (!has_server) plain.insert(plain.end(), {"options", "shape", "text"});
    std::size_t rounds = 0;
    for (const Json& message : left) {
      const bool may_be_plain = std::ranges::find(plain, message["kind"].get<std::string>()) != plain.end();
      EXPECT_TRUE(may_be_plain || message["form"] == "masked") << message;
      rounds += message["phase"] == "rounds" ? message["messages"].get<std::size_t>() : 0;
    }
    EXPECT_GT(rounds, 0U);
  }
};

}  // namespace fedsinkhorn::test
