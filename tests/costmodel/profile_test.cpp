// Profiles as files: what is written is read again, and what is wrong with one is named.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "costmodel/calibrate.hpp"
#include "costmodel/parse_profile.hpp"
#include "fedsinkhorn/cost_model.hpp"
#include "fedsinkhorn/error.hpp"
#include "support/in_a_folder.hpp"

namespace fedsinkhorn {
namespace {

using nlohmann::json;

/// A bit of everything.
Profile full_profile() {
  Profile profile;
  profile.name = "full";
  profile.description = "with \"everything\"";
  profile.transport = "mpi";
  profile.machine = {"A processor", "avx2", 12, 64'000'000'000, 30'000'000};
  profile.clients_per_machine = 3;
  PassTime pass;
  pass.kernel = "online";
  pass.precision = Precision::mixed;
  pass.verb = "apply-transposed";
  pass.dimension = 64;
  pass.targets = 16;
  pass.clients = 4;
  pass.computing = 2;
  pass.threads = 3;
  pass.rows = 370;
  pass.columns = 1480;
  pass.seconds = 1.0 / 3;
  pass.spread = 0.07;
  profile.passes = {pass};
  profile.rates = {{"dense", Precision::float32, 1.0 / 7e9, 1e-12}};
  ExchangeTime time;
  time.exchange = "secure-sum";
  time.clients = 5;
  time.alpha = 1.23456789012345678e-5;
  time.beta = 1.0 / 3e9;
  time.r_squared = 0.987;
  time.alpha_error = 1e-7;
  time.beta_error = 1e-12;
  time.samples = 99;
  time.largest_bytes = 1 << 20;
  profile.exchanges = {time};
  profile.links = LinkModel{1e-6, 1.1e10, 2e-7, true, "ring"};
  profile.seconds_per_row = 3e-9;
  profile.seconds_per_column = 4e-9;
  profile.process_bytes = 123456789;
  return profile;
}

class ProfileFile : public testing::InAFolder {};

TEST_F(ProfileFile, HasTheSameNumbersWhenReadAgain) {
  const Profile written = full_profile();
  write_profile(written, folder_ / "full.json");
  const Profile read = read_profile(folder_ / "full.json");
  EXPECT_EQ(profile_text(read), profile_text(written));
  EXPECT_EQ(read.machine, written.machine);
  EXPECT_EQ(read.clients_per_machine, 3U);
  ASSERT_EQ(read.exchanges.size(), 1U);
  EXPECT_EQ(read.exchanges[0].alpha, written.exchanges[0].alpha);
  EXPECT_EQ(read.exchanges[0].beta, written.exchanges[0].beta);
  EXPECT_EQ(read.exchanges[0].samples, 99U);
  ASSERT_EQ(read.passes.size(), 1U);
  EXPECT_EQ(read.passes[0].seconds, 1.0 / 3);
  EXPECT_EQ(read.passes[0].precision, Precision::mixed);
  EXPECT_EQ(read.passes[0].threads, 3);
  ASSERT_EQ(read.rates.size(), 1U);
  EXPECT_EQ(read.rates[0].seconds_per_entry, 1.0 / 7e9);
  ASSERT_TRUE(read.links.has_value());
  EXPECT_TRUE(read.links->shares_ports);
  EXPECT_EQ(read.links->algorithm, "ring");
  EXPECT_EQ(read.links->overhead, 2e-7);
  EXPECT_EQ(read.seconds_per_row, 3e-9);
  EXPECT_EQ(read.seconds_per_column, 4e-9);
  EXPECT_EQ(read.process_bytes, 123456789);
}

TEST_F(ProfileFile, ThatIsNotThereIsNamed) {
  const std::string path = folder_ / "nowhere.json";
  try {
    (void)read_profile(path);
    FAIL() << "it was read";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
  }
}

TEST(ShippedProfiles, AreReadByTheirNames) {
  EXPECT_EQ(shipped_profiles(), (std::vector<std::string>{"paper", "cluster", "office", "wan"}));
  for (const std::string& name : shipped_profiles()) {
    const Profile profile = read_profile(name);
    EXPECT_EQ(profile.name, name);
    EXPECT_EQ(profile.source, name == "paper" ? "paper" : "example");
    EXPECT_TRUE(profile.links.has_value()) << name;
    EXPECT_FALSE(profile.rates.empty()) << name;
    EXPECT_FALSE(doubts_about(profile).empty()) << name;
  }
}

// The table of the paper's appendix, in seconds.
TEST(ShippedProfiles, ThePapersHasItsNumbers) {
  const Profile paper = read_profile("paper");
  ASSERT_EQ(paper.exchanges.size(), 9U);
  EXPECT_EQ(paper.exchanges[0].exchange, "gather");
  EXPECT_DOUBLE_EQ(paper.exchanges[0].alpha, 481.45e-6);
  EXPECT_DOUBLE_EQ(paper.exchanges[0].beta, 1.0047e-9);
}

// ---------------------------------------------------------------------------------------------------------------------
// Bad ones

/// What reading the full profile says after this change; empty: nothing.
std::string complaint(const std::function<void(json&)>& change) {
  json profile = json::parse(profile_text(full_profile()));
  change(profile);
  try {
    (void)parse_profile(profile.dump(), "p.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

void expect_named(const std::string& complaint, const std::string& part) {
  EXPECT_EQ(complaint.find("p.json"), 0U) << complaint;
  EXPECT_NE(complaint.find(part), std::string::npos) << complaint << "\ndoes not name " << part;
  EXPECT_EQ(complaint.find('\n'), std::string::npos) << complaint;
}

TEST(BadProfile, IsNotRefusedWithoutAReason) {
  EXPECT_EQ(complaint([](json&) {}), "");
}

TEST(BadProfile, LacksAKey) {
  for (const char* key : {"format", "version", "units", "name", "machine", "clients_per_machine"}) {
    expect_named(complaint([&](json& p) { p.erase(key); }), key);
  }
  expect_named(complaint([](json& p) { p["machine"].erase("cores"); }), "machine.cores");
  for (const char* key : {"exchange", "clients", "alpha_seconds", "beta_seconds_per_byte"}) {
    expect_named(complaint([&](json& p) { p["exchanges"][0].erase(key); }), std::string("exchanges[0].") + key);
  }
  for (const char* key : {"kernel", "precision", "verb", "dimension", "targets", "clients", "computing", "threads",
                          "rows", "columns", "seconds"}) {
    expect_named(complaint([&](json& p) { p["passes"][0].erase(key); }), std::string("passes[0].") + key);
  }
  expect_named(complaint([](json& p) { p["links"].erase("latency_seconds"); }), "links.latency_seconds");
  expect_named(complaint([](json& p) { p["rates"][0].erase("seconds_per_entry"); }), "rates[0].seconds_per_entry");
}

TEST(BadProfile, HasNeitherPassesNorRates) {
  expect_named(complaint([](json& p) {
                 p.erase("passes");
                 p.erase("rates");
               }),
               "passes");
}

TEST(BadProfile, HasANumberThatCannotBe) {
  expect_named(complaint([](json& p) { p["exchanges"][0]["alpha_seconds"] = -1e-6; }), "exchanges[0].alpha_seconds");
  expect_named(complaint([](json& p) { p["exchanges"][0]["beta_seconds_per_byte"] = -1e-9; }),
               "exchanges[0].beta_seconds_per_byte");
  expect_named(complaint([](json& p) { p["exchanges"][0]["clients"] = 1; }), "exchanges[0].clients");
  expect_named(complaint([](json& p) { p["exchanges"][0]["r_squared"] = 2; }), "exchanges[0].r_squared");
  expect_named(complaint([](json& p) { p["passes"][0]["seconds"] = -1; }), "passes[0].seconds");
  expect_named(complaint([](json& p) { p["passes"][0]["rows"] = 0; }), "passes[0].rows");
  expect_named(complaint([](json& p) { p["links"]["bandwidth_bytes_per_second"] = 0; }),
               "links.bandwidth_bytes_per_second");
  expect_named(complaint([](json& p) { p["machine"]["cores"] = 0; }), "machine.cores");
  expect_named(complaint([](json& p) { p["machine"]["cores"] = 1.5; }), "machine.cores");
  expect_named(complaint([](json& p) { p["passes"][0]["seconds"] = "0.1"; }), "passes[0].seconds");
}

// The paper prints microseconds and nanoseconds per byte.
TEST(BadProfile, IsInOtherUnits) {
  expect_named(complaint([](json& p) { p["exchanges"][0]["alpha_seconds"] = 481.45; }), "in seconds");
  expect_named(complaint([](json& p) { p["exchanges"][0]["beta_seconds_per_byte"] = 1.0047; }), "in seconds per byte");
  expect_named(complaint([](json& p) { p["units"]["time"] = "microseconds"; }), "units.time");
  expect_named(complaint([](json& p) { p["units"]["data"] = "bits"; }), "units.data");
}

TEST(BadProfile, IsSomethingElse) {
  expect_named(complaint([](json& p) { p["format"] = "summary"; }), "format");
  expect_named(complaint([](json& p) { p["version"] = 2; }), "version is 2");
  expect_named(complaint([](json& p) { p["aplha"] = 1; }), "aplha");
  expect_named(complaint([](json& p) { p["exchanges"][0]["alpha_us"] = 1; }), "exchanges[0].\"alpha_us\"");
  expect_named(complaint([](json& p) { p["exchanges"][0]["exchange"] = "gossip"; }), "exchanges[0].exchange");
  expect_named(complaint([](json& p) { p["links"]["algorithm"] = "bush"; }), "links.algorithm");
  expect_named(complaint([](json& p) { p["passes"][0]["precision"] = "float16"; }), "passes[0].precision");
  for (const char* text : {"", "{", "[]", "not JSON", "\"x\"", "null"}) {
    EXPECT_THROW((void)parse_profile(text, "p.json"), InputError) << text;
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Of another machine

TEST(Doubts, NameWhatIsDifferentHere) {
  Profile profile = full_profile();
  profile.machine = this_machine_now();
  EXPECT_TRUE(doubts_about(profile).empty());
  profile.machine.processor = "Another processor";
  ASSERT_EQ(doubts_about(profile).size(), 1U);
  EXPECT_NE(doubts_about(profile)[0].find("machine.processor"), std::string::npos);
  EXPECT_NE(doubts_about(profile)[0].find("Another processor"), std::string::npos);
  profile.machine.cores += 1;
  EXPECT_EQ(doubts_about(profile).size(), 2U);
}

}  // namespace
}  // namespace fedsinkhorn
