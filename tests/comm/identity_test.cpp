#include "comm/identity.hpp"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "comm/secure_sums.hpp"
#include "comm/transports.hpp"
#include "fedsinkhorn/error.hpp"
#include "support/line_of.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;
using test::line_of;

class InAFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("identity-" + fingerprint_of(new_identity().public_key));
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    fs::permissions(folder_ / name, fs::perms::owner_read | fs::perms::owner_write);
    return folder_ / name;
  }

  fs::path folder_;
};

using IdentityFile = InAFolder;
using Fingerprints = InAFolder;

TEST_F(IdentityFile, GivesBackWhatWasWritten) {
  const Identity identity = new_identity();
  const fs::path path = folder_ / "client.key";
  write_identity(path, identity);
  EXPECT_EQ(read_identity(path).public_key, identity.public_key);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_NE(fingerprint_of(identity.public_key), fingerprint_of(new_identity().public_key));
}

TEST_F(IdentityFile, IsNotReplaced) {
  const fs::path path = write("client.key", "precious");
  EXPECT_NE(line_of<InputError>([&] { write_identity(path, new_identity()); }).find("does not exist yet"),
            std::string::npos);
  std::string left;
  std::getline(std::ifstream(path), left);
  EXPECT_EQ(left, "precious");
}

TEST_F(IdentityFile, OfAnotherKindIsRefused) {
  EXPECT_NE(line_of<InputError>([&] { (void)read_identity(folder_ / "missing"); }).find("cannot be read"),
            std::string::npos);
  const std::string key(64, 'a');
  for (const std::string& text :
       {std::string("\n"), key, "fedsinkhorn-key-1 " + key.substr(1), "fedsinkhorn-key-2 " + key,
        "fedsinkhorn-key-1 " + key + "aa", "fedsinkhorn-key-1 " + std::string(64, 'x')}) {
    const fs::path path = write("client.key", text);
    EXPECT_NE(line_of<InputError>([&] { (void)read_identity(path); }).find("is no key"), std::string::npos) << text;
  }
}

TEST_F(IdentityFile, IsNotForOthersToRead) {
  const fs::path path = folder_ / "client.key";
  write_identity(path, new_identity());
  fs::permissions(path, fs::perms::group_read, fs::perm_options::add);
  EXPECT_NE(line_of<InputError>([&] { (void)read_identity(path); }).find("chmod 600"), std::string::npos);
}

// A list that was cut off must not turn recognition off.
TEST_F(Fingerprints, AreNeeded) {
  for (const char* text : {"", "\n", "# nobody\n"}) {
    const fs::path path = write("all", text);
    EXPECT_NE(line_of<InputError>([&] { (void)read_fingerprints(path); }).find("has no fingerprints"),
              std::string::npos);
  }
}

TEST_F(Fingerprints, AreReadLineByLine) {
  const std::string one(32, '1');
  const std::string two(32, 'f');
  EXPECT_EQ(read_fingerprints(write("all", "# banks\n" + one + " bank A\r\n\n" + two + "\n")),
            (std::vector<std::string>{one, two}));
  for (const std::string& wrong : {one + "1", one.substr(1), std::string(32, 'F'), std::string("bank A")}) {
    const fs::path path = write("all", one + "\n" + wrong + "\n");
    EXPECT_NE(line_of<InputError>([&] { (void)read_fingerprints(path); }).find("line 2 is no fingerprint"),
              std::string::npos);
  }
}

/// What clients complain about; empty if nothing.
std::string complaint(const std::array<Trust, 2>& trust) {
  std::string line;
  try {
    run_on_threads(2, Seconds(20), [&](Communicator& communicator) {
      SecureSums sums(make_peer_summing(communicator), trust[communicator.rank()]);
      std::vector<double> numbers = {1.5};
      sums.add_up(Payload::sum, kStatistic, numbers);
      EXPECT_EQ(numbers[0], 3);
    });
  } catch (const std::runtime_error& error) {
    line = error.what();
  }
  return line;
}

std::array<Trust, 2> each_other() {
  std::array<Trust, 2> trust;
  std::vector<std::string> fingerprints;
  for (Trust& of_client : trust) {
    of_client.own = new_identity();
    fingerprints.push_back(fingerprint_of(of_client.own->public_key));
  }
  for (Trust& of_client : trust) of_client.fingerprints = fingerprints;
  return trust;
}

TEST(Recognition, OfTheRightClients) {
  EXPECT_EQ(complaint(each_other()), "");
  EXPECT_EQ(complaint({}), "");
}

TEST(Recognition, FailsWithAnotherKey) {
  std::array<Trust, 2> trust = each_other();
  trust[1].own = new_identity();
  trust[1].fingerprints.clear();  // it does not notice by itself
  EXPECT_NE(complaint(trust).find("client 1 sent a key that has not the fingerprint given for it"), std::string::npos);
  trust[1].own.reset();
  EXPECT_NE(complaint(trust).find("client 1 sent a key that has not the fingerprint given for it"), std::string::npos);
}

TEST(Recognition, FailsForAKeyOfOnesOwnThatOthersDoNotExpect) {
  std::array<Trust, 2> trust = each_other();
  trust[1].own = new_identity();
  trust[0].fingerprints.clear();
  const std::string line = complaint(trust);
  EXPECT_NE(line.find("key: has the fingerprint " + fingerprint_of(trust[1].own->public_key)), std::string::npos)
      << line;
  trust = each_other();
  trust[1].fingerprints.pop_back();
  EXPECT_NE(complaint(trust).find("fingerprints: has 1 of them; there are 2 clients"), std::string::npos);
}

// Public keys and fingerprints are known to everybody in the middle: the masks must depend on the secret ones.
TEST(Recognition, TakesMoreThanThePublicKey) {
  std::array<Trust, 2> trust = each_other();
  const PublicKey expected = trust[1].own->public_key;
  trust[1].own = new_identity();
  trust[1].own->public_key = expected;
  EXPECT_NE(complaint(trust).find("does not add up"), std::string::npos);
}

}  // namespace
}  // namespace fedsinkhorn
